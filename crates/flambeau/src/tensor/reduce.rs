//! Reductions: sums, products, extremes and where they are. Those named `_keepdim` leave the reduced dimensions with
//! size 1; the others take them out. Variances and norms are in `statistics`.

use super::{Autocast, Tensor, twins};
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

    /// The largest or smallest value; booleans are compared as integers.
    #[track_caller]
    fn extreme_keepdim(&self, kind: ReduceKind, dims: &Dims) -> Result<Tensor> {
        match self.dtype() {
            DType::Bool => {
                self.try_to_dtype(DType::I32)?.reduce_keepdim(kind, dims)?.try_to_dtype(DType::Bool)
            }
            _ => self.reduce_keepdim(kind, dims),
        }
    }

    /// The position of an extreme along one dimension, or with `..` in the tensor as one long row.
    #[track_caller]
    fn position_keepdim(&self, kind: ReduceKind, dims: &Dims) -> Result<Tensor> {
        let numbers = self.summable()?;
        match dims {
            Dims::All => {
                let flat = numbers.try_reshape(self.numel())?.reduce_keepdim(kind, &Dims::from(0))?;
                flat.try_reshape(std::iter::repeat_n(1, self.rank()).collect::<Shape>())
            }
            Dims::Some(dims) if dims.len() > 1 => {
                let message =
                    format!("a position is along one dimension, or all with `..`; {dims:?} were given");
                Err(Error::argument(kind.name(), message))
            }
            one => numbers.reduce_keepdim(kind, one),
        }
    }

    /// Values and positions of an extreme along one dimension.
    #[track_caller]
    fn extreme_with_position(&self, kind: ReduceKind, dim: isize) -> Result<(Tensor, Tensor)> {
        let position = self.position_keepdim(kind, &Dims::from(dim))?;
        Ok((self.try_gather(dim, &position)?, position))
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
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// assert_eq!(x.sum_keepdim(1).to_string(), "tensor([[3.],\n        [7.]])");
        /// ```
        sum_keepdim / try_sum_keepdim(&self, dims: impl Into<Dims>) -> Tensor {
            let entered = Autocast::Full.enter([self])?;
            let [x] = entered.inputs([self]);
            x.summable()?.reduce_keepdim(ReduceKind::Sum, &dims.into())
        }

        /// The mean over `dims`, which are taken out.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 2.0], &Device::cpu()).mean(..).to_string(), "tensor(1.5000)");
        /// ```
        mean / try_mean(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.try_mean_keepdim(&dims)?.without("mean", &dims)
        }

        /// The mean over `dims`, which stay with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0]], &Device::cpu());
        /// assert_eq!(x.mean_keepdim(1).to_string(), "tensor([[1.5000]])");
        /// ```
        mean_keepdim / try_mean_keepdim(&self, dims: impl Into<Dims>) -> Tensor {
            let _entered = Autocast::Widest.enter([self])?;
            // The sum of many f16 is too large for one.
            let (dtype, wide) = match self.dtype().to_float() {
                DType::F16 => (DType::F16, DType::F32),
                dtype => (dtype, dtype),
            };
            let sum = self.try_to_dtype(wide)?.try_sum_keepdim(dims)?;
            let count = self.numel() as f64 / sum.numel().max(1) as f64;
            sum.try_mul(1.0 / count)?.try_to_dtype(dtype)
        }

        /// The product over `dims` (`..` for all), which are taken out.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// assert_eq!(x.prod(1).to_string(), "tensor([ 2., 12.])");
        /// assert_eq!(x.prod(..).to_string(), "tensor(24.)");
        /// ```
        prod / try_prod(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.try_prod_keepdim(&dims)?.without("prod", &dims)
        }

        /// The product over `dims`, which stay with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([2.0, 3.0], &Device::cpu()).prod_keepdim(0).to_string(), "tensor([6.])");
        /// ```
        prod_keepdim / try_prod_keepdim(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into().resolve("prod", self.shape())?;
            let one = |product: Tensor, &dim: &usize| {
                product.reduce_keepdim(ReduceKind::Prod, &Dims::from(dim as isize))
            };
            let entered = Autocast::Full.enter([self])?;
            let [x] = entered.inputs([self]);
            dims.iter().try_fold(x.summable()?, one)
        }

        /// The largest value over `dims`, which are taken out. Equal ones share the gradient evenly.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 4.0], [3.0, 2.0]], &Device::cpu());
        /// assert_eq!(x.amax(0).to_string(), "tensor([3., 4.])");
        /// ```
        amax / try_amax(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.try_amax_keepdim(&dims)?.without("amax", &dims)
        }

        /// The largest value over `dims`, which stay with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 4.0], &Device::cpu()).amax_keepdim(0).to_string(), "tensor([4.])");
        /// ```
        amax_keepdim / try_amax_keepdim(&self, dims: impl Into<Dims>) -> Tensor {
            self.extreme_keepdim(ReduceKind::Max, &dims.into())
        }

        /// The smallest value over `dims`, which are taken out. Equal ones share the gradient evenly.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 4.0], [3.0, 2.0]], &Device::cpu());
        /// assert_eq!(x.amin(0).to_string(), "tensor([1., 2.])");
        /// ```
        amin / try_amin(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.try_amin_keepdim(&dims)?.without("amin", &dims)
        }

        /// The smallest value over `dims`, which stay with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 4.0], &Device::cpu()).amin_keepdim(0).to_string(), "tensor([1.])");
        /// ```
        amin_keepdim / try_amin_keepdim(&self, dims: impl Into<Dims>) -> Tensor {
            self.extreme_keepdim(ReduceKind::Min, &dims.into())
        }

        /// [`amax`](Tensor::amax): `x.max(..)` is PyTorch's `x.max()`. With positions it is
        /// [`max_dim`](Tensor::max_dim).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 4.0], &Device::cpu()).max(..).to_string(), "tensor(4.)");
        /// ```
        max / try_max(&self, dims: impl Into<Dims>) -> Tensor {
            self.try_amax(dims)
        }

        /// [`amin`](Tensor::amin): `x.min(..)` is PyTorch's `x.min()`. With positions it is
        /// [`min_dim`](Tensor::min_dim).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 4.0], &Device::cpu()).min(..).to_string(), "tensor(1.)");
        /// ```
        min / try_min(&self, dims: impl Into<Dims>) -> Tensor {
            self.try_amin(dims)
        }

        /// The largest value along a dimension, which is taken out, and its first position (I32). The gradient goes
        /// to that position alone.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (values, positions) = Tensor::new([[1.0, 4.0], [3.0, 2.0]], &Device::cpu()).max_dim(1);
        /// assert_eq!(values.to_string(), "tensor([4., 3.])");
        /// assert_eq!(positions.to_string(), "tensor([1, 0], dtype=i32)");
        /// ```
        max_dim / try_max_dim(&self, dim: isize) -> (Tensor, Tensor) {
            let (values, positions) = self.try_max_dim_keepdim(dim)?;
            Ok((values.try_squeeze(dim)?, positions.try_squeeze(dim)?))
        }

        /// [`max_dim`](Tensor::max_dim), where the dimension stays with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 4.0], &Device::cpu()).max_dim_keepdim(0).0.to_string(), "tensor([4.])");
        /// ```
        max_dim_keepdim / try_max_dim_keepdim(&self, dim: isize) -> (Tensor, Tensor) {
            self.extreme_with_position(ReduceKind::ArgMax, dim)
        }

        /// The smallest value along a dimension, which is taken out, and its first position (I32). The gradient goes
        /// to that position alone.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (values, positions) = Tensor::new([[1.0, 4.0], [3.0, 2.0]], &Device::cpu()).min_dim(1);
        /// assert_eq!(values.to_string(), "tensor([1., 2.])");
        /// assert_eq!(positions.to_string(), "tensor([0, 1], dtype=i32)");
        /// ```
        min_dim / try_min_dim(&self, dim: isize) -> (Tensor, Tensor) {
            let (values, positions) = self.try_min_dim_keepdim(dim)?;
            Ok((values.try_squeeze(dim)?, positions.try_squeeze(dim)?))
        }

        /// [`min_dim`](Tensor::min_dim), where the dimension stays with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 4.0], &Device::cpu()).min_dim_keepdim(0).0.to_string(), "tensor([1.])");
        /// ```
        min_dim_keepdim / try_min_dim_keepdim(&self, dim: isize) -> (Tensor, Tensor) {
            self.extreme_with_position(ReduceKind::ArgMin, dim)
        }

        /// The first position (I32) of the largest value along a dimension, which is taken out; with `..` the
        /// position in the tensor as one long row.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 4.0], [3.0, 2.0]], &Device::cpu());
        /// assert_eq!(x.argmax(1).to_string(), "tensor([1, 0], dtype=i32)");
        /// assert_eq!(x.argmax(..).to_string(), "tensor(1, dtype=i32)");
        /// ```
        argmax / try_argmax(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.position_keepdim(ReduceKind::ArgMax, &dims)?.without("argmax", &dims)
        }

        /// [`argmax`](Tensor::argmax), where the dimension stays with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 4.0], &Device::cpu()).argmax_keepdim(0).shape().dims(), [1]);
        /// ```
        argmax_keepdim / try_argmax_keepdim(&self, dims: impl Into<Dims>) -> Tensor {
            self.position_keepdim(ReduceKind::ArgMax, &dims.into())
        }

        /// The first position (I32) of the smallest value along a dimension, which is taken out; with `..` the
        /// position in the tensor as one long row.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([3.0, 1.0], &Device::cpu()).argmin(0).to_string(), "tensor(1, dtype=i32)");
        /// ```
        argmin / try_argmin(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.position_keepdim(ReduceKind::ArgMin, &dims)?.without("argmin", &dims)
        }

        /// [`argmin`](Tensor::argmin), where the dimension stays with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([3.0, 1.0], &Device::cpu()).argmin_keepdim(0).shape().dims(), [1]);
        /// ```
        argmin_keepdim / try_argmin_keepdim(&self, dims: impl Into<Dims>) -> Tensor {
            self.position_keepdim(ReduceKind::ArgMin, &dims.into())
        }

        /// How many elements are not zero over `dims`, which are taken out (I32).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.0, 2.0, 3.0], &Device::cpu());
        /// assert_eq!(x.count_nonzero(..).to_string(), "tensor(2, dtype=i32)");
        /// ```
        count_nonzero / try_count_nonzero(&self, dims: impl Into<Dims>) -> Tensor {
            self.try_to_dtype(DType::Bool)?.try_sum(dims)
        }

        /// Are all elements not zero over `dims`, which are taken out? True where there are none.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0], [0.0, 3.0]], &Device::cpu());
        /// assert_eq!(x.all(1).to_string(), "tensor([ True, False])");
        /// ```
        all / try_all(&self, dims: impl Into<Dims>) -> Tensor {
            self.try_eq(0)?.try_sum(dims)?.try_eq(0)
        }

        /// [`all`](Tensor::all), where the dimensions stay with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 0.0], &Device::cpu()).all_keepdim(0).to_string(), "tensor([False])");
        /// ```
        all_keepdim / try_all_keepdim(&self, dims: impl Into<Dims>) -> Tensor {
            self.try_eq(0)?.try_sum_keepdim(dims)?.try_eq(0)
        }

        /// Is some element not zero over `dims`, which are taken out? False where there are none.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[0.0, 0.0], [0.0, 3.0]], &Device::cpu());
        /// assert_eq!(x.any(1).to_string(), "tensor([False,  True])");
        /// ```
        any / try_any(&self, dims: impl Into<Dims>) -> Tensor {
            self.try_count_nonzero(dims)?.try_gt(0)
        }

        /// [`any`](Tensor::any), where the dimensions stay with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 0.0], &Device::cpu()).any_keepdim(0).to_string(), "tensor([True])");
        /// ```
        any_keepdim / try_any_keepdim(&self, dims: impl Into<Dims>) -> Tensor {
            self.try_to_dtype(DType::Bool)?.try_sum_keepdim(dims)?.try_gt(0)
        }
    }
}
