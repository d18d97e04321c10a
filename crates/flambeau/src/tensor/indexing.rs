//! Reading and writing at positions given by tensors.

use super::{Tensor, twins};
use crate::error::{Error, Result};
use crate::op::scatter::{Mode, Scatter};
use crate::op::{Meta, Op, StructuredOp};
use crate::shape::Shape;

impl Tensor {
    /// Checks an index against this tensor: integers, of the same rank, nowhere larger but along `dim`.
    fn check_index(&self, op: &'static str, dim: isize, index: &Tensor) -> Result<usize> {
        let dim = self.shape().dim(op, dim)?;
        if !index.dtype().is_int() {
            return Err(Error::dtype_not_accepted(op, index.dtype(), "an integer dtype for the index"));
        }
        let fits = |shape: &Shape| (0..shape.rank()).all(|d| d == dim || shape[d] <= self.shape()[d]);
        if index.rank() != self.rank() || !fits(index.shape()) {
            let message = format!(
                "an index of shape {} does not fit shape {} along dimension {dim}",
                index.shape(),
                self.shape()
            );
            return Err(Error::shape(op, message));
        }
        Ok(dim)
    }

    #[track_caller]
    fn scattered(&self, mode: Mode, dim: isize, index: &Tensor, values: &Tensor) -> Result<Tensor> {
        let scatter = |dim| Scatter { dim, mode };
        let op = crate::op::Structured::name(&scatter(0));
        let dim = self.check_index(op, dim, index)?;
        if values.shape() != index.shape() {
            let message =
                format!("values of shape {} for an index of shape {}", values.shape(), index.shape());
            return Err(Error::shape(op, message));
        }
        let operands = [self.clone(), index.clone(), values.try_to_dtype(self.dtype())?];
        Tensor::from_op(Op::Structured(StructuredOp::Scatter(scatter(dim))), &operands, self.meta().clone())
    }

    twins! {
        /// out[c] = self[c with c\[dim\] replaced by index[c]], for every coordinate c of the index.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        /// let index = Tensor::new([[0, 0], [1, 0]], &device);
        /// assert_eq!(x.gather(1, &index).to_string(), "tensor([[1., 1.],\n        [4., 3.]])");
        /// ```
        gather / try_gather(&self, dim: isize, index: &Tensor) -> Tensor {
            let dim = self.check_index("gather", dim, index)?;
            let meta = Meta::new(index.shape(), self.dtype());
            Tensor::from_op(Op::Gather { dim }, &[self.clone(), index.clone()], meta)
        }

        /// This tensor with values added at indexed places along `dim`; the adjoint of gather.
        scatter_add / try_scatter_add(&self, dim: isize, index: &Tensor, values: &Tensor) -> Tensor {
            self.scattered(Mode::Add, dim, index, values)
        }

        /// This tensor with values written at indexed places along `dim`.
        scatter / try_scatter(&self, dim: isize, index: &Tensor, values: &Tensor) -> Tensor {
            self.scattered(Mode::Set, dim, index, values)
        }
    }
}
