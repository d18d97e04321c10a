//! Linear algebra.

use crate::handles::argument;
use flambeau::calls::{Call, Methods, methods};
use flambeau::linalg::MatrixNorm;
use flambeau::{Dims, Tensor};

pub(super) struct Linalg;

/// The function with this number.
#[inline(never)]
pub(super) fn call(number: usize) -> Option<Call> {
    Linalg::CALLS.get(number).copied()
}

methods! { Linalg:
    cholesky(x: Tensor, upper: bool = "false") -> Tensor { x.try_cholesky(upper) }
    lu(x: Tensor) -> (Tensor, Tensor, Tensor) { x.try_lu() }
    lu_factor(x: Tensor) -> (Tensor, Tensor) { x.try_lu_factor() }
    lu_solve(x: Tensor, rows: Tensor, b: Tensor) -> Tensor { x.try_lu_solve(&rows, &b) }
    solve(x: Tensor, b: Tensor) -> Tensor { x.try_solve(&b) }
    solve_triangular(x: Tensor, b: Tensor, upper: bool, left: bool = "true", unitriangular: bool = "false") -> Tensor {
        x.try_solve_triangular(&b, upper, left, unitriangular)
    }
    tensorsolve(x: Tensor, b: Tensor) -> Tensor { x.try_tensorsolve(&b) }
    tensorinv(x: Tensor, first: usize = "2") -> Tensor { x.try_tensorinv(first) }
    inv(x: Tensor) -> Tensor { x.try_inv() }
    det(x: Tensor) -> Tensor { x.try_det() }
    slogdet(x: Tensor) -> (Tensor, Tensor) { x.try_slogdet() }
    qr(x: Tensor, complete: bool = "false") -> (Tensor, Tensor) { x.try_qr(complete) }
    eigh(x: Tensor) -> (Tensor, Tensor) { x.try_eigh() }
    eigvalsh(x: Tensor) -> Tensor { x.try_eigvalsh() }
    svd(x: Tensor, full_matrices: bool = "true") -> (Tensor, Tensor, Tensor) { x.try_svd(full_matrices) }
    svdvals(x: Tensor) -> Tensor { x.try_svdvals() }
    pinv(x: Tensor, rtol: Option<f64> = "?") -> Tensor { x.try_pinv(rtol) }
    lstsq(x: Tensor, b: Tensor) -> Tensor { x.try_lstsq(&b) }
    matrix_rank(x: Tensor, rtol: Option<f64> = "?") -> Tensor { x.try_matrix_rank(rtol) }
    vector_norm(x: Tensor, ord: f64 = "2", dims: Dims = "?") -> Tensor { x.try_vector_norm(ord, dims) }
    matrix_norm(x: Tensor, norm: MatrixNorm = "\"fro\"") -> Tensor { x.try_matrix_norm(norm) }
    cond(x: Tensor, norm: MatrixNorm = "2") -> Tensor { x.try_cond(norm) }
    matrix_power(x: Tensor, power: isize) -> Tensor {
        let exact = i32::try_from(power).map_err(|_| argument("matrix_power", format!("{power} is too large")))?;
        x.try_matrix_power(exact)
    }
    matrix_exp(x: Tensor) -> Tensor { x.try_matrix_exp() }
    cross(x: Tensor, other: Tensor, dim: isize = "-1") -> Tensor { x.try_cross(&other, dim) }
    multi_dot(matrices: Vec<Tensor>) -> Tensor { Tensor::try_multi_dot(&matrices) }
    vander(x: Tensor, n: Option<usize> = "?") -> Tensor { x.try_vander(n) }
}
