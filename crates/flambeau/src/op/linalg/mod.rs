//! Decompositions of matrices: the primitives that `flambeau::linalg` is made of. Each is batched over leading dimensions.
//!
//! - `cholesky`, `lu`, `triangular`, `qr`, `eigh`, `svd`: an op each, with its derivative rule; what they share is [`Decomposition`];
//! - `cpu`: one matrix after the other, or on different cores, by `flambeau-decompose`, which is faer;
//! - `wgsl`: the GPU's kernels. Matrices are factored in panels of 32 columns, and products do the rest; eigenvalues and singular
//!   values are found by Jacobi's rotations;
//! - `exact`: the definitions, in f64, as textbooks have them.

pub(crate) mod cholesky;
mod cpu;
pub(crate) mod eigh;
mod exact;
pub(crate) mod lu;
pub(crate) mod qr;
mod samples;
pub(crate) mod svd;
#[cfg(test)]
mod tests;
pub(crate) mod triangular;
mod wgsl;

pub(crate) use cholesky::Cholesky;
pub(crate) use eigh::Eigh;
pub(crate) use lu::Lu;
pub(crate) use qr::Qr;
pub(crate) use svd::Svd;
pub(crate) use triangular::Triangular;

use super::batch::{BatchCall, Batched};
use super::case::Case;
use super::structured::{Exact, Listed, Structured};
use super::{Autocast, Meta, Tensor};
use crate::calls::Methods;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::host::{Block, HostBuffer};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::Program;
use crate::shape::{Shape, product};
use cpu::Element;

/// What is one decomposition's own. In common they have that they take F32 or F64 matrices, contiguous and in full precision, behind any
/// number of leading dimensions, and that they write all of their results.
trait Decomposition: Structured {
    const NAME: &'static str;
    /// The operand whose matrices say what the sizes are.
    const SIZED_BY: usize = 0;

    /// The results of the CPU.
    fn run<T: Element>(&self, sizes: Sizes, inputs: &[CpuOperand], outputs: &mut [HostBuffer]) -> Result<()>;

    /// The kernels of the GPU.
    fn programs(&self, sizes: Sizes, call: &StructuredCall) -> Result<Vec<Program>>;

    /// Multiplications and additions, as they are usually counted.
    fn operations(&self, sizes: Sizes) -> usize;

    fn samples() -> Vec<Case>;
}

impl<D: Decomposition> Kernels for D {
    fn name(&self) -> &'static str {
        D::NAME
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        let sizes = Sizes::of(&inputs[D::SIZED_BY].meta.shape);
        match inputs[0].meta.dtype {
            DType::F32 => self.run::<f32>(sizes, inputs, outputs),
            DType::F64 => self.run::<f64>(sizes, inputs, outputs),
            dtype => unreachable!("a decomposition of {dtype}"),
        }
    }

    fn fills_outputs(&self) -> bool {
        true
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        self.programs(Sizes::of(&call.inputs[D::SIZED_BY].meta.shape), call)
    }

    fn flops(&self, call: &StructuredCall) -> u64 {
        self.operations(Sizes::of(&call.inputs[D::SIZED_BY].meta.shape)) as u64
    }
}

impl<D: Decomposition> Listed for D {
    const NAMES: &'static [&'static str] = &[D::NAME];
    const AUTOCAST: Autocast = Autocast::Full;

    fn samples() -> Vec<Case> {
        <D as Decomposition>::samples()
    }

    fn batch(&self, call: &BatchCall) -> Result<Batched> {
        call.leading()
    }
}

/// The methods of scripts are `crate::linalg`'s.
impl<D: Decomposition> Methods for D {}

/// A batch of matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sizes {
    batch: usize,
    /// m.
    rows: usize,
    /// n.
    columns: usize,
}

impl Sizes {
    fn of(shape: &Shape) -> Sizes {
        let [.., rows, columns] = *shape.dims() else { unreachable!("a matrix has two dimensions") };
        Sizes { batch: product(&shape[..shape.rank() - 2]), rows, columns }
    }

    /// min(m, n).
    fn least(self) -> usize {
        self.rows.min(self.columns)
    }

    fn numel(self) -> usize {
        self.batch * self.rows * self.columns
    }
}

/// The shape with other matrices in it.
fn with_matrices(shape: &Shape, rows: usize, columns: usize) -> Shape {
    shape[..shape.rank() - 2].iter().copied().chain([rows, columns]).collect()
}

/// The shape with vectors instead of matrices.
fn with_vectors(shape: &Shape, length: usize) -> Shape {
    shape[..shape.rank() - 2].iter().copied().chain([length]).collect()
}

/// Xᵀ of each matrix.
#[track_caller]
pub(crate) fn transposed(x: &Tensor) -> Result<Tensor> {
    x.try_transpose(-2, -1)
}

/// The identity, as large as the last dimension of `like`.
#[track_caller]
pub(crate) fn identity(like: &Tensor) -> Result<Tensor> {
    Tensor::try_eye(like.size(-1), (like.dtype(), like.device()))
}

/// The error of a matrix that an op cannot take; who runs the op says where it was made.
fn refused(op: &'static str, batch: usize, what: &'static str) -> Error {
    Error::Matrix { op, batch, what, location: String::new() }
}

const NOT_POSITIVE_DEFINITE: &str = "not positive definite";
const SINGULAR: &str = "singular";
const NOT_FINITE: &str = "without a decomposition: it has numbers that are not finite";

/// The interpreter's numbers of an operand.
fn numbers(operand: &Exact) -> &[f64] {
    match &operand.values {
        Block::F64(values) => values,
        _ => unreachable!("matrices are of floats"),
    }
}

/// A value of the interpreter.
fn exact_of(meta: &Meta, values: Vec<f64>) -> Exact {
    let Meta { shape, dtype } = meta.clone();
    let values = match dtype {
        DType::I32 => Block::I64(values.into_iter().map(|value| value as i64).collect()),
        _ => Block::F64(values.into_iter().collect()),
    };
    Exact { shape, dtype, values }
}

/// The interpreter's results of a batch: `body` makes those of a matrix of its number and of its operands' numbers.
fn exact_of_each<const N: usize>(
    inputs: &[Exact],
    outputs: &[Meta],
    body: impl Fn(usize, &[&[f64]]) -> Result<[Vec<f64>; N]>,
) -> Result<Vec<Exact>> {
    let batch = Sizes::of(&inputs[0].shape).batch;
    let mut results = [const { Vec::new() }; N];
    for number in 0..batch {
        let operands: Vec<&[f64]> = inputs
            .iter()
            .map(|operand| {
                let size = numbers(operand).len() / batch;
                &numbers(operand)[number * size..(number + 1) * size]
            })
            .collect();
        for (all, own) in results.iter_mut().zip(body(number, &operands)?) {
            all.extend(own);
        }
    }
    Ok(outputs.iter().zip(results).map(|(meta, values)| exact_of(meta, values)).collect())
}
