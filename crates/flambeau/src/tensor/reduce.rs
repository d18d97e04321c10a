//! Reductions: sums, means, extremes and what is made of them.

use super::{Tensor, twins};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::{Meta, Op, Reduce, ReduceKind};
use crate::shape::{Dims, Shape};

impl Tensor {
    /// Reduces dimensions, which stay with size 1.
    #[track_caller]
    pub(crate) fn reduce_keepdim(&self, kind: ReduceKind, dims: &Dims) -> Result<Tensor> {
        let dims = dims.resolve(kind.name(), self.shape())?;
        let mut shape = self.shape().clone();
        for &dim in &dims {
            shape = shape.with(dim, 1);
        }
        if dims.iter().any(|&dim| self.shape()[dim] == 0) && !kind.has_identity() && shape.numel() > 0 {
            let message =
                format!("a dimension of size 0 in {} has no largest or smallest element", self.shape());
            return Err(Error::shape(kind.name(), message));
        }
        if dims.is_empty() && !kind.is_index() {
            return Ok(self.clone());
        }
        let op = Op::Reduce(Reduce { kind, dims: dims.into() });
        Tensor::from_op(op, std::slice::from_ref(self), Meta::new(shape, kind.result(self.dtype())))
    }

    /// Takes out dimensions that a reduction has left with size 1.
    #[track_caller]
    pub(crate) fn without(&self, op: &'static str, dims: &Dims) -> Result<Tensor> {
        let dims = dims.resolve(op, self.shape())?;
        let kept = (0..self.rank()).filter(|dim| !dims.contains(dim));
        self.try_reshape(kept.map(|dim| self.shape()[dim]).collect::<Shape>())
    }

    /// Booleans and bytes are summed as I32.
    #[track_caller]
    fn summable(&self) -> Result<Tensor> {
        match self.dtype() {
            DType::Bool | DType::U8 => self.try_to_dtype(DType::I32),
            _ => Ok(self.clone()),
        }
    }

    twins! {
        /// The sum over `dims` (`..` for all), which are taken out.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// assert_eq!(x.sum(0).to_string(), "tensor([4., 6.])");
        /// assert_eq!(x.sum(..).to_string(), "tensor(10.)");
        /// ```
        sum / try_sum(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.try_sum_keepdim(&dims)?.without("sum", &dims)
        }

        /// The sum over `dims`, which stay with size 1.
        sum_keepdim / try_sum_keepdim(&self, dims: impl Into<Dims>) -> Tensor {
            self.summable()?.reduce_keepdim(ReduceKind::Sum, &dims.into())
        }

        /// The mean over `dims`, which are taken out.
        mean / try_mean(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.try_mean_keepdim(&dims)?.without("mean", &dims)
        }

        /// The mean over `dims`, which stay with size 1.
        mean_keepdim / try_mean_keepdim(&self, dims: impl Into<Dims>) -> Tensor {
            let sum = self.try_to_dtype(self.dtype().to_float())?.try_sum_keepdim(dims)?;
            let count = self.numel() as f64 / sum.numel().max(1) as f64;
            sum.try_mul(1.0 / count)
        }

        /// The product over one dimension, which is taken out.
        prod / try_prod(&self, dim: isize) -> Tensor {
            let dims = Dims::from(dim);
            self.summable()?.reduce_keepdim(ReduceKind::Prod, &dims)?.without("prod", &dims)
        }

        /// The largest value over `dims`, which are taken out. Equal ones share the gradient evenly.
        amax / try_amax(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.reduce_keepdim(ReduceKind::Max, &dims)?.without("amax", &dims)
        }
    }
}
