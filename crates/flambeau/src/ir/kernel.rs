//! What a plan is made of: kernels, and the places their operands lie in.
//!
//! A fused kernel is a short straight-line program run once per element of its iteration space. With a reduction it
//! has two stages: the inner one runs over kept × reduced coordinates and feeds the reduction, the outer one runs
//! over the kept coordinates and uses the result. With several reductions over the same coordinates, or with results
//! per element of what is reduced, it has phases.

use super::access::Access;
use super::call::StructuredCall;
use super::{Map, Reduce};
use crate::dtype::DType;
use crate::shape::product;

/// Where an operand lies: a value given to the plan, or a buffer of the plan's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    Input(u32),
    Buffer(u32),
}

/// One instruction of a fused kernel; its result is named by its position.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Inst {
    pub kind: InstKind,
    pub dtype: DType,
    /// Runs for every reduced coordinate too.
    pub inner: bool,
    /// The graph node it stands for.
    pub node: u32,
}

impl Inst {
    /// The instructions whose results it reads.
    pub fn args(&self) -> &[usize] {
        match &self.kind {
            InstKind::Map { args, .. } => args,
            InstKind::Cast { arg } | InstKind::Mask { arg, .. } | InstKind::Reduce { arg, .. } => {
                std::slice::from_ref(arg)
            }
            InstKind::Gather { index, .. } => std::slice::from_ref(index),
            InstKind::Load { .. }
            | InstKind::Constant { .. }
            | InstKind::Index { .. }
            | InstKind::Bits { .. }
            | InstKind::Healthy => &[],
        }
    }
}

/// Positions of other instructions are `usize`; `operand` is a position in the kernel's inputs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum InstKind {
    /// An element of an input; zero where the access has none.
    Load { operand: usize, access: Access },
    /// data\[data_start\]; zero where the access has none.
    Constant { data_start: u32, access: Access },
    /// The access's offset itself, as I32.
    Index { access: Access },
    /// Random bits for element `offset` of a draw with key and counter data\[data_start..data_start + 4\].
    Bits { data_start: u32, access: Access },
    /// Has the device been free of faults?
    Healthy,
    /// An elementwise primitive.
    Map { op: &'static Map, args: Vec<usize> },
    /// A change of dtype.
    Cast { arg: usize },
    /// The value where the access has an element, else zero.
    Mask { arg: usize, access: Access },
    /// An element of an input at access + index · stride; an index outside 0..size is a fault.
    Gather { operand: usize, access: Access, index: usize, stride: i64, size: usize },
    /// The reduction of an inner value over all reduced coordinates.
    Reduce { arg: usize, reduce: Reduce },
}

impl InstKind {
    pub fn access(&self) -> Option<&Access> {
        match self {
            InstKind::Load { access, .. }
            | InstKind::Constant { access, .. }
            | InstKind::Index { access }
            | InstKind::Bits { access, .. }
            | InstKind::Mask { access, .. }
            | InstKind::Gather { access, .. } => Some(access),
            InstKind::Healthy | InstKind::Map { .. } | InstKind::Cast { .. } | InstKind::Reduce { .. } => {
                None
            }
        }
    }

    pub fn access_mut(&mut self) -> Option<&mut Access> {
        match self {
            InstKind::Load { access, .. }
            | InstKind::Constant { access, .. }
            | InstKind::Index { access }
            | InstKind::Bits { access, .. }
            | InstKind::Mask { access, .. }
            | InstKind::Gather { access, .. } => Some(access),
            InstKind::Healthy | InstKind::Map { .. } | InstKind::Cast { .. } | InstKind::Reduce { .. } => {
                None
            }
        }
    }
}

/// A result of a fused kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Output {
    /// The instruction whose results are stored.
    pub inst: usize,
    pub place: Place,
    pub dtype: DType,
    /// Where they go.
    pub access: Access,
    /// In a kernel of phases: is it stored for every element of a row, not once per row?
    pub per_element: bool,
}

/// One way over the rows of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Phase {
    /// Instructions that run once per row, before it.
    pub before: Vec<usize>,
    /// Instructions that run for every element, to compute what the phase is for from memory.
    pub insts: Vec<usize>,
    /// Reductions it feeds.
    pub reductions: Vec<usize>,
    /// Outputs per element that it stores.
    pub outputs: Vec<usize>,
}

/// Elementwise work, its views, and reductions over the same coordinates, in one kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Fused {
    /// Sizes of the kept coordinates, then of the reduced ones.
    pub space: Vec<usize>,
    /// How many of them are kept.
    pub kept: usize,
    pub insts: Vec<Inst>,
    pub inputs: Vec<(Place, DType)>,
    pub outputs: Vec<Output>,
    /// The ways over each row, where two stages are not enough.
    pub phases: Vec<Phase>,
}

impl Fused {
    /// The number of results per output.
    pub fn outer_count(&self) -> usize {
        product(&self.space[..self.kept])
    }

    /// The number of values reduced to one.
    pub fn inner_count(&self) -> usize {
        product(&self.space[self.kept..])
    }

    /// The ops it runs, in order, for people.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.insts.iter().filter_map(|inst| match &inst.kind {
            InstKind::Map { op, .. } => Some(op.name),
            InstKind::Cast { .. } => Some("cast"),
            InstKind::Gather { .. } => Some("gather"),
            InstKind::Bits { .. } => Some("random_bits"),
            InstKind::Reduce { reduce, .. } => Some(reduce.kind.name()),
            InstKind::Load { .. }
            | InstKind::Constant { .. }
            | InstKind::Index { .. }
            | InstKind::Healthy
            | InstKind::Mask { .. } => None,
        })
    }

    /// The only reduction of a kernel of two stages.
    pub fn reduction(&self) -> Option<(usize, usize, &Reduce)> {
        self.insts.iter().enumerate().find_map(|(position, inst)| match &inst.kind {
            InstKind::Reduce { arg, reduce } => Some((position, *arg, reduce)),
            _ => None,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    Fused(Fused),
    Structured(StructuredCall),
}

impl Kernel {
    pub fn inputs(&self) -> Vec<Place> {
        match self {
            Kernel::Fused(fused) => fused.inputs.iter().map(|&(place, _)| place).collect(),
            Kernel::Structured(call) => call.input_places(),
        }
    }

    pub fn outputs(&self) -> Vec<Place> {
        match self {
            Kernel::Fused(fused) => fused.outputs.iter().map(|output| output.place).collect(),
            Kernel::Structured(call) => call.output_places(),
        }
    }

    /// The ops it runs, in order, for people.
    pub fn describe(&self) -> Vec<&'static str> {
        match self {
            Kernel::Structured(call) => {
                let further = call.epilogue.iter().flat_map(|epilogue| epilogue.names());
                std::iter::once(call.op.name()).chain(further).collect()
            }
            Kernel::Fused(fused) => {
                let names: Vec<_> = fused.names().collect();
                if names.is_empty() { vec!["copy"] } else { names }
            }
        }
    }

    /// Every place it names, to be changed.
    pub fn places_mut(&mut self) -> Vec<&mut Place> {
        fn of(fused: &mut Fused) -> impl Iterator<Item = &mut Place> {
            let inputs = fused.inputs.iter_mut().map(|(place, _)| place);
            inputs.chain(fused.outputs.iter_mut().map(|output| &mut output.place))
        }
        match self {
            Kernel::Fused(fused) => of(fused).collect(),
            Kernel::Structured(call) => {
                let inputs = call.inputs.iter_mut().map(|operand| &mut operand.place);
                let outputs = call.outputs.iter_mut().map(|(place, _)| place);
                inputs.chain(outputs).chain(call.epilogue.iter_mut().flat_map(|fused| of(fused))).collect()
            }
        }
    }
}

/// A buffer the plan allocates.
#[derive(Debug, Clone)]
pub(crate) struct PlanBuffer {
    pub dtype: DType,
    pub numel: usize,
    /// A result, which outlives the run; others share memory when their lives do not overlap.
    pub root: bool,
    /// The memory slot of a temporary.
    pub slot: usize,
    /// The buffer it is a part of, and the element it starts at there.
    pub within: Option<(u32, usize)>,
}
