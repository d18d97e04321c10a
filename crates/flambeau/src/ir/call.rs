//! Structured kernels: what a primitive with kernels of its own brings, and a call of it in a plan.

use super::GpuSize;
use super::access::Access;
use super::kernel::{Fused, Place};
use super::program::{Param, Tier};
use super::{Meta, Precision, Program, UnitKind, WhyNot};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::HostBuffer;
use std::any::Any;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How an operand must lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One element after the other.
    Contiguous,
    /// Any strides and offset.
    Strided,
}

/// An operand of a structured op: memory and how to find elements in it.
pub(crate) struct CpuOperand<'a> {
    pub buffer: &'a HostBuffer,
    pub meta: &'a Meta,
    pub access: &'a Access,
    pub data: &'a [Scalar],
}

/// What makes primitives of different types comparable.
pub(crate) trait Comparable: Any {
    fn as_any(&self) -> &dyn Any;

    fn is_same(&self, other: &dyn Any) -> bool;

    fn hash_into(&self, state: &mut dyn Hasher);
}

impl<T: Any + Eq + Hash> Comparable for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_same(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>().is_some_and(|other| self == other)
    }

    fn hash_into(&self, mut state: &mut dyn Hasher) {
        self.hash(&mut state);
    }
}

/// A call runs on matrix units, or not.
pub(crate) type OnUnits = std::result::Result<(), WhyNot>;

/// How each backend computes a structured primitive.
pub(crate) trait Kernels: Comparable + Send + Sync {
    fn name(&self) -> &'static str;

    /// How an input must lie in memory.
    fn layout(&self, input: usize) -> Layout;

    /// Fills the outputs on the CPU.
    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], data: &[Scalar]) -> Result<()>;

    /// Does the CPU write every element of the outputs, whatever was there? Otherwise they start as zeros.
    fn fills_outputs(&self) -> bool {
        false
    }

    /// The shaders that fill the outputs on the GPU, to be dispatched in this order.
    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>>;

    /// The same for adapters that pay dearly for barriers, where there is another way.
    fn wgsl_without_barriers(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        self.wgsl(call)
    }

    /// Does every shader end with each result in a register of one thread, handed on by `Results`?
    fn takes_epilogue(&self) -> bool {
        false
    }

    /// Does a call multiply matrices on matrix units, and if not, why? None for what multiplies none.
    fn on_units(&self, _: &StructuredCall) -> Option<OnUnits> {
        None
    }

    /// Multiplications and additions of a call; one for each result unless it says otherwise.
    fn flops(&self, call: &StructuredCall) -> u64 {
        call.outputs.iter().map(|(_, meta)| meta.numel() as u64).fold(0, u64::saturating_add)
    }
}

impl std::fmt::Debug for dyn Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for dyn Kernels {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other.as_any())
    }
}

impl Eq for dyn Kernels {}

impl Hash for dyn Kernels {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
        self.hash_into(state);
    }
}

/// A structured operand: where it lies and how its elements are found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Operand {
    pub place: Place,
    pub meta: Meta,
    pub access: Access,
}

/// One structured op with kernels of its own.
#[derive(Debug, Clone, Eq)]
pub(crate) struct StructuredCall {
    pub op: Arc<dyn Kernels>,
    pub inputs: Vec<Operand>,
    /// Where results go; with an epilogue that says it, and only what they are counts here.
    pub outputs: Vec<(Place, Meta)>,
    pub data_start: u32,
    pub node: u32,
    /// The text that its shaders are to have.
    pub tier: Tier,
    /// The uniform block that a specialised shader finds its numbers in: that of the general one whose place it takes.
    pub block: Option<Arc<[Param]>>,
    /// Has the device subgroups that they may use?
    pub subgroups: bool,
    /// How large it is.
    pub gpu: GpuSize,
    /// Bytes of memory that the threads of a workgroup may share.
    pub workgroup_memory: u32,
    /// How its shaders multiply small matrices as a whole, if they can.
    pub units: Option<UnitKind>,
    /// How precise products of f32 must be.
    pub precision: Precision,
    /// What is done with each result instead of storing it: elementwise work over the result's elements in order, which
    /// reads the result as the operand after all its inputs.
    pub epilogue: Option<Box<Fused>>,
}

impl PartialEq for StructuredCall {
    fn eq(&self, other: &Self) -> bool {
        // By hand: what `derive` writes would move the op out of its pointer.
        *self.op == *other.op
            && (&self.inputs, &self.outputs, &self.epilogue)
                == (&other.inputs, &other.outputs, &other.epilogue)
            && (self.data_start, self.node, self.tier, self.subgroups, self.gpu)
                == (other.data_start, other.node, other.tier, other.subgroups, other.gpu)
            && (self.units, self.precision, self.workgroup_memory)
                == (other.units, other.precision, other.workgroup_memory)
            && self.block == other.block
    }
}

impl Hash for StructuredCall {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.op.hash(state);
        (&self.inputs, &self.outputs, &self.epilogue).hash(state);
        (self.data_start, self.node, self.tier, self.subgroups, self.gpu, self.precision).hash(state);
    }
}

/// What every device with WebGPU has of it.
pub(crate) const LEAST_WORKGROUP_MEMORY: u32 = 16 << 10;

impl StructuredCall {
    /// Where its operands lie, then those of its epilogue.
    pub fn input_places(&self) -> Vec<Place> {
        let own = self.inputs.iter().map(|operand| operand.place);
        let further = self.epilogue.iter().flat_map(|epilogue| &epilogue.inputs).map(|&(place, _)| place);
        own.chain(further).collect()
    }

    /// How its products are made without matrix units, for people, with what is said of these.
    pub fn by_arithmetic(&self, units: &str) -> String {
        let arithmetic = match self.inputs[0].meta.dtype {
            DType::F16 => "products of f16, added up in f32",
            _ => "products by f32 arithmetic",
        };
        format!("{arithmetic}; matrix units are {units}")
    }

    /// How they are made on matrix units.
    pub fn by_units(&self) -> &'static str {
        match (self.inputs[0].meta.dtype, self.precision) {
            (DType::F16, _) => "products of f16 on matrix units",
            (_, Precision::Highest) => "products at highest, each as three of f16 on matrix units",
            (_, Precision::High) => "products at high, of operands rounded to 11 bits, on matrix units",
        }
    }

    /// Where its results go.
    pub fn output_places(&self) -> Vec<Place> {
        match &self.epilogue {
            Some(epilogue) => epilogue.outputs.iter().map(|output| output.place).collect(),
            None => self.outputs.iter().map(|&(place, _)| place).collect(),
        }
    }
}
