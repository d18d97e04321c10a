//! Products of vectors under NumPy's names, with its rules for batches.

use crate::error::{Error, Result};
use crate::tensor::{Tensor, twins};

impl Tensor {
    /// The last dimensions, which must agree.
    fn same_last(&self, other: &Tensor, op: &'static str) -> Result<()> {
        let last = |x: &Tensor| x.shape().dims().last().copied();
        match last(self).is_some() && last(self) == last(other) {
            true => Ok(()),
            false => {
                let message =
                    format!("shapes {} and {} differ in their last dimension", self.shape(), other.shape());
                Err(Error::shape(op, message))
            }
        }
    }

    twins! {
        /// Sums of products over the last dimensions of both: (…a, N) and (…b, N) → (…a, …b).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// assert_eq!(x.inner(&Tensor::new([1.0, 1.0], &Device::cpu())).to_string(), "tensor([3., 7.])");
        /// ```
        inner / try_inner(&self, other: &Tensor) -> Tensor {
            if self.rank() == 0 || other.rank() == 0 {
                return self.try_mul(other);
            }
            self.same_last(other, "inner")?;
            self.try_tensordot(other, ([-1], [-1]))
        }

        /// The sum of all products of two tensors of as many elements, as one long row each.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// assert_eq!(x.vdot(&x).to_string(), "tensor(30.)");
        /// ```
        vdot / try_vdot(&self, other: &Tensor) -> Tensor {
            self.try_reshape(self.numel())?.try_dot(&other.try_reshape(other.numel())?)
        }

        /// Sums of products along a dimension, the others broadcast.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// assert_eq!(x.vecdot(&x, -1).to_string(), "tensor([ 5., 25.])");
        /// ```
        vecdot / try_vecdot(&self, other: &Tensor, dim: isize) -> Tensor {
            if self.rank() == 0 || other.rank() == 0 {
                return Err(Error::shape("vecdot", format!("shapes {} and {} have no dimension", self.shape(), other.shape())));
            }
            self.try_mul(other)?.try_sum(dim)
        }

        /// Products of matrices with vectors: (…, M, N) and (…, N) → (…, M), the dimensions before broadcast.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (m, v) = (Tensor::new([[0.0, 1.0], [2.0, 0.0]], &Device::cpu()), Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu()));
        /// assert_eq!(m.matvec(&v).to_string(), "tensor([[2., 2.],\n        [4., 6.]])");
        /// ```
        matvec / try_matvec(&self, vectors: &Tensor) -> Tensor {
            self.try_matmul(&vectors.try_unsqueeze(-1)?)?.try_squeeze(-1)
        }

        /// Products of vectors with matrices: (…, N) and (…, N, M) → (…, M), the dimensions before broadcast.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (v, m) = (Tensor::new([1.0, 2.0], &Device::cpu()), Tensor::new([[0.0, 1.0], [2.0, 0.0]], &Device::cpu()));
        /// assert_eq!(v.vecmat(&m).to_string(), "tensor([4., 1.])");
        /// ```
        vecmat / try_vecmat(&self, matrices: &Tensor) -> Tensor {
            self.try_unsqueeze(-2)?.try_matmul(matrices)?.try_squeeze(-2)
        }
    }
}
