//! Matrix products in all of PyTorch's rank combinations.

use super::{Tensor, twins};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::matmul::MatMul;
use crate::op::{Meta, Op, StructuredOp};
use crate::shape::Shape;

impl Tensor {
    /// The batched matrix product of operands whose batch dimensions are equal already.
    #[track_caller]
    pub(crate) fn product(&self, other: &Tensor) -> Result<Tensor> {
        let rank = self.rank();
        let shape = self.shape().with(rank - 1, other.shape()[rank - 1]);
        let operands = [self.clone(), other.clone()];
        Tensor::from_op(
            Op::Structured(StructuredOp::MatMul(MatMul)),
            &operands,
            Meta::new(shape, self.dtype()),
        )
    }

    twins! {
        /// The matrix product. Vectors count as a row (left) or a column (right), which is taken out again; leading
        /// dimensions are batches and are broadcast.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// let b = Tensor::new([1.0, 1.0], &Device::cpu());
        /// assert_eq!(a.matmul(&b).to_string(), "tensor([3., 7.])");
        /// ```
        matmul / try_matmul(&self, other: &Tensor) -> Tensor {
            let mismatch = || {
                let message = format!("shapes {} and {} cannot be multiplied", self.shape(), other.shape());
                Error::shape("matmul", message)
            };
            if self.rank() == 0 || other.rank() == 0 {
                return Err(mismatch());
            }
            let dtype = match self.dtype().promote(other.dtype()) {
                DType::Bool => return Err(Error::dtype_not_accepted("matmul", DType::Bool, "a number dtype")),
                dtype => dtype,
            };
            let a = if self.rank() == 1 { self.try_unsqueeze(0)? } else { self.clone() };
            let b = if other.rank() == 1 { other.try_unsqueeze(1)? } else { other.clone() };
            let (m, k) = (a.size(-2), a.size(-1));
            let n = b.size(-1);
            if b.size(-2) != k {
                return Err(mismatch());
            }
            let batch = |shape: &Shape| Shape::new(&shape[..shape.rank() - 2]);
            let batches = batch(a.shape()).broadcast(&batch(b.shape())).ok_or_else(mismatch)?;
            let full = |rows: usize, columns: usize| batches.iter().copied().chain([rows, columns]).collect::<Shape>();
            let a = a.try_to_dtype(dtype)?.broadcast_as("matmul", &full(m, k))?;
            let b = b.try_to_dtype(dtype)?.broadcast_as("matmul", &full(k, n))?;
            let mut product = a.product(&b)?;
            if other.rank() == 1 {
                product = product.try_squeeze(-1)?;
            }
            if self.rank() == 1 {
                product = product.try_squeeze(if other.rank() == 1 { -1 } else { -2 })?;
            }
            Ok(product)
        }
    }
}
