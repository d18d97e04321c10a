//! QR, eigenvectors and singular vectors, and what follows from them.

use super::{in_full, require_fit, require_matrices, require_square, with_one_batch};
use crate::dtype::DType;
use crate::error::Result;
use crate::op::linalg::transposed;
use crate::tensor::{Tensor, twins};

/// The distance from 1 to the next number.
fn epsilon(dtype: DType) -> f64 {
    if dtype == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) }
}

/// U, s, Vᵀ of F32 or F64 matrices of any shape, U and Vᵀ with min(m, n) vectors.
#[track_caller]
pub(super) fn thin_svd(a: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    if a.size(-2) >= a.size(-1) {
        return a.svd_factors();
    }
    let (v, s, ut) = transposed(a)?.svd_factors()?;
    Ok((transposed(&ut)?, s, transposed(&v)?))
}

/// All of an orthonormal basis whose first vectors are the columns of `part`.
#[track_caller]
fn completed(part: &Tensor) -> Result<Tensor> {
    let rest = part.detach().qr_factors(true)?.0;
    let (m, k) = (part.size(-2), part.size(-1));
    Tensor::try_cat(&[part.clone(), rest.try_narrow(-1, k, m - k)?], -1)
}

/// Which singular values count as more than zero: those above max(m, n) ε times the largest, or above `rtol` times it.
#[track_caller]
fn above_zero(a: &Tensor, s: &Tensor, rtol: Option<f64>) -> Result<Tensor> {
    let rtol = rtol.unwrap_or(a.size(-1).max(a.size(-2)) as f64 * epsilon(a.dtype()));
    s.try_gt(&(s.try_narrow(-1, 0, 1)? * rtol))
}

impl Tensor {
    twins! {
        /// Q, whose columns are orthonormal, and the upper triangular R with A = Q R: (…, m, n) → (…, m, k) and (…, k, n), k = min(m, n),
        /// or with all m columns of Q (`complete`), which have no gradient where m > n. R's diagonal is not negative, which makes
        /// both unique where A has full rank. (PyTorch leaves the signs open.)
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[3.0, 1.0], [4.0, 3.0]], &Device::cpu());
        /// let (q, r) = a.qr(false);
        /// assert_eq!(r.to_string(), "tensor([[5., 3.],\n        [0., 1.]])");
        /// assert_eq!(q.to_string(), "tensor([[ 0.6000, -0.8000],\n        [ 0.8000,  0.6000]])");
        /// ```
        qr / try_qr(&self, complete: bool) -> (Tensor, Tensor) {
            in_full!(a = self);
            require_matrices("qr", a)?;
            a.qr_factors(complete)
        }

        /// w, in increasing order, and V, whose columns are orthonormal, with A = V diag(w) Vᵀ for symmetric matrices: (…, n, n) →
        /// (…, n) and (…, n, n). The lower triangle is read. Each column's sign is open: a function of V has a meaning only if it does
        /// not depend on them. The gradient through V is not finite where eigenvalues are equal.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[2.0, 1.0], [1.0, 2.0]], &Device::cpu());
        /// let (w, v) = a.eigh();
        /// assert_eq!((&w * 8.0).round().to_string(), "tensor([ 8., 24.])");
        /// assert_eq!((v.square() * 8.0).round().to_string(), "tensor([[4., 4.],\n        [4., 4.]])");
        /// ```
        eigh / try_eigh(&self) -> (Tensor, Tensor) {
            in_full!(a = self);
            require_square("eigh", a)?;
            a.eigh_factors()
        }

        /// The eigenvalues of [`eigh`](Tensor::eigh). Their gradient is finite where they are equal, too.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[2.0, 1.0], [1.0, 2.0]], &Device::cpu());
        /// assert_eq!((a.eigvalsh() * 8.0).round().to_string(), "tensor([ 8., 24.])");
        /// ```
        eigvalsh / try_eigvalsh(&self) -> Tensor {
            in_full!(a = self);
            require_square("eigvalsh", a)?;
            Ok(a.eigh_factors()?.0)
        }

        /// U, s, in decreasing order, and Vᵀ with A = U diag(s) Vᵀ: (…, m, n) → (…, m, k), (…, k), (…, k, n), k = min(m, n); with
        /// `full_matrices` (…, m, m), (…, k), (…, n, n), of which the further vectors have no gradient. The columns of U and V are
        /// orthonormal; the sign of each pair of them is open. The gradient through U and V is not finite where singular values
        /// are equal.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]], &Device::cpu());
        /// let (u, s, vt) = a.svd(false);
        /// assert_eq!(s.to_string(), "tensor([2., 1.])");
        /// assert_eq!((u * s).matmul(&vt).round().abs().to_string(), a.to_string());
        /// ```
        svd / try_svd(&self, full_matrices: bool) -> (Tensor, Tensor, Tensor) {
            in_full!(a = self);
            require_matrices("svd", a)?;
            let (u, s, vt) = thin_svd(a)?;
            match full_matrices {
                false => Ok((u, s, vt)),
                true => Ok((completed(&u)?, s, transposed(&completed(&transposed(&vt)?)?)?)),
            }
        }

        /// The singular values of [`svd`](Tensor::svd). Their gradient is finite where they are equal, too.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[0.0, 2.0], [1.0, 0.0]], &Device::cpu());
        /// assert_eq!(a.svdvals().to_string(), "tensor([2., 1.])");
        /// ```
        svdvals / try_svdvals(&self) -> Tensor {
            in_full!(a = self);
            require_matrices("svdvals", a)?;
            Ok(thin_svd(a)?.1)
        }

        /// The pseudoinverse A⁺ = V diag(1/s) Uᵀ, (…, m, n) → (…, n, m), where 1/s is 0 for singular values up to `rtol` times the
        /// largest: max(m, n) ε unless it is given.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]], &Device::cpu());
        /// assert_eq!((a.pinv(None) * 8.0).round().abs().to_string(), "tensor([[0., 8., 0.],\n        [4., 0., 0.]])");
        /// ```
        pinv / try_pinv(&self, rtol: impl Into<Option<f64>>) -> Tensor {
            let rtol = rtol.into();
            in_full!(a = self);
            require_matrices("pinv", a)?;
            if a.numel() == 0 {
                return Ok(transposed(a)?.zeros_like());
            }
            let (u, s, vt) = thin_svd(a)?;
            let counts = above_zero(a, &s.detach(), rtol)?;
            let inverse = counts.try_where_cond(&counts.try_where_cond(&s, 1.0)?.try_reciprocal()?, 0.0)?;
            transposed(&vt)?.try_mul(&inverse.try_unsqueeze(-2)?)?.try_matmul(&transposed(&u)?)
        }

        /// X that makes ‖A X − B‖ least: A (…, m, n), B (…, m, k), with batches broadcast. A must have full rank; of a wide one, with
        /// m < n, the least X of all.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], &Device::cpu());
        /// let b = Tensor::new([[1.0], [3.0], [5.0]], &Device::cpu()); // 1 + 2 t
        /// assert_eq!((a.lstsq(&b) * 8.0).round().to_string(), "tensor([[ 8.],\n        [16.]])");
        /// ```
        lstsq / try_lstsq(&self, b: &Tensor) -> Tensor {
            const OP: &str = "lstsq";
            in_full!(a = self, b = b);
            require_matrices(OP, a)?;
            require_matrices(OP, b)?;
            require_fit(OP, a, b, "A X = B", a.size(-2) == b.size(-2))?;
            let (a, b) = with_one_batch(OP, a, b)?;
            if a.size(-2) >= a.size(-1) {
                let (q, r) = a.qr_factors(false)?;
                return r.triangular(&transposed(&q)?.try_matmul(&b)?, true, false);
            }
            // Aᵀ = Q R: X = Q R⁻ᵀ B.
            let (q, r) = transposed(&a)?.qr_factors(false)?;
            q.try_matmul(&transposed(&r)?.triangular(&b, false, false)?)
        }

        /// How many singular values of each matrix are above `rtol` times the largest (max(m, n) ε unless it is given): (…, m, n) →
        /// (…), I32.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[1.0, 2.0], [2.0, 4.0]], &Device::cpu());
        /// assert_eq!(a.matrix_rank(None).to_string(), "tensor(1, dtype=i32)");
        /// ```
        matrix_rank / try_matrix_rank(&self, rtol: impl Into<Option<f64>>) -> Tensor {
            let rtol = rtol.into();
            in_full!(a = self);
            require_matrices("matrix_rank", a)?;
            let s = thin_svd(&a.detach())?.1;
            if a.size(-1).min(a.size(-2)) == 0 {
                return s.try_to_dtype(DType::I32)?.try_sum(-1)?.try_to_dtype(DType::I32);
            }
            above_zero(a, &s, rtol)?.try_to_dtype(DType::I32)?.try_sum(-1)?.try_to_dtype(DType::I32)
        }
    }
}
