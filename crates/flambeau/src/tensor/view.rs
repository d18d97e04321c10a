//! Views that rearrange whole dimensions: reshape, permute, expand, repeat and their kin. They move no data; parts of
//! dimensions are `slicing`'s.

use super::{Sizes, Tensor, twins};
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::op::{Meta, Op, View};
use crate::shape::{Dims, Shape, product};
use smallvec::SmallVec;

impl Tensor {
    #[track_caller]
    pub(super) fn viewed(&self, view: View, shape: Shape, data: &[Scalar]) -> Result<Tensor> {
        Tensor::from_op_with(Op::View(view), std::slice::from_ref(self), Meta::new(shape, self.dtype()), data)
    }

    twins! {
        /// The same elements, in the same order, in another shape. One size may be -1: it becomes what is missing.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::arange(0, 6, 1, &Device::cpu());
        /// assert_eq!(x.reshape([2, -1]).to_string(), "tensor([[0, 1, 2],\n        [3, 4, 5]], dtype=i32)");
        /// ```
        reshape / try_reshape(&self, shape: impl Into<Sizes>) -> Tensor {
            let shape = shape.into().filled("reshape", self.numel())?;
            if shape == *self.shape() {
                return Ok(self.clone());
            }
            self.viewed(View::Reshape, shape, &[])
        }

        /// [`reshape`](Tensor::reshape): every reshape is a view here, and never copies.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::zeros([4, 3], &Device::cpu()).view([2, -1]).shape().dims(), [2, 6]);
        /// ```
        view / try_view(&self, shape: impl Into<Sizes>) -> Tensor {
            self.try_reshape(shape)
        }

        /// The dimensions from `start` to `end`, both included, as one.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::zeros([2, 3, 4], &Device::cpu()).flatten(1, -1).shape().dims(), [2, 12]);
        /// ```
        flatten / try_flatten(&self, start: isize, end: isize) -> Tensor {
            if self.rank() == 0 {
                return self.try_reshape([1]);
            }
            let (start, end) = (self.shape().dim("flatten", start)?, self.shape().dim("flatten", end)?);
            if start > end {
                let message = format!("dimension {start} comes after dimension {end} in {}", self.shape());
                return Err(Error::argument("flatten", message));
            }
            let sizes = self.shape().dims();
            let joined = product(&sizes[start..=end]);
            let shape = sizes[..start].iter().copied().chain([joined]).chain(sizes[end + 1..].iter().copied());
            self.try_reshape(shape.collect::<Shape>())
        }

        /// One dimension as several; one of the sizes may be -1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::zeros([2, 12], &Device::cpu()).unflatten(1, [3, -1]).shape().dims(), [2, 3, 4]);
        /// ```
        unflatten / try_unflatten(&self, dim: isize, sizes: impl Into<Sizes>) -> Tensor {
            let dim = self.shape().dim("unflatten", dim)?;
            let parts = sizes.into().filled("unflatten", self.shape()[dim])?;
            let sizes = self.shape().dims();
            let shape = sizes[..dim].iter().chain(parts.iter()).chain(&sizes[dim + 1..]).copied();
            self.try_reshape(shape.collect::<Shape>())
        }

        /// Dimensions in another order: dimension i of the result is dimension `order[i]`.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::zeros([2, 3, 4], &Device::cpu()).permute(&[2, 0, 1]).shape().dims(), [4, 2, 3]);
        /// ```
        permute / try_permute(&self, order: &[isize]) -> Tensor {
            let mut resolved: SmallVec<[usize; 6]> = SmallVec::new();
            for &dim in order {
                resolved.push(self.shape().dim("permute", dim)?);
            }
            let mut sorted = resolved.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..self.rank()) {
                let message = format!("{order:?} does not name each dimension of {} once", self.shape());
                return Err(Error::shape("permute", message));
            }
            if resolved.is_sorted() {
                return Ok(self.clone());
            }
            if let Some(before) = self.before_permutation(&resolved) {
                return Ok(before);
            }
            let shape = resolved.iter().map(|&dim| self.shape()[dim]).collect();
            self.viewed(View::Permute(resolved), shape, &[])
        }

        /// Two dimensions exchanged.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::zeros([2, 3, 4], &Device::cpu()).transpose(0, -1).shape().dims(), [4, 3, 2]);
        /// ```
        transpose / try_transpose(&self, first: isize, second: isize) -> Tensor {
            let (first, second) = (self.shape().dim("transpose", first)?, self.shape().dim("transpose", second)?);
            let mut order: SmallVec<[isize; 6]> = (0..self.rank() as isize).collect();
            order.swap(first, second);
            self.try_permute(&order)
        }

        /// [`transpose`](Tensor::transpose) under NumPy's name.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::zeros([2, 3], &Device::cpu()).swapaxes(0, 1).shape().dims(), [3, 2]);
        /// ```
        swapaxes / try_swapaxes(&self, first: isize, second: isize) -> Tensor {
            self.try_transpose(first, second)
        }

        /// The transpose of a matrix; vectors and numbers stay as they are.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::zeros([2, 3], &Device::cpu()).t().shape().dims(), [3, 2]);
        /// ```
        t / try_t(&self) -> Tensor {
            match self.rank() {
                0 | 1 => Ok(self.clone()),
                2 => self.try_transpose(0, 1),
                _ => Err(Error::shape("t", format!("shape {} has more than two dimensions", self.shape()))),
            }
        }

        /// Dimensions moved to other places; the others keep their order.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::zeros([2, 3, 4], &Device::cpu());
        /// assert_eq!(x.movedim(0, -1).shape().dims(), [3, 4, 2]);
        /// assert_eq!(x.movedim([0, 1], [1, 2]).shape().dims(), [4, 2, 3]);
        /// ```
        movedim / try_movedim(&self, from: impl Into<Dims>, to: impl Into<Dims>) -> Tensor {
            let listed = |dims: Dims| -> Result<Vec<usize>> {
                dims.resolve("movedim", self.shape())?;
                match dims {
                    Dims::All => Ok((0..self.rank()).collect()),
                    Dims::Some(dims) => dims.iter().map(|&dim| self.shape().dim("movedim", dim)).collect(),
                }
            };
            let (from, to) = (listed(from.into())?, listed(to.into())?);
            if from.len() != to.len() {
                let message = format!("{} dimensions cannot move to {} places", from.len(), to.len());
                return Err(Error::argument("movedim", message));
            }
            let mut order = vec![None; self.rank()];
            from.iter().zip(&to).for_each(|(&from, &to)| order[to] = Some(from));
            let mut others = (0..self.rank()).filter(|dim| !from.contains(dim));
            let order = order.into_iter().filter_map(|place| place.or_else(|| others.next()));
            self.try_permute(&order.map(|dim| dim as isize).collect::<Vec<_>>())
        }

        /// Dimensions of size 1 repeated to fill `shape`; new dimensions may be put in front, and -1 keeps a size.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0], [2.0]], &Device::cpu());
        /// assert_eq!(x.expand([-1, 2]).to_string(), "tensor([[1., 1.],\n        [2., 2.]])");
        /// ```
        expand / try_expand(&self, shape: impl Into<Sizes>) -> Tensor {
            self.broadcast_as("expand", &shape.into().over("expand", self.shape())?)
        }

        /// [`expand`](Tensor::expand) under NumPy's name.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0], &Device::cpu()).broadcast_to([3]).to_string(), "tensor([1., 1., 1.])");
        /// ```
        broadcast_to / try_broadcast_to(&self, shape: impl Into<Sizes>) -> Tensor {
            self.broadcast_as("broadcast_to", &shape.into().over("broadcast_to", self.shape())?)
        }

        /// A dimension of size 1 put in at `dim`.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::zeros([2, 3], &Device::cpu()).unsqueeze(-1).shape().dims(), [2, 3, 1]);
        /// ```
        unsqueeze / try_unsqueeze(&self, dim: isize) -> Tensor {
            let shape = self.shape().inserted(self.rank(), 1);
            let dim = shape.dim("unsqueeze", dim)?;
            self.try_reshape(self.shape().inserted(dim, 1))
        }

        /// Dimensions of size 1 taken out: all with `..`, or those named; others stay as they are.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::zeros([1, 3, 1], &Device::cpu());
        /// assert_eq!(x.squeeze(..).shape().dims(), [3]);
        /// assert_eq!(x.squeeze(0).shape().dims(), [3, 1]);
        /// assert_eq!(x.squeeze(1).shape().dims(), [1, 3, 1]);
        /// ```
        squeeze / try_squeeze(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into().resolve("squeeze", self.shape())?;
            let kept = (0..self.rank()).filter(|dim| self.shape()[*dim] != 1 || !dims.contains(dim));
            self.try_reshape(kept.map(|dim| self.shape()[dim]).collect::<Shape>())
        }

        /// The tensor repeated `times[d]` times along every dimension d; further dimensions may come in front.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
        /// assert_eq!(x.repeat([2, 2]).to_string(), "tensor([[1., 2., 1., 2.],\n        [1., 2., 1., 2.]])");
        /// ```
        repeat / try_repeat(&self, times: impl Into<Shape>) -> Tensor {
            let times = times.into();
            let Some(missing) = times.rank().checked_sub(self.rank()) else {
                let message = format!("{times} has fewer dimensions than shape {}", self.shape());
                return Err(Error::shape("repeat", message));
            };
            let size = |d: usize| if d < missing { 1 } else { self.shape()[d - missing] };
            let spread = |copies: bool| {
                (0..times.rank()).flat_map(|d| [if copies { times[d] } else { 1 }, size(d)]).collect::<Shape>()
            };
            let whole = (0..times.rank()).map(|d| product([times[d], size(d)])).collect::<Shape>();
            self.try_reshape(spread(false))?.broadcast_as("repeat", &spread(true))?.try_reshape(whole)
        }

        /// [`repeat`](Tensor::repeat), where missing leading dimensions are repeated once.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::zeros([2, 3], &Device::cpu()).tile(2).shape().dims(), [2, 6]);
        /// ```
        tile / try_tile(&self, times: impl Into<Shape>) -> Tensor {
            let times = times.into();
            let missing = self.rank().saturating_sub(times.rank());
            self.try_repeat(std::iter::repeat_n(1, missing).chain(times.iter().copied()).collect::<Shape>())
        }

        /// Every element `times` times, next to itself, along a dimension.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
        /// assert_eq!(x.repeat_interleave(2, 0).to_string(), "tensor([1., 1., 2., 2.])");
        /// ```
        repeat_interleave / try_repeat_interleave(&self, times: usize, dim: isize) -> Tensor {
            let dim = self.shape().dim("repeat_interleave", dim)?;
            let spread = self.try_reshape(self.shape().inserted(dim + 1, 1))?;
            let spread = spread.broadcast_as("repeat_interleave", &self.shape().inserted(dim + 1, times))?;
            spread.try_reshape(self.shape().with(dim, product([self.shape()[dim], times])))
        }
    }

    /// The tensor itself: kernels read through views, and layout is the planner's business. Here for programs that
    /// come from PyTorch.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
    /// assert_eq!(x.t().contiguous().to_string(), x.t().to_string());
    /// ```
    pub fn contiguous(&self) -> Tensor {
        self.clone()
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
