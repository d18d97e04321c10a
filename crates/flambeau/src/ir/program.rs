//! Programs: a shader with its buffers, numbers and size, as a backend dispatches it.

use super::access::DataOffset;
use crate::dtype::Lane;
use crate::error::Error;
use std::sync::Arc;

/// A number in a kernel's uniform block.
#[derive(Debug, Clone, PartialEq)]
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

/// Which buffer a shader's binding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The call's input, read.
    Input(usize),
    /// The call's output, written (and read).
    Output(usize),
    /// A scratch buffer of the call, by number; see [`Program::scratch`].
    Scratch(usize),
    /// The device's status words.
    Status,
}

/// One shader of a kernel, with its buffers and size.
///
/// Its text holds for all sizes of the same class: sizes are numbers of the uniform block, and every pipeline is made for that
/// text first (*general*). Where a kernel is faster when its compiler knows the sizes, `specialise` says so, and the same text with
/// the numbers written into it is compiled beside once a plan has proved hot (*specialised*). Both do the same
/// arithmetic in the same order.
///
/// Bindings are numbered in the order of `bindings`; inputs are declared `var<storage, read>`, the others
/// `read_write`. The uniform block, if `params` is not empty, comes last as
/// `var<uniform> params: array<vec4<u32>, N>` with N = ceil(params / 4).
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub label: &'static str,
    /// WGSL, with [`either`] where the two texts differ in more than numbers.
    pub source: Arc<str>,
    pub entry: String,
    pub bindings: Vec<Bound>,
    pub params: Vec<Param>,
    pub groups: [u32; 3],
    /// Bytes of the scratch buffers this and the other programs of the call name; equal in all of them.
    pub scratch: Vec<u64>,
    /// Whether the driver has to check its indexes.
    pub trust: Trust,
    /// What it checks, if it reports faults.
    pub checks: Option<Checked>,
    /// Is it worth a pipeline of its own for its sizes?
    pub specialise: bool,
}

/// Around and between the two forms of [`either`]; no WGSL has them.
const FORMS: [char; 3] = ['\u{1}', '\u{2}', '\u{3}'];

/// Text that differs between a general shader and a specialised one: the former is short and quickly compiled, the latter fast.
pub(crate) fn either(general: &str, specialised: &str) -> String {
    let [open, middle, close] = FORMS;
    format!("{open}{general}{middle}{specialised}{close}")
}

impl Program {
    /// The text that holds for all sizes.
    pub fn general(&self) -> Arc<str> {
        match self.source.contains(FORMS[0]) {
            true => self.chosen(0).into(),
            false => self.source.clone(),
        }
    }

    /// The text with its sizes in it. The uniform block and what is bound are those of the general one.
    pub fn specialised(&self) -> String {
        let text = self.chosen(1);
        let mut written = String::with_capacity(text.len());
        let mut pieces = text.split("params[");
        written.extend(pieces.next());
        for piece in pieces {
            let (number, rest) = self.constant(piece);
            match number {
                Some(number) => written += &format!("{number}u"),
                None => written += "params[",
            }
            written += rest;
        }
        written
    }

    /// What a text that starts behind `params[` names, if it is a number that never changes, and the text after its name.
    fn constant<'t>(&self, text: &'t str) -> (Option<u32>, &'t str) {
        let found = || {
            let (vector, rest) = text.split_once("].")?;
            let component = "xyzw".find(rest.chars().next()?)?;
            let number = match self.params.get(vector.parse::<usize>().ok()? * 4 + component)? {
                Param::Fixed(word) => *word,
                Param::Offset(offset) if offset.terms.is_empty() => offset.constant as u32,
                _ => return None,
            };
            Some((number, &rest[1..]))
        };
        found().map_or((None, text), |(number, rest)| (Some(number), rest))
    }

    /// The text with one of the forms of each [`either`].
    fn chosen(&self, form: usize) -> String {
        let [open, middle, close] = FORMS;
        let mut text = String::with_capacity(self.source.len());
        let mut pieces = self.source.split(open);
        text.extend(pieces.next());
        for piece in pieces {
            let (forms, rest) = piece.split_once(close).unwrap_or((piece, ""));
            text.extend(forms.split(middle).nth(form));
            text += rest;
        }
        text
    }
}

/// What a fault that a kernel reports means. The kernel tells a value with it.
#[derive(Debug, Clone)]
pub(crate) enum Checked {
    /// An index outside a dimension of this size; the value is the index.
    Index { op: &'static str, size: usize },
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

/// True if every element of the windows is finite; else a fault. What lies between the windows may be anything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FiniteCheck {
    /// Who asks.
    pub asker: &'static str,
    /// What the numbers are: gradients, or parameters after the step.
    pub what: &'static str,
    /// In order.
    pub windows: Arc<[Window]>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::access::DataOffset;

    fn program(source: String, params: Vec<Param>) -> Program {
        Program {
            label: "test",
            source: source.into(),
            entry: "main".into(),
            bindings: Vec::new(),
            params,
            groups: [1; 3],
            scratch: Vec::new(),
            trust: Trust::OURS,
            checks: None,
            specialise: true,
        }
    }

    #[test]
    fn the_specialised_text_has_the_numbers_that_never_change() {
        let run = DataOffset { constant: 7, ..DataOffset::default() };
        let params =
            vec![Param::Fixed(3), Param::Run, Param::Opaque(5), Param::Offset(run), Param::Fixed(11)];
        let text = "params: array<vec4<u32>, 2>; params[0].x + params[0].y + params[0].z + params[0].w * params[1].x";
        let program = program(text.into(), params);
        assert_eq!(&*program.general(), text);
        assert_eq!(
            program.specialised(),
            "params: array<vec4<u32>, 2>; 3u + params[0].y + params[0].z + 7u * 11u"
        );
    }

    #[test]
    fn either_has_one_form_in_each_text() {
        let text = format!("a {} b {} c", either("loop", "unrolled params[0].x"), either("", "{"));
        let program = program(text, vec![Param::Fixed(4)]);
        assert_eq!(&*program.general(), "a loop b  c");
        assert_eq!(program.specialised(), "a unrolled 4u b { c");
    }
}
