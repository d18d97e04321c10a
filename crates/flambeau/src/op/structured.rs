//! What a structured primitive brings: its kernels for both backends, its derivative, and its definition for the
//! interpreter, all in one file.

use super::argsort::ArgSort;
use super::attention::Attention;
use super::conv::Conv;
use super::custom::Custom;
use super::elementwise::Block;
use super::finite::RequireFinite;
use super::matmul::MatMul;
use super::pack::Pack;
use super::pool::Pool;
use super::scan::Scan;
use super::scatter::Scatter;
use super::{Grads, Meta, Saves, Vjp};
use crate::backend::cpu::CpuOperand;
use crate::backend::cpu::HostBuffer;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::plan::kernel::StructuredCall;
use crate::shape::Shape;
use std::sync::Arc;

/// How an operand must lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One element after the other.
    Contiguous,
    /// Any strides and offset.
    Strided,
}

/// A value of the interpreter: f64 for floats, i64 for integers, bool for booleans; contiguous.
#[derive(Debug, Clone)]
pub(crate) struct Exact {
    pub shape: Shape,
    pub dtype: DType,
    pub values: Block,
}

/// A primitive with kernels of its own.
pub(crate) trait Structured {
    fn name(&self) -> &'static str;

    fn layout(&self, input: usize) -> Layout;

    /// What the derivative rule reads.
    fn saves(&self) -> Saves;

    fn vjp(&self, v: &Vjp) -> Result<Grads>;

    /// The definition, in f64.
    fn exact(&self, inputs: &[Exact], outputs: &[Meta], data: &[Scalar]) -> Result<Vec<Exact>>;

    /// Fills the outputs on the CPU.
    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], data: &[Scalar]) -> Result<()>;

    /// The shaders that fill the outputs on the GPU, to be dispatched in this order.
    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>>;

    /// Does every shader end with each result in a register of one thread, handed on by `Results`?
    fn takes_epilogue(&self) -> bool {
        false
    }

    /// The same for adapters that pay dearly for barriers, where there is another way.
    fn wgsl_without_barriers(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        self.wgsl(call)
    }
}

/// Every structured primitive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum StructuredOp {
    /// Batched matrix product.
    MatMul(MatMul),
    /// Writes or adds values at indexed places along a dimension.
    Scatter(Scatter),
    /// The order of the elements of each row.
    ArgSort(ArgSort),
    /// Running sums and products.
    Scan(Scan),
    /// Flat values at fixed places of a larger one.
    Pack(Pack),
    /// Convolution and its adjoints.
    Conv(Arc<Conv>),
    /// Maxima and means over windows.
    Pool(Arc<Pool>),
    /// Scaled dot-product attention and its gradients.
    Attention(Attention),
    /// A fault where numbers are not finite.
    RequireFinite(RequireFinite),
    /// A kernel written by the user.
    Custom(Arc<Custom>),
}

impl std::ops::Deref for StructuredOp {
    type Target = dyn Structured;

    fn deref(&self) -> &(dyn Structured + 'static) {
        match self {
            StructuredOp::MatMul(op) => op,
            StructuredOp::Scatter(op) => op,
            StructuredOp::ArgSort(op) => op,
            StructuredOp::Scan(op) => op,
            StructuredOp::Pack(op) => op,
            StructuredOp::Conv(op) => &**op,
            StructuredOp::Pool(op) => &**op,
            StructuredOp::Attention(op) => op,
            StructuredOp::RequireFinite(op) => op,
            StructuredOp::Custom(op) => &**op,
        }
    }
}

/// A number in a kernel's uniform block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Param {
    /// Always the same.
    Fixed(u32),
    /// data\[index\] in the form a lane type has it.
    Data(u32, crate::dtype::Lane),
    /// An offset or a start that depends on data.
    Linear(crate::plan::access::Linear),
    /// The run's number, for fault reports.
    Run,
    /// A word of what the run's kernels are told about faults: its slot, then runs that it is made from.
    Status(u8),
}

pub(crate) use crate::backend::wgsl::Trust;

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

/// One shader of a structured op, with its buffers and size.
///
/// Bindings are numbered in the order of `bindings`; inputs are declared `var<storage, read>`, the others
/// `read_write`. The uniform block, if `params` is not empty, comes last as
/// `var<uniform> params: array<vec4<u32>, N>` with N = ceil(params / 4).
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub label: &'static str,
    pub source: String,
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
}

/// What a fault that a kernel reports means. The kernel tells a value with it.
#[derive(Debug, Clone)]
pub(crate) enum Checked {
    /// An index outside a dimension of this size; the value is the index.
    Index { op: &'static str, size: usize },
    /// A number that is not finite; the value is its place.
    Finite(RequireFinite),
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
