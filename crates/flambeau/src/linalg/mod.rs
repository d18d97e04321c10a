//! Linear algebra: decompositions of matrices and what is made of them, on every device, with derivatives of any order.
//!
//! The functions are methods of [`Tensor`], with the names and the meaning of PyTorch's `torch.linalg`; leading dimensions are batches.
//!
//! - Decompositions: [`cholesky`](Tensor::cholesky), [`lu`](Tensor::lu) and [`lu_factor`](Tensor::lu_factor), [`qr`](Tensor::qr),
//!   [`eigh`](Tensor::eigh) and [`eigvalsh`](Tensor::eigvalsh), [`svd`](Tensor::svd) and [`svdvals`](Tensor::svdvals).
//! - Equations: [`solve`](Tensor::solve), [`solve_triangular`](Tensor::solve_triangular), [`lu_solve`](Tensor::lu_solve),
//!   [`lstsq`](Tensor::lstsq), [`inv`](Tensor::inv), [`pinv`](Tensor::pinv).
//! - Numbers: [`det`](Tensor::det), [`slogdet`](Tensor::slogdet), [`matrix_norm`](Tensor::matrix_norm),
//!   [`vector_norm`](Tensor::vector_norm), [`cond`](Tensor::cond), [`matrix_rank`](Tensor::matrix_rank).
//! - Functions: [`matrix_power`](Tensor::matrix_power), [`matrix_exp`](Tensor::matrix_exp), [`cross`](Tensor::cross),
//!   [`multi_dot`](Tensor::multi_dot), [`vander`](Tensor::vander).
//!
//! Matrices are F32 or F64 (on a GPU F32). A matrix that an op cannot take, because it is singular or not positive definite, is an
//! error that names it ([`Error::Matrix`]): of the evaluation on the CPU, of what reads a result on a GPU.
//!
//! ```
//! # use flambeau::prelude::*;
//! let a = Tensor::new([[4.0, 2.0], [2.0, 3.0]], &Device::cpu());
//! let b = Tensor::new([2.0, -1.0], &Device::cpu());
//! assert_eq!(a.solve(&b).to_string(), "tensor([ 1., -1.])");
//! ```

mod factors;
mod functions;
mod norms;
mod orthogonal;
mod systems;

pub use norms::MatrixNorm;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::tensor::Tensor;

/// Refuses what is no batch of F32 or F64 matrices.
fn require_matrices(op: &'static str, x: &Tensor) -> Result<()> {
    if !matches!(x.dtype(), DType::F32 | DType::F64) {
        return Err(Error::dtype_not_accepted(op, x.dtype(), "F32 or F64"));
    }
    match x.rank() {
        0 | 1 => {
            Err(Error::shape(op, format!("shape {} has no matrices: two dimensions at least", x.shape())))
        }
        _ => Ok(()),
    }
}

/// Refuses what is no batch of square F32 or F64 matrices.
fn require_square(op: &'static str, x: &Tensor) -> Result<()> {
    require_matrices(op, x)?;
    if x.size(-1) != x.size(-2) {
        return Err(Error::shape(op, format!("the matrices of shape {} are not square", x.shape())));
    }
    Ok(())
}

/// Refuses A and B of different dtypes, and those that do not fit as a system of equations.
fn require_fit(op: &'static str, a: &Tensor, b: &Tensor, system: &str, fits: bool) -> Result<()> {
    if a.dtype() != b.dtype() {
        return Err(Error::dtype(op, format!("the dtypes {} and {} differ", a.dtype(), b.dtype())));
    }
    if !fits {
        let message = format!("shapes {} and {} do not fit as A and B of {system}", a.shape(), b.shape());
        return Err(Error::shape(op, message));
    }
    Ok(())
}

/// The inputs of a function of full precision, by new names: in mixed precision F16 is taken as F32, until the function ends.
/// (A closure would hide the line that calls the function.)
macro_rules! in_full {
    ($($to:ident = $from:expr),+) => {
        let entered = $crate::tensor::Autocast::Full.enter([$($from),+])?;
        let [$($to),+] = entered.inputs([$($from),+]);
    };
}
use in_full;

/// The dimensions before the last `count`.
fn batch_of(x: &Tensor, count: usize) -> Shape {
    Shape::new(&x.shape()[..x.rank() - count])
}

/// Both with the batch dimensions of both and the matrices they have.
#[track_caller]
fn with_one_batch(op: &'static str, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let batch = batch_of(a, 2)
        .broadcast(&batch_of(b, 2))
        .ok_or_else(|| Error::broadcast(op, a.shape(), b.shape()))?;
    let whole = |x: &Tensor| batch.iter().copied().chain([x.size(-2), x.size(-1)]).collect::<Shape>();
    Ok((a.broadcast_as(op, &whole(a))?, b.broadcast_as(op, &whole(b))?))
}
