//! Decompositions of matrices: the primitives that `flambeau::linalg` is made of. Each is batched over leading dimensions.
//!
//! - `cholesky`, `lu`, `triangular`, `qr`, `eigh`, `svd`: an op each, with its derivative rule;
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

use super::structured::Exact;
use super::{Meta, Tensor};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::host::Block;
use crate::shape::{Shape, product};

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
