//! Systems of equations.

use super::{batch_of, in_full, require_fit, require_matrices, require_square, with_one_batch};
use crate::error::{Error, Result};
use crate::op::linalg::transposed;
use crate::shape::{Shape, product};
use crate::tensor::{Tensor, twins};

/// Refuses operands of a system A X = B that do not fit.
fn require_system(op: &'static str, a: &Tensor, b: &Tensor, left: bool) -> Result<()> {
    require_square(op, a)?;
    require_matrices(op, b)?;
    match left {
        true => require_fit(op, a, b, "A X = B", a.size(-1) == b.size(-2)),
        false => require_fit(op, a, b, "X A = B", a.size(-1) == b.size(-1)),
    }
}

impl Tensor {
    /// X of A X = B by A's LU decomposition, whose matrices must be regular for the op; batches are equal.
    #[track_caller]
    pub(super) fn solve_for(&self, op: &'static str, b: &Tensor) -> Result<Tensor> {
        let (packed, rows) = self.lu_packed(Some(op))?;
        let y = packed.triangular(&b.rows_at(&rows)?, false, true)?;
        packed.triangular(&y, true, false)
    }

    twins! {
        /// X with A X = B: A (…, n, n), B (…, n, k) or vectors (…, n), batches broadcast. B holds vectors where it has one dimension, or
        /// one less than A and otherwise A's sizes. A singular A is an error ([`linalg`](crate::linalg)).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[0.0, 2.0], [1.0, 1.0]], &Device::cpu());
        /// let b = Tensor::new([[2.0, 4.0], [2.0, 0.0]], &Device::cpu());
        /// assert_eq!(a.solve(&b).to_string(), "tensor([[ 1., -2.],\n        [ 1.,  2.]])");
        /// ```
        solve / try_solve(&self, b: &Tensor) -> Tensor {
            const OP: &str = "solve";
            in_full!(a = self, b = b);
            require_square(OP, a)?;
            let is_vector = b.rank() == 1
                || (b.rank() + 1 == a.rank() && b.shape().dims() == &a.shape()[..a.rank() - 1]);
            if is_vector {
                return a.try_solve(&b.try_unsqueeze(-1)?)?.try_squeeze(-1);
            }
            require_system(OP, a, b, true)?;
            let (a, b) = with_one_batch(OP, a, b)?;
            a.solve_for(OP, &b)
        }

        /// X with A · X = B, summed over all dimensions of X: A has the dimensions of B and then those of X, of which there are as many
        /// elements.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = (Tensor::eye(6, &Device::cpu()) * 2.0).reshape([2, 3, 6]);
        /// let x = a.tensorsolve(&Tensor::ones([2, 3], &Device::cpu()));
        /// assert_eq!(x.to_string(), "tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000])");
        /// ```
        tensorsolve / try_tensorsolve(&self, b: &Tensor) -> Tensor {
            let (n, dims) = (b.numel(), self.shape().dims());
            if !dims.starts_with(b.shape().dims()) || self.numel() != n * n {
                let message = format!("{} and {} are no square system", self.shape(), b.shape());
                return Err(Error::shape("tensorsolve", message));
            }
            let x = self.try_reshape([n, n])?.try_solve(&b.try_reshape([n])?)?;
            x.try_reshape(&dims[b.rank()..])
        }

        /// The inverse of the map that the tensor is from its last dimensions to its first `first` ones, of which there are as many
        /// elements: the last dimensions come first.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = (Tensor::eye(6, &Device::cpu()) * 2.0).reshape([6, 2, 3]);
        /// let inverse = a.tensorinv(1);
        /// assert_eq!((inverse.shape().dims(), inverse.sum(..).item_blocking()?), (&[2, 3, 6][..], 3.0));
        /// # Ok::<(), Error>(())
        /// ```
        tensorinv / try_tensorinv(&self, first: usize) -> Tensor {
            let dims = self.shape().dims();
            let (rows, columns) = dims.split_at(first.min(dims.len()));
            let n = product(rows);
            if n != product(columns) {
                let message = format!("{} is not square after {first} dimensions", self.shape());
                return Err(Error::shape("tensorinv", message));
            }
            let dims: Shape = columns.iter().chain(rows).copied().collect();
            self.try_reshape([n, n])?.try_inv()?.try_reshape(dims)
        }

        /// X with T X = B, or X T = B (not `left`), where T is the `upper` or the lower triangle of the matrices (…, n, n), whose
        /// diagonal counts as ones if it is `unitriangular`; batches are broadcast. A zero on the diagonal gives numbers that are
        /// not finite.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let t = Tensor::new([[2.0, 0.0], [1.0, 4.0]], &Device::cpu());
        /// let b = Tensor::new([[2.0], [9.0]], &Device::cpu());
        /// assert_eq!(t.solve_triangular(&b, false, true, false).to_string(), "tensor([[1.],\n        [2.]])");
        /// ```
        solve_triangular / try_solve_triangular(&self, b: &Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor {
            const OP: &str = "solve_triangular";
            in_full!(t = self, b = b);
            require_system(OP, t, b, left)?;
            let (t, b) = with_one_batch(OP, t, b)?;
            if left {
                return t.triangular(&b, upper, unitriangular);
            }
            // Tᵀ Xᵀ = Bᵀ.
            transposed(&transposed(&t)?.triangular(&transposed(&b)?, !upper, unitriangular)?)
        }

        /// X with A X = B from what [`lu_factor`](Tensor::lu_factor) gives of A: the method of L and U in one (…, n, n), with the
        /// order of the rows (…, n) and B (…, n, k). A zero on U's diagonal gives numbers that are not finite.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[0.0, 2.0], [1.0, 1.0]], &Device::cpu());
        /// let (packed, rows) = a.lu_factor();
        /// let b = Tensor::new([[2.0], [2.0]], &Device::cpu());
        /// assert_eq!(packed.lu_solve(&rows, &b).to_string(), "tensor([[1.],\n        [1.]])");
        /// ```
        lu_solve / try_lu_solve(&self, rows: &Tensor, b: &Tensor) -> Tensor {
            const OP: &str = "lu_solve";
            in_full!(packed = self, b = b);
            require_system(OP, packed, b, true)?;
            if rows.shape().dims() != &packed.shape()[..packed.rank() - 1] {
                let message = format!("{} is no order of the rows of {}", rows.shape(), packed.shape());
                return Err(Error::shape(OP, message));
            }
            let (packed, b) = with_one_batch(OP, packed, b)?;
            let batch = batch_of(&packed, 2);
            let whole = batch.iter().copied().chain([packed.size(-1)]).collect();
            let b = b.rows_at(&rows.broadcast_as(OP, &whole)?)?;
            let y = packed.triangular(&b, false, true)?;
            packed.triangular(&y, true, false)
        }
    }
}
