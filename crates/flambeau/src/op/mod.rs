//! The op table: every primitive the library has, each in one place.
//!
//! - An elementwise primitive is one entry in `elementwise/`: docs, CPU and WGSL expression, derivative, samples.
//! - A structured primitive (matmul, convolution, pooling, attention, recurrence, Fourier transform, decompositions of
//!   matrices, scan, sort, scatter) is one file or folder,
//!   which has all of it (`structured` says what that is), and an entry of the list below.
//! - Views, reductions, gathers and the sources (constants, ramps, random bits) are what fused kernels are
//!   made of: the planner and the two code generators know them by name.
//!
//! Everything else is written with these: as a method on `Tensor`, or, where steps of training are made of it, as a
//! composite (`composite`), which is one node until a plan is made.

pub(crate) mod argsort;
pub(crate) mod attention;
pub(crate) mod batch;
pub(crate) mod case;
mod compact;
pub(crate) mod composite;
pub(crate) mod conv;
pub(crate) mod custom;
pub(crate) mod dft;
pub(crate) mod elementwise;
pub(crate) mod finite;
pub(crate) mod gather;
pub(crate) mod linalg;
pub(crate) mod matmul;
pub(crate) mod pack;
mod parts;
pub(crate) mod pool;
pub(crate) mod recurrence;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod searchsorted;
mod sorting;
pub(crate) mod structured;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod units;
pub(crate) mod view;

use crate::calls::{Call, Methods, Signature};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::call::Kernels;
use crate::ir::program::FiniteCheck;
pub(crate) use crate::ir::{Meta, Reduce, ReduceKind, View};
pub(crate) use crate::tensor::{
    Autocast, Tensor, cast_all, is_autocast_enabled, set_autocast_enabled, twins,
};
use case::Case;
use composite::CompositeOp;
pub(crate) use elementwise::Elementwise;
use std::sync::Arc;
use structured::{Apart, Listed, Structured, structured};

structured! {
    /// Batched matrix product.
    MatMul(matmul::MatMul);
    /// Writes or adds values at indexed places along a dimension.
    Scatter(scatter::Scatter);
    /// The order of the elements of each row.
    ArgSort(argsort::ArgSort);
    /// Places of values in sorted rows.
    SearchSorted(searchsorted::SearchSorted, apart);
    /// Running sums and products.
    Scan(scan::Scan);
    /// Flat values at fixed places of a larger one.
    Pack(pack::Pack);
    /// Convolution and its adjoints.
    Conv(conv::Conv, shared);
    /// Maxima and means over windows.
    Pool(pool::Pool, shared);
    /// Scaled dot-product attention and its gradients.
    Attention(attention::Attention);
    /// The discrete Fourier transform along a dimension.
    Dft(dft::Dft, apart);
    /// Symmetric matrices as L Lᵀ.
    Cholesky(linalg::Cholesky, apart);
    /// Matrices as L U, their rows exchanged.
    Lu(linalg::Lu, apart);
    /// Triangular systems of equations.
    Triangular(linalg::Triangular, apart);
    /// Matrices as Q R.
    Qr(linalg::Qr, apart);
    /// Eigenvalues and eigenvectors of symmetric matrices.
    Eigh(linalg::Eigh, apart);
    /// Singular values and vectors.
    Svd(linalg::Svd, apart);
    /// A recurrent layer over all steps, and its gradients.
    Recurrence(recurrence::Recurrence);
    /// Whether all numbers are finite, or a fault where they are not: the optimizer's check.
    RequireFinite(FiniteCheck);
    /// A kernel written by the user.
    Custom(custom::Custom, shared);
}

/// What a node computes from its inputs. Numbers that may change from step to step are not in here: they are
/// the node's `data`, and never part of a plan's key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// One number, data\[0\], at every element.
    Constant,
    /// The coordinate along `dim`, as I32.
    Iota { dim: usize },
    /// Random bits (U32): data\[0..4\] is the generator's key and counter, two words each.
    Bits,
    /// True as long as the device has seen no fault: what guards parameter updates.
    Healthy,
    /// An elementwise primitive; inputs have the output's shape.
    Map(&'static Elementwise),
    /// A change of dtype, to the output's.
    Cast,
    /// Another way to index the input's elements.
    View(View),
    /// out[c] = source[c with c\[dim\] replaced by index[c]]; inputs: source, index.
    Gather { dim: usize },
    /// A reduction that keeps the reduced dimensions, with size 1.
    Reduce(Reduce),
    /// A primitive with kernels of its own.
    Structured(StructuredOp),
    /// Several others as one; no plan has it.
    Composite(CompositeOp),
    /// Stands for an input that a derivative rule did not ask to keep; evaluating it is an error.
    Unsaved,
    /// Stands for one sample of a batch while a function is being batched (`func::vmap`); evaluating it is an error.
    Placeholder,
}

impl Op {
    /// The op's name in errors, plans and statistics.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Constant => "constant",
            Op::Iota { .. } => "iota",
            Op::Bits => "random_bits",
            Op::Healthy => "healthy",
            Op::Map(map) => map.name,
            Op::Cast => "cast",
            Op::View(view) => view.name(),
            Op::Gather { .. } => "gather",
            Op::Reduce(reduce) => reduce.kind.name(),
            Op::Unsaved => "unsaved",
            Op::Placeholder => "placeholder",
            Op::Structured(op) => op.name(),
            Op::Composite(op) => op.kind.name,
        }
    }

    /// The op's own kernels, if it is a structured primitive.
    pub fn structured(&self) -> Option<&StructuredOp> {
        match self {
            Op::Structured(op) => Some(op),
            _ => None,
        }
    }

    /// Is it made of nothing but data and coordinates?
    pub fn is_source(&self) -> bool {
        matches!(self, Op::Constant | Op::Iota { .. } | Op::Bits | Op::Healthy)
    }

    /// May its results depend on how precise products of f32 are to be? Composites may be made of such.
    pub fn multiplies_f32(&self, outputs: &[Meta]) -> bool {
        match self {
            Op::Structured(op) => op.heeds_precision() && outputs[0].dtype == DType::F32,
            Op::Composite(_) => true,
            _ => false,
        }
    }

    /// What the derivative rule reads.
    pub fn saves(&self) -> Saves {
        match self {
            Op::Map(map) => map.saves,
            Op::Gather { .. } => Saves::inputs(0b10),
            Op::Reduce(reduce) => reduce.kind.saves(),
            Op::Constant
            | Op::Iota { .. }
            | Op::Bits
            | Op::Healthy
            | Op::Cast
            | Op::View(_)
            | Op::Unsaved
            | Op::Placeholder => Saves::NOTHING,
            Op::Structured(op) => op.saves(),
            Op::Composite(op) => op.kind.saves,
        }
    }

    /// The gradients of the inputs, given those of the outputs.
    pub fn vjp(&self, v: &Vjp) -> Result<Grads> {
        match self {
            Op::Map(map) => (map.vjp)(v),
            Op::Cast => Ok(vec![Some(v.grad().try_to_dtype(v.input(0).dtype())?)]),
            Op::View(view) => view.vjp(v),
            Op::Gather { dim } => gather::vjp(*dim, v),
            Op::Reduce(reduce) => reduce.vjp(v),
            Op::Structured(op) => op.vjp(v),
            Op::Composite(op) => op.kind.vjp.unwrap_or(|v, _| not_differentiable(v))(v, &op.settings),
            Op::Constant | Op::Iota { .. } | Op::Bits | Op::Healthy | Op::Unsaved | Op::Placeholder => {
                not_differentiable(v)
            }
        }
    }
}

/// One gradient per input; `None` where the input needs none (indexes, masks).
pub(crate) type Grads = Vec<Option<Tensor>>;

/// Which of a node's inputs and outputs its derivative rule reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Saves {
    /// Bit i: input i is read. Bit 31 stands for that input and all after it.
    pub inputs: u32,
    /// The outputs are read.
    pub outputs: bool,
}

impl Saves {
    pub const NOTHING: Saves = Saves { inputs: 0, outputs: false };

    pub const fn inputs(mask: u32) -> Saves {
        Saves { inputs: mask, outputs: false }
    }

    pub fn input(self, index: usize) -> bool {
        self.inputs & (1 << index.min(31)) != 0
    }
}

/// What a derivative rule is given.
pub(crate) struct Vjp<'a> {
    pub name: &'static str,
    /// The gradient of each output; `None` where nothing flowed into it.
    pub grads: &'a [Option<Tensor>],
    pub inputs: &'a [Tensor],
    pub outputs: &'a [Tensor],
    /// Which inputs need a gradient: rules may skip the others.
    pub needs: &'a [bool],
    /// The node's numbers (slice starts and the like).
    pub data: &'a [crate::dtype::Scalar],
}

impl Vjp<'_> {
    /// The gradient of the only output.
    pub fn grad(&self) -> &Tensor {
        self.grads[0].as_ref().expect("a rule runs only when its single output has a gradient")
    }

    pub fn input(&self, index: usize) -> &Tensor {
        &self.inputs[index]
    }

    pub fn output(&self) -> &Tensor {
        &self.outputs[0]
    }
}

/// The rule of ops that have none.
pub(crate) fn not_differentiable(v: &Vjp) -> Result<Grads> {
    Err(Error::Autograd(format!("{} is not differentiable, but a gradient reached it", v.name)))
}
