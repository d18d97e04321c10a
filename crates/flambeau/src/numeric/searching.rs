//! Finding and choosing elements: in sorted vectors, by conditions, by positions.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::elementwise::Operand;
use crate::op::searchsorted::SearchSorted;
use crate::op::structured::Apart;
use crate::op::{Meta, Op, StructuredOp};
use crate::settings::words;
use crate::shape::Shape;
use crate::tensor::{Tensor, twins};
use std::borrow::Borrow;

/// What an index outside a dimension means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexMode {
    /// An error when the result is computed; negative ones count from the back.
    #[default]
    Raise,
    /// It goes on at the other end.
    Wrap,
    /// The nearest end.
    Clip,
}

words!(IndexMode { "raise" => Raise, "wrap" => Wrap, "clip" => Clip });

impl IndexMode {
    /// Indexes into a dimension of this size.
    #[track_caller]
    fn applied(self, index: &Tensor, size: usize, op: &'static str) -> Result<Tensor> {
        if !index.dtype().is_int() {
            return Err(Error::dtype_not_accepted(op, index.dtype(), "an integer dtype for the index"));
        }
        let size = size as i64;
        match self {
            IndexMode::Raise if matches!(index.dtype(), DType::U8 | DType::U32) => Ok(index.clone()),
            IndexMode::Raise => index.try_lt(0)?.try_where_cond(index.try_add(size)?, index),
            IndexMode::Wrap => index.try_remainder(size),
            IndexMode::Clip => index.try_clamp(0, size - 1),
        }
    }
}

impl Tensor {
    twins! {
        /// Where values would have to be put into this sorted vector so that it stays sorted (I32): before equal elements, or after
        /// them if `right`. Of sorted rows (…, N), values (…, M) are sought in their own row.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let sorted = Tensor::new([1.0, 3.0, 3.0, 5.0], &device);
        /// let values = Tensor::new([0.0, 3.0, 9.0], &device);
        /// assert_eq!(sorted.searchsorted(&values, false).to_string(), "tensor([0, 1, 4], dtype=i32)");
        /// assert_eq!(sorted.searchsorted(&values, true).to_string(), "tensor([0, 3, 4], dtype=i32)");
        /// ```
        searchsorted / try_searchsorted(&self, values: &Tensor, right: bool) -> Tensor {
            let leads = |x: &Tensor| x.shape().dims().split_last().map(|(_, leads)| Shape::new(leads));
            if self.rank() == 0 || (self.rank() > 1 && leads(self) != leads(values)) {
                let message = format!("values of shape {} in sorted rows of shape {}", values.shape(), self.shape());
                return Err(Error::shape("searchsorted", message));
            }
            let dtype = self.dtype().promote(values.dtype());
            let sought = if self.rank() == 1 { values.try_reshape(values.numel())? } else { values.clone() };
            let op = Op::Structured(StructuredOp::SearchSorted(Apart::new(SearchSorted { right })));
            let meta = Meta::new(sought.shape(), DType::I32);
            let inputs = [self.detach().try_to_dtype(dtype)?, sought.detach().try_to_dtype(dtype)?];
            Tensor::from_op(op, &inputs, meta)?.try_reshape(values.shape())
        }

        /// The number (I32) of the bin each element lies in; `bins` is an increasing vector of edges. Element x is in bin i if
        /// bins\[i − 1\] ≤ x < bins\[i\], or, if `right`, bins\[i − 1\] < x ≤ bins\[i\].
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let bins = Tensor::new([0.0, 1.0, 2.5], &Device::cpu());
        /// assert_eq!(Tensor::new([0.2, 6.4, 1.0], &Device::cpu()).digitize(&bins, false).to_string(), "tensor([1, 3, 2], dtype=i32)");
        /// ```
        digitize / try_digitize(&self, bins: &Tensor, right: bool) -> Tensor {
            if bins.rank() != 1 {
                return Err(Error::shape("digitize", format!("bins of shape {} are not a vector", bins.shape())));
            }
            bins.try_searchsorted(self, !right)
        }

        /// The order (I32) of columns sorted by the last key, where that is equal by the one before it, and so on.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (first, last) = (Tensor::new([1, 0, 3], &Device::cpu()), Tensor::new([2, 2, 1], &Device::cpu()));
        /// assert_eq!(Tensor::lexsort(&[first, last]).to_string(), "tensor([2, 1, 0], dtype=i32)");
        /// ```
        lexsort / try_lexsort[T: Borrow<Tensor>](keys: &[T]) -> Tensor {
            let mut order: Option<Tensor> = None;
            for key in keys.iter().map(Borrow::borrow) {
                order = Some(match order {
                    None => key.try_argsort(-1, false)?,
                    Some(order) => {
                        if key.shape() != order.shape() {
                            let message = format!("keys of shapes {} and {}", order.shape(), key.shape());
                            return Err(Error::shape("lexsort", message));
                        }
                        order.try_gather(-1, &key.try_gather(-1, &order)?.try_argsort(-1, false)?)?
                    }
                });
            }
            order.ok_or_else(|| Error::argument("lexsort", "at least one key is needed"))
        }

        /// The elements at these positions of the tensor as one long row; the shape is the index's.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::numeric::IndexMode;
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// let index = Tensor::new([0, -1, 2], &Device::cpu());
        /// assert_eq!(x.take(&index, IndexMode::Raise).to_string(), "tensor([1., 4., 3.])");
        /// ```
        take / try_take(&self, index: &Tensor, mode: IndexMode) -> Tensor {
            let places = mode.applied(index, self.numel(), "take")?.try_reshape(index.numel())?;
            self.try_reshape(self.numel())?.try_gather(0, &places)?.try_reshape(index.shape())
        }

        /// The slices along `dim` at these positions; the index's dimensions take the place of `dim`.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::numeric::IndexMode;
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// let index = Tensor::new([[3, 0]], &Device::cpu());
        /// assert_eq!(x.take_slices(&index, 1, IndexMode::Clip).shape().dims(), [2, 1, 2]);
        /// ```
        take_slices / try_take_slices(&self, index: &Tensor, dim: isize, mode: IndexMode) -> Tensor {
            let axis = self.shape().dim("take_slices", dim)?;
            let places = mode.applied(index, self.shape()[axis], "take_slices")?.try_reshape(index.numel())?;
            let (before, after) = (&self.shape()[..axis], &self.shape()[axis + 1..]);
            let shape: Shape = before.iter().chain(index.shape().iter()).chain(after).copied().collect();
            self.try_index_select(dim, &places)?.try_reshape(shape)
        }

        /// This tensor with values written at these positions of it as one long row. Fewer values than positions are repeated; where a
        /// position comes twice the last value stays.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::numeric::IndexMode;
        /// let (x, index) = (Tensor::arange(0, 5, 1, &Device::cpu()), Tensor::new([0, 2], &Device::cpu()));
        /// let values = Tensor::new([-44, -55], &Device::cpu());
        /// assert_eq!(x.put(&index, &values, IndexMode::Raise).to_string(), "tensor([-44,   1, -55,   3,   4], dtype=i32)");
        /// ```
        put / try_put(&self, index: &Tensor, values: &Tensor, mode: IndexMode) -> Tensor {
            let places = mode.applied(index, self.numel(), "put")?.try_reshape(index.numel())?;
            let values = values.repeated_to("put", index.numel())?;
            self.try_reshape(self.numel())?.try_scatter(0, &places, &values)?.try_reshape(self.shape())
        }

        /// This tensor with values written along `dim` at the positions of an index; index and values are broadcast to this shape along
        /// the other dimensions.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[10.0, 30.0, 20.0], [60.0, 40.0, 50.0]], &Device::cpu());
        /// let largest = x.argmax_keepdim(1);
        /// assert_eq!(x.put_along_dim(&largest, 99.0, 1).to_string(), "tensor([[10., 99., 20.],\n        [99., 40., 50.]])");
        /// ```
        put_along_dim / try_put_along_dim(&self, index: &Tensor, values: impl Into<Operand>, dim: isize) -> Tensor {
            let axis = self.shape().dim("put_along_dim", dim)?;
            if index.rank() != self.rank() {
                let message = format!("shapes {} and {} differ in rank", self.shape(), index.shape());
                return Err(Error::shape("put_along_dim", message));
            }
            let shape = self.shape().with(axis, index.shape()[axis]);
            let index = index.broadcast_as("put_along_dim", &shape)?;
            let values = match values.into() {
                Operand::Scalar(value) => self.full_of(&shape, value)?,
                Operand::Tensor(values) => values.try_to_dtype(self.dtype())?.broadcast_as("put_along_dim", &shape)?,
            };
            self.try_scatter(dim, &index, &values)
        }

        /// This tensor where a mask is false; where it is true, the source's elements, one after the other. A source that is too short
        /// begins again.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1, 2, 3, 4, 5], &Device::cpu());
        /// let source = Tensor::new([-1, -2], &Device::cpu());
        /// assert_eq!(x.masked_scatter(&x.gt(2), &source).to_string(), "tensor([ 1,  2, -1, -2, -1], dtype=i32)");
        /// ```
        masked_scatter / try_masked_scatter(&self, mask: &Tensor, source: &Tensor) -> Tensor {
            if mask.dtype() != DType::Bool || source.numel() == 0 {
                let message = format!("a mask of dtype {} and a source of shape {}", mask.dtype(), source.shape());
                return Err(Error::argument("masked_scatter", message));
            }
            let flat = mask.broadcast_as("masked_scatter", self.shape())?.try_reshape(self.numel())?;
            let number = flat.try_cumsum(0)?.try_sub(1)?.try_clamp_min(0)?.try_remainder(source.numel() as i64)?;
            let source = source.try_reshape(source.numel())?.try_to_dtype(self.dtype())?;
            let taken = source.try_gather(0, &number)?;
            flat.try_where_cond(taken, self.try_reshape(self.numel())?)?.try_reshape(self.shape())
        }

        /// For every element the number of a choice: that choice's element there. All are broadcast together.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::numeric::IndexMode;
        /// let (device, index) = (Device::cpu(), Tensor::new([1, 0, 1], &Device::cpu()));
        /// let choices = [Tensor::new([1, 2, 3], &device), Tensor::new([10, 20, 30], &device)];
        /// assert_eq!(index.choose(&choices, IndexMode::Raise).to_string(), "tensor([10,  2, 30], dtype=i32)");
        /// ```
        choose / try_choose[T: Borrow<Tensor>](&self, choices: &[T], mode: IndexMode) -> Tensor {
            if choices.is_empty() {
                return Err(Error::argument("choose", "at least one choice is needed"));
            }
            let mut shape = self.shape().clone();
            for choice in choices.iter().map(Borrow::borrow) {
                let both = shape.broadcast(choice.shape());
                shape = both.ok_or_else(|| Error::broadcast("choose", &shape, choice.shape()))?;
            }
            let whole = |choice: &T| choice.borrow().broadcast_as("choose", &shape);
            let stacked = Tensor::try_stack(&choices.iter().map(whole).collect::<Result<Vec<_>>>()?, 0)?;
            let index = mode.applied(self, choices.len(), "choose")?.broadcast_as("choose", &shape)?;
            stacked.try_gather(0, &index.try_unsqueeze(0)?)?.try_squeeze(0)
        }

        /// At every place the choice of the first condition that is true there, or `default`. With functions of one tensor as choices it is
        /// NumPy's `piecewise`.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::arange(0, 6, 1, &Device::cpu());
        /// let y = Tensor::select_by(&[x.lt(3), x.gt(3)], &[-&x, &x * &x], 42);
        /// assert_eq!(y.to_string(), "tensor([ 0, -1, -2, 42, 16, 25], dtype=i32)");
        /// ```
        select_by / try_select_by[T: Borrow<Tensor>](conditions: &[T], choices: &[T], default: impl Into<Operand>) -> Tensor {
            let Some(first) = choices.first().filter(|_| choices.len() == conditions.len()) else {
                let message = format!("{} conditions for {} choices", conditions.len(), choices.len());
                return Err(Error::argument("select_by", message));
            };
            let mut result = default.into().beside(first.borrow());
            for (condition, choice) in conditions.iter().zip(choices).rev() {
                result = condition.borrow().try_where_cond(choice.borrow(), &result)?;
            }
            Ok(result)
        }
    }

    /// The elements as one long row, as often as it takes to have this many.
    #[track_caller]
    pub(super) fn repeated_to(&self, op: &'static str, count: usize) -> Result<Tensor> {
        let have = self.numel();
        if have == 0 && count > 0 {
            return Err(Error::shape(op, format!("no values for {count} positions")));
        }
        self.try_reshape(have)?.try_repeat(count.div_ceil(have.max(1)))?.try_narrow(0, 0, count)
    }

    /// The positions (I32) of the elements that are not zero, in the tensor as one long row. How many there are depends on the data,
    /// so this waits for it.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let x = Tensor::new([[0.0, 5.0], [7.0, 0.0]], &Device::cpu());
    /// assert_eq!(x.flatnonzero().await?.to_string(), "tensor([1, 2], dtype=i32)");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn flatnonzero(&self) -> Result<Tensor> {
        self.try_reshape(self.numel())?.nonzero().await?.try_squeeze(1)
    }

    /// The slices along `dim` where a vector of conditions is not zero. How many there are depends on the data, so this waits for it.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
    /// let second = Tensor::new([false, true], &Device::cpu());
    /// assert_eq!(x.compress(&second, 0).await?.to_string(), "tensor([[3., 4.]])");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn compress(&self, condition: &Tensor, dim: isize) -> Result<Tensor> {
        self.try_index_select(dim, &condition.flatnonzero().await?)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Tensor {
    /// [`flatnonzero`](Tensor::flatnonzero), blocking.
    pub fn flatnonzero_blocking(&self) -> Result<Tensor> {
        pollster::block_on(self.flatnonzero())
    }

    /// [`compress`](Tensor::compress), blocking.
    pub fn compress_blocking(&self, condition: &Tensor, dim: isize) -> Result<Tensor> {
        pollster::block_on(self.compress(condition, dim))
    }
}
