//! Cholesky and LU, and what their triangles say of a matrix: determinants.

use super::{in_full, require_matrices, require_square};
use crate::error::Result;
use crate::op::linalg::{identity, transposed};
use crate::tensor::{Tensor, twins};

/// 1 or −1: whether the permutations `rows` (…, n), I32, are made of an even number of exchanges, as numbers of `like`.
#[track_caller]
fn parity(rows: &Tensor, like: &Tensor) -> Result<Tensor> {
    let later = rows.try_unsqueeze(-2)?;
    let earlier = rows.try_unsqueeze(-1)?;
    // Pairs that are the other way round.
    let inverted = earlier.try_gt(&later)?.try_to_dtype(like.dtype())?.try_triu(1)?;
    let count = inverted.try_sum([-2, -1])?;
    let half = (&count * 0.5).try_floor()?;
    Ok((count - half * 2.0) * -2.0 + 1.0)
}

impl Tensor {
    twins! {
        /// L with A = L Lᵀ, or U = Lᵀ (`upper`), for symmetric positive definite matrices (…, n, n). The lower triangle of A is
        /// read; the gradient is symmetric. A matrix that is not positive definite is an error ([`linalg`](crate::linalg)).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[4.0, 2.0], [2.0, 2.0]], &Device::cpu());
        /// assert_eq!(a.cholesky(false).to_string(), "tensor([[2., 0.],\n        [1., 1.]])");
        /// ```
        cholesky / try_cholesky(&self, upper: bool) -> Tensor {
            in_full!(a = self);
            require_square("cholesky", a)?;
            let l = a.cholesky_factor()?;
            if upper { transposed(&l) } else { Ok(l) }
        }

        /// P, L, U with A = P L U: (…, m, n) → (…, m, m), (…, m, k), (…, k, n), k = min(m, n). Rows are exchanged so that no
        /// number of L exceeds 1. Singular matrices have a decomposition, too, whose gradient is not finite.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[1.0, 2.0], [4.0, 4.0]], &Device::cpu());
        /// let (p, l, u) = a.lu();
        /// assert_eq!(l.to_string(), "tensor([[1.0000, 0.0000],\n        [0.2500, 1.0000]])");
        /// assert_eq!(p.matmul(&l).matmul(&u).to_string(), a.to_string());
        /// ```
        lu / try_lu(&self) -> (Tensor, Tensor, Tensor) {
            in_full!(a = self);
            require_matrices("lu", a)?;
            let (packed, rows) = a.lu_packed(None)?;
            let k = a.size(-1).min(a.size(-2));
            let l = packed.try_narrow(-1, 0, k)?.try_tril(-1)?;
            let ones = Tensor::try_eye_rectangular(a.size(-2), k, (a.dtype(), a.device()))?;
            let u = packed.try_narrow(-2, 0, k)?.try_triu(0)?;
            // Row r of A is the row of P L U whose number in `rows` is r.
            let p = transposed(&rows.try_one_hot(a.size(-2))?)?.try_to_dtype(a.dtype())?;
            Ok((p, l + ones, u))
        }

        /// L and U of [`lu`](Tensor::lu) in one matrix, without the ones of L's diagonal, and the rows of A in the order that they
        /// have in L U, (…, m), I32: what [`lu_solve`](Tensor::lu_solve) takes. (PyTorch has a list of exchanges in place of the
        /// order.)
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[1.0, 2.0], [4.0, 4.0]], &Device::cpu());
        /// let (packed, rows) = a.lu_factor();
        /// assert_eq!(packed.to_string(), "tensor([[4.0000, 4.0000],\n        [0.2500, 1.0000]])");
        /// assert_eq!(rows.to_string(), "tensor([1, 0], dtype=i32)");
        /// ```
        lu_factor / try_lu_factor(&self) -> (Tensor, Tensor) {
            in_full!(a = self);
            require_matrices("lu_factor", a)?;
            a.lu_packed(None)
        }

        /// The determinant of each matrix: (…, n, n) → (…). Its gradient is not finite where the matrix is singular.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[1.0, 2.0], [4.0, 4.0]], &Device::cpu());
        /// assert_eq!(a.det().to_string(), "tensor(-4.)");
        /// ```
        det / try_det(&self) -> Tensor {
            in_full!(a = self);
            require_square("det", a)?;
            let (packed, rows) = a.lu_packed(None)?;
            packed.try_diagonal(0, -2, -1)?.try_prod(-1)?.try_mul(&parity(&rows, a)?)
        }

        /// The sign of the determinant and the logarithm of its absolute value, (…, n, n) → (…) and (…): where the determinant
        /// itself would be too large or too small for a float. Of a singular matrix 0 and −∞.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[1.0, 2.0], [4.0, 4.0]], &Device::cpu());
        /// let (sign, log) = a.slogdet();
        /// assert_eq!((sign.to_string(), log.exp().to_string()), ("tensor(-1.)".into(), "tensor(4.)".into()));
        /// ```
        slogdet / try_slogdet(&self) -> (Tensor, Tensor) {
            in_full!(a = self);
            require_square("slogdet", a)?;
            let (packed, rows) = a.lu_packed(None)?;
            let diagonal = packed.try_diagonal(0, -2, -1)?;
            let sign = diagonal.detach().try_sign()?.try_prod(-1)?.try_mul(&parity(&rows, a)?)?;
            Ok((sign, diagonal.try_abs()?.try_log()?.try_sum(-1)?))
        }

        /// A⁻¹ of each matrix (…, n, n). A singular one is an error ([`linalg`](crate::linalg)). Where A⁻¹ B is wanted,
        /// [`solve`](Tensor::solve) is quicker and more precise.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[1.0, 2.0], [4.0, 4.0]], &Device::cpu());
        /// assert_eq!(a.inv().to_string(), "tensor([[-1.0000,  0.5000],\n        [ 1.0000, -0.2500]])");
        /// ```
        inv / try_inv(&self) -> Tensor {
            in_full!(a = self);
            require_square("inv", a)?;
            let ones = identity(a)?.broadcast_as("inv", a.shape())?;
            a.solve_for("inv", &ones)
        }
    }
}
