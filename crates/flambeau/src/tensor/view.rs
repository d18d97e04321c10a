//! Views: reshape, permute, expand, slice and their kin. They move no data.

use super::{Tensor, twins};
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::op::{Meta, Op, View};
use crate::shape::{Dims, Shape};

impl Tensor {
    #[track_caller]
    fn viewed(&self, view: View, shape: Shape, data: &[Scalar]) -> Result<Tensor> {
        Tensor::from_op_with(Op::View(view), std::slice::from_ref(self), Meta::new(shape, self.dtype()), data)
    }

    twins! {
        /// The same elements, in the same order, in another shape.
        reshape / try_reshape(&self, shape: impl Into<Shape>) -> Tensor {
            let shape = shape.into();
            if shape.numel() != self.numel() {
                let message = format!("shape {} has {} elements, {shape} has {}", self.shape(), self.numel(), shape.numel());
                return Err(Error::shape("reshape", message));
            }
            if shape == *self.shape() {
                return Ok(self.clone());
            }
            self.viewed(View::Reshape, shape, &[])
        }

        /// Dimensions in another order: dimension i of the result is dimension `order[i]`.
        permute / try_permute(&self, order: &[isize]) -> Tensor {
            let resolved = order.iter().map(|&dim| self.shape().dim("permute", dim)).collect::<Result<Vec<_>>>()?;
            let mut sorted = resolved.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..self.rank()) {
                let message = format!("{order:?} does not name each dimension of {} once", self.shape());
                return Err(Error::shape("permute", message));
            }
            if resolved.is_sorted() {
                return Ok(self.clone());
            }
            let shape = resolved.iter().map(|&dim| self.shape()[dim]).collect();
            self.viewed(View::Permute(resolved.into()), shape, &[])
        }

        /// Two dimensions exchanged.
        transpose / try_transpose(&self, first: isize, second: isize) -> Tensor {
            let (first, second) = (self.shape().dim("transpose", first)?, self.shape().dim("transpose", second)?);
            let mut order: Vec<isize> = (0..self.rank() as isize).collect();
            order.swap(first, second);
            self.try_permute(&order)
        }

        /// Dimensions of size 1 repeated to fill `shape`; new dimensions may be put in front.
        expand / try_expand(&self, shape: impl Into<Shape>) -> Tensor {
            self.broadcast_as("expand", &shape.into())
        }

        /// A dimension of size 1 put in at `dim`.
        unsqueeze / try_unsqueeze(&self, dim: isize) -> Tensor {
            let shape = self.shape().inserted(self.rank(), 1);
            let dim = shape.dim("unsqueeze", dim)?;
            self.try_reshape(self.shape().inserted(dim, 1))
        }

        /// Dimensions of size 1 taken out: all with `..`, or those named (which must have size 1).
        squeeze / try_squeeze(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = match dims.into() {
                Dims::All => (0..self.rank()).filter(|&dim| self.shape()[dim] == 1).collect(),
                named => named.resolve("squeeze", self.shape())?,
            };
            if let Some(&dim) = dims.iter().find(|&&dim| self.shape()[dim] != 1) {
                let message = format!("dimension {dim} of {} does not have size 1", self.shape());
                return Err(Error::shape("squeeze", message));
            }
            let kept = (0..self.rank()).filter(|dim| !dims.contains(dim));
            self.try_reshape(kept.map(|dim| self.shape()[dim]).collect::<Shape>())
        }

        /// `length` elements along a dimension, from `start` on. The start may change from call to call at no cost.
        narrow / try_narrow(&self, dim: isize, start: usize, length: usize) -> Tensor {
            let dim = self.shape().dim("narrow", dim)?;
            if start.checked_add(length).is_none_or(|end| end > self.shape()[dim]) {
                let message = format!("{length} elements from {start} on are outside dimension {dim} of {}", self.shape());
                return Err(Error::shape("narrow", message));
            }
            self.slice_strided(dim, start as i64, 1, length)
        }

        /// One position along a dimension, which is taken out. Negative counts from the back.
        select / try_select(&self, dim: isize, index: isize) -> Tensor {
            let dim = self.shape().dim("select", dim)?;
            let size = self.shape()[dim] as isize;
            if index < -size || index >= size {
                let message = format!("index {index} is out of range for dimension {dim} of {}", self.shape());
                return Err(Error::shape("select", message));
            }
            let narrowed = self.slice_strided(dim, index.rem_euclid(size) as i64, 1, 1)?;
            narrowed.try_reshape(self.shape().removed(dim))
        }

        /// Dimensions in reverse order.
        flip / try_flip(&self, dims: impl Into<Dims>) -> Tensor {
            let mut flipped = self.clone();
            for dim in dims.into().resolve("flip", self.shape())? {
                let size = self.shape()[dim];
                flipped = flipped.slice_strided(dim, size as i64 - 1, -1, size)?;
            }
            Ok(flipped)
        }
    }

    /// `length` elements along `dim`: start, start + step, …; the caller has checked the bounds.
    #[track_caller]
    pub(crate) fn slice_strided(&self, dim: usize, start: i64, step: isize, length: usize) -> Result<Tensor> {
        let shape = self.shape().with(dim, length);
        self.viewed(View::Slice { dim, step }, shape, &[Scalar::Int(start)])
    }

    /// Zeros of size `size` along `dim`, with this tensor at start, start + step, …
    #[track_caller]
    pub(crate) fn embed(&self, dim: usize, size: usize, start: i64, step: usize) -> Result<Tensor> {
        let shape = self.shape().with(dim, size);
        self.viewed(View::Embed { dim, step }, shape, &[Scalar::Int(start)])
    }

    /// This tensor repeated to fill a shape, for `op`.
    #[track_caller]
    pub(crate) fn broadcast_as(&self, op: &'static str, shape: &Shape) -> Result<Tensor> {
        if self.shape() == shape {
            return Ok(self.clone());
        }
        if self.shape().broadcast(shape).as_ref() != Some(shape) {
            return Err(Error::broadcast(op, self.shape(), shape));
        }
        let missing = shape.rank() - self.rank();
        let aligned: Shape = std::iter::repeat_n(1, missing).chain(self.shape().iter().copied()).collect();
        let aligned = self.try_reshape(aligned)?;
        if aligned.shape() == shape {
            return Ok(aligned);
        }
        aligned.viewed(View::Expand, shape.clone(), &[])
    }
}
