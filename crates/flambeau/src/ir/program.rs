//! Programs: a shader with its buffers, numbers and size, as a backend dispatches it.

use super::UNIFORM_ALIGNMENT;
use super::access::DataOffset;
use crate::dtype::Lane;
use crate::error::Error;
use std::sync::Arc;

/// A number in a kernel's uniform block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Param {
    /// Always the same for these sizes: a size, a stride.
    Fixed(u32),
    /// Always the same, and never written into a shader: WGSL has no infinities.
    Opaque(u32),
    /// The graph node that a fault is told of.
    Node(u32),
    /// data\[index\] in the form a lane type has it.
    Data(u32, Lane),
    /// An offset or a start that depends on data.
    Offset(DataOffset),
    /// The run's number, for fault reports.
    Run,
    /// A word of what the run's kernels are told about faults: its slot, then runs that it is made from.
    Status(u8),
}

impl Param {
    /// Its word, if no run changes it and a shader may have it in its text.
    pub fn constant(&self) -> Option<u32> {
        match self {
            Param::Fixed(word) => Some(*word),
            Param::Offset(offset) if offset.terms.is_empty() => Some(offset.constant as u32),
            _ => None,
        }
    }
}

/// Which buffer a shader's binding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The call's input, read.
    Input(usize),
    /// The call's output, written (and read).
    Output(usize),
    /// A scratch buffer of the call, by number; see [`Program::scratch`].
    Scratch(usize),
    /// The same, only read.
    ScratchRead(usize),
    /// The device's status words.
    Status,
}

/// Which of its texts a kernel is written as.
///
/// The general one holds for all sizes of the same class: sizes are numbers of the uniform block. Every kernel has it, and it
/// is there first. Where a kernel is faster when its compiler knows the sizes ([`Program::specialise`]), the specialised one,
/// with these numbers written into it, is compiled beside once a plan has proved hot. Both do the same arithmetic in the same
/// order. The second reads what changes from run to run from the first one's uniform block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Tier {
    #[default]
    General,
    /// General, and as short as can be: where compiling is what a first step waits for.
    Compact,
    Specialised,
}

impl Tier {
    /// What the tiers differ in: general texts are short and quickly compiled, specialised ones fast.
    pub fn either<T>(self, general: T, specialised: T) -> T {
        match self {
            Tier::General | Tier::Compact => general,
            Tier::Specialised => specialised,
        }
    }

    pub fn is_specialised(self) -> bool {
        self == Tier::Specialised
    }
}

/// One shader of a kernel, with its buffers and size.
///
/// Bindings are numbered in the order of `bindings`; inputs are declared `var<storage, read>`, the others
/// `read_write`. The uniform block, if `params` is not empty, comes last as
/// `var<uniform> params: array<vec4<u32>, N>` with N = ceil(params / 4).
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub label: &'static str,
    /// WGSL.
    pub source: Arc<str>,
    pub entry: String,
    pub bindings: Vec<Bound>,
    pub params: Vec<Param>,
    pub groups: [u32; 3],
    /// Bytes of the scratch buffers this and the other programs of the call name; equal in all of them.
    pub scratch: Vec<u64>,
    /// Does the call share its scratch buffers with others of a plan, in turn? For large ones that nobody needs after the call.
    pub in_turn: bool,
    /// Whether the driver has to check its indexes.
    pub trust: Trust,
    /// What it checks, if it reports faults.
    pub checks: Option<Checked>,
    /// Is it worth a specialised text?
    pub specialise: bool,
    /// Does it only make something of what the program before it has left in a scratch buffer, which the specialised text of
    /// that one does itself?
    pub completes: bool,
    /// Does it find its numbers in the block of another, instead of having one in the order of `params`?
    pub finds_numbers: bool,
}

impl Program {
    /// Can it run instead of another with that one's buffers and numbers?
    pub fn takes_the_place_of(&self, other: &Program) -> bool {
        let has_numbers = match self.finds_numbers {
            true => self.finds(&other.params),
            false => self.params == other.params,
        };
        has_numbers && (&self.bindings, &self.scratch) == (&other.bindings, &other.scratch)
    }

    /// Can it run instead of two, of which the second completes what the first begins? Their numbers are `block`.
    pub fn takes_the_place_of_both(&self, first: &Program, block: &[Param]) -> bool {
        let has_memory = self.scratch.is_empty() || self.scratch == first.scratch;
        self.finds_numbers && self.finds(block) && has_memory
    }

    /// Are all of its numbers that may change in a block?
    fn finds(&self, block: &[Param]) -> bool {
        self.params.iter().all(|param| param.constant().is_some() || block.contains(param))
    }

    /// The numbers of this program and of the one after it as they lie in memory, where each begins at a place that a uniform
    /// binding may begin at.
    pub fn numbers_with(&self, next: &Program) -> Arc<[Param]> {
        let room = self.params.len().next_multiple_of(UNIFORM_ALIGNMENT / 4);
        let gap = std::iter::repeat_n(Param::Fixed(0), room - self.params.len());
        self.params.iter().cloned().chain(gap).chain(next.params.iter().cloned()).collect()
    }
}

/// What a fault that a kernel reports means. The kernel tells a value with it.
#[derive(Debug, Clone)]
pub(crate) enum Checked {
    /// An index outside a dimension of this size; the value is the index.
    Index { op: &'static str, size: usize },
    /// A matrix that cannot be decomposed; the value is its number in the batch.
    Matrix { op: &'static str, what: &'static str },
    /// A number that is not finite; the value is its place.
    Finite(FiniteCheck),
    /// A NaN in a result, found in debug mode.
    Nan,
}

impl Checked {
    /// The error for a reported value; `location` is the line that created the node.
    pub fn error(&self, value: u32, location: String) -> Error {
        match self {
            &Checked::Index { op, size } => {
                Error::IndexOutOfRange { op, index: i64::from(value as i32), size, location }
            }
            &Checked::Matrix { op, what } => Error::Matrix { op, batch: value as usize, what, location },
            Checked::Finite(check) => check.error(value as usize),
            Checked::Nan => Error::NotANumber { op: "debug check", location },
        }
    }
}

/// Whether a kernel is compiled without bounds checks, loop bounding, division checks and zeroed workgroup memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Trust {
    unchecked: bool,
}

impl Trust {
    /// The driver checks: for kernels that users write.
    pub const CHECKED: Trust = Trust { unchecked: false };

    /// For kernels that the library generates.
    // SAFETY: they find elements by the accesses of a plan, which `plan::verify` holds to the bounds of their buffers in
    // every test, indexes read from memory are compared with the size first, and the op suite runs each of them.
    pub const OURS: Trust = unsafe { Trust::unchecked() };

    /// No checks.
    ///
    /// # Safety
    /// The kernel keeps its indexes in range, ends its loops, never divides an integer by zero, and writes workgroup memory
    /// before reading it.
    pub const unsafe fn unchecked() -> Trust {
        Trust { unchecked: true }
    }

    /// Are the driver's checks left out?
    pub fn is_unchecked(self) -> bool {
        self.unchecked
    }
}

/// A part of a flat tensor that one parameter has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Window {
    /// Its first element: a multiple of 64.
    pub start: usize,
    pub len: usize,
    /// The parameter's number in its optimizer.
    pub parameter: usize,
}

/// True if every element of the windows is finite; else false, and a fault if it is asked to be one. What lies between the
/// windows may be anything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FiniteCheck {
    /// Who asks.
    pub asker: &'static str,
    /// What the numbers are: gradients, or parameters after the step.
    pub what: &'static str,
    /// In order.
    pub windows: Arc<[Window]>,
    /// Is a number that is not finite a fault?
    pub faults: bool,
}

impl FiniteCheck {
    /// The error for a number that is not finite, by its place in the flat tensor.
    pub fn error(&self, place: usize) -> Error {
        let after = self.windows.partition_point(|window| window.start <= place);
        let (parameter, element) = match self.windows.get(after.wrapping_sub(1)) {
            Some(window) => (window.parameter, place - window.start),
            None => (0, place),
        };
        Error::NotFinite { op: self.asker, what: self.what, parameter, element }
    }
}
