//! Sorting and what is made of it: the largest k, the k-th smallest, the median, the distinct values.

use super::{Tensor, twins};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::argsort::ArgSort;
use crate::op::{Meta, Op, StructuredOp};

impl Tensor {
    /// Rows for sorting: a tensor without dimensions counts as a row of one, as in PyTorch.
    #[track_caller]
    fn as_rows(&self) -> Result<Tensor> {
        if self.rank() == 0 { self.try_reshape(1) } else { Ok(self.clone()) }
    }

    twins! {
        /// The positions along `dim` of the elements in increasing order, or decreasing, as I32. Equal elements keep
        /// their order; NaN counts as larger than every number.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([3.0, 1.0, 2.0], &Device::cpu());
        /// assert_eq!(x.argsort(0, false).to_string(), "tensor([1, 2, 0], dtype=i32)");
        /// assert_eq!(x.argsort(-1, true).to_string(), "tensor([0, 2, 1], dtype=i32)");
        /// ```
        argsort / try_argsort(&self, dim: isize, descending: bool) -> Tensor {
            let rows = self.as_rows()?;
            let dim = rows.shape().dim("argsort", dim)? as isize;
            let rows = rows.try_transpose(dim, -1)?;
            if i32::try_from(rows.size(-1)).is_err() {
                let message = format!("positions in {} do not fit into i32", self.shape());
                return Err(Error::shape("argsort", message));
            }
            let op = Op::Structured(StructuredOp::ArgSort(ArgSort { descending }));
            let meta = Meta::new(rows.shape(), DType::I32);
            Tensor::from_op(op, &[rows], meta)?.try_transpose(dim, -1)?.try_reshape(self.shape())
        }

        /// The elements along `dim` in increasing order, or decreasing, and the positions they come from. Equal
        /// elements keep their order; NaN counts as larger than every number. The gradient goes back to those
        /// positions.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[3.0, 1.0], [0.0, 2.0]], &Device::cpu());
        /// let (values, indices) = x.sort(1, false);
        /// assert_eq!(values.to_string(), "tensor([[1., 3.],\n        [0., 2.]])");
        /// assert_eq!(indices.to_string(), "tensor([[1, 0],\n        [0, 1]], dtype=i32)");
        /// ```
        sort / try_sort(&self, dim: isize, descending: bool) -> (Tensor, Tensor) {
            let indices = self.try_argsort(dim, descending)?;
            Ok((self.taken(dim, &indices)?, indices))
        }
    }

    /// Gathers along `dim`, also from a tensor without dimensions.
    #[track_caller]
    fn taken(&self, dim: isize, indices: &Tensor) -> Result<Tensor> {
        let values = self.as_rows()?.try_gather(dim, &indices.as_rows()?)?;
        values.try_reshape(indices.shape())
    }
}
