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
            let size = rows.sort_size("argsort", dim)?;
            rows.ranked(dim, descending, 0, size)?.try_reshape(self.shape())
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
            let rows = self.as_rows()?;
            let indices = rows.try_argsort(dim, descending)?;
            let values = rows.try_gather(dim, &indices)?;
            Ok((values.try_reshape(self.shape())?, indices.try_reshape(self.shape())?))
        }

        /// The elements along the first dimension in increasing order.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[3.0, 1.0], [0.0, 2.0]], &Device::cpu());
        /// assert_eq!(x.msort().to_string(), "tensor([[0., 1.],\n        [3., 2.]])");
        /// ```
        msort / try_msort(&self) -> Tensor {
            Ok(self.try_sort(0, false)?.0)
        }

        /// The `k` largest elements along `dim`, or the smallest, and the positions they come from. They come in
        /// order, also when `sorted` does not ask for it; of equal ones the first come first.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 5.0, 3.0, 4.0], &Device::cpu());
        /// let (values, indices) = x.topk(2, -1, true, true);
        /// assert_eq!(values.to_string(), "tensor([5., 4.])");
        /// assert_eq!(indices.to_string(), "tensor([1, 3], dtype=i32)");
        /// ```
        topk / try_topk(&self, k: usize, dim: isize, largest: bool, sorted: bool) -> (Tensor, Tensor) {
            // Any order is right where none is asked for; the sorted one costs nothing more.
            let _ = sorted;
            let rows = self.as_rows()?;
            let size = rows.sort_size("topk", dim)?;
            if k > size {
                let message = format!("{k} elements of dimension {dim} of {}, which has {size}", self.shape());
                return Err(Error::argument("topk", message));
            }
            let indices = rows.ranked(dim, largest, 0, k)?;
            let values = rows.try_gather(dim, &indices)?;
            if self.rank() == 0 && k == 1 {
                return Ok((values.try_reshape(())?, indices.try_reshape(())?));
            }
            Ok((values, indices))
        }

        /// The `k`-th smallest element along `dim` (counted from 1) and its position; the dimension is taken out.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 5.0, 3.0], [9.0, 7.0, 8.0]], &Device::cpu());
        /// let (values, indices) = x.kthvalue(2, 1);
        /// assert_eq!(values.to_string(), "tensor([3., 8.])");
        /// assert_eq!(indices.to_string(), "tensor([2, 2], dtype=i32)");
        /// ```
        kthvalue / try_kthvalue(&self, k: usize, dim: isize) -> (Tensor, Tensor) {
            let size = self.as_rows()?.sort_size("kthvalue", dim)?;
            if k == 0 || k > size {
                let message = format!("element {k} of dimension {dim} of {}, which has {size}", self.shape());
                return Err(Error::argument("kthvalue", message));
            }
            self.picked(dim, &self.as_rows()?.ranked(dim, false, k - 1, 1)?)
        }

        /// The median along `dim` and its position; the dimension is taken out. Of an even number of elements it is the
        /// lower of the two in the middle; where there is a NaN it is NaN.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 5.0, 3.0, 4.0], [9.0, 7.0, 8.0, f64::NAN]], &Device::cpu());
        /// let (values, indices) = x.median(1);
        /// assert_eq!(values.to_string(), "tensor([3., nan])");
        /// assert_eq!(indices.to_string(), "tensor([2, 3], dtype=i32)");
        /// ```
        median / try_median(&self, dim: isize) -> (Tensor, Tensor) {
            let rows = self.as_rows()?;
            let size = rows.sort_size("median", dim)?;
            if size == 0 {
                let message = format!("dimension {dim} of {} has no elements", self.shape());
                return Err(Error::shape("median", message));
            }
            let middle = rows.ranked(dim, false, (size - 1) / 2, 1)?;
            if !rows.dtype().is_float() {
                return self.picked(dim, &middle);
            }
            // The first NaN, where there is one.
            let is_nan = rows.try_isnan()?.try_to_dtype(DType::I32)?;
            let first = is_nan.try_argmax_keepdim(dim)?;
            self.picked(dim, &is_nan.try_amax_keepdim(dim)?.try_gt(0)?.try_where_cond(&first, &middle)?)
        }
    }

    /// The distinct values in increasing order, from a tensor of any shape. Every NaN is distinct.
    ///
    /// The number of values depends on the data, so this reads from the device.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # pollster::block_on(async {
    /// let x = Tensor::new([3, 1, 3, 2, 1], &Device::cpu());
    /// let unique = x.unique().await?;
    /// assert_eq!(unique.values.to_string(), "tensor([1, 2, 3], dtype=i32)");
    /// assert_eq!(unique.inverse.to_string(), "tensor([2, 0, 2, 1, 0], dtype=i32)");
    /// assert_eq!(unique.counts.to_string(), "tensor([2, 1, 2], dtype=i32)");
    /// # Ok::<(), Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn unique(&self) -> Result<Unique> {
        let n = self.numel();
        let flat = self.detach().try_reshape(n)?;
        if n == 0 {
            let none = Tensor::zeros(0, (DType::I32, self.device()));
            return Ok(Unique { values: flat, inverse: none.try_reshape(self.shape())?, counts: none });
        }
        let (sorted, order) = flat.try_sort(0, false)?;
        let place = sorted.iota_of(sorted.shape(), 0)?;
        let int = |condition: &Tensor| condition.try_to_dtype(DType::I32);
        let (has_previous, has_next) = (place.try_gt(0)?, place.full_like(n - 1).try_gt(&place)?);
        let previous = sorted.try_gather(0, &place.try_sub(&int(&has_previous)?)?)?;
        let repeats = sorted.try_eq(&previous)?.try_bitand(&has_previous)?;
        let number = place.try_sub(&int(&repeats)?.try_cumsum(0)?)?;
        super::eval(&[&sorted, &order, &repeats, &number])?;
        let count = number.try_select(0, -1)?.item().await? as usize + 1;
        let is_repeated = repeats.try_gather(0, &place.try_add(&int(&has_next)?)?)?.try_bitand(&has_next)?;
        // A stable sort of flags puts the places where they are not set in front, in order.
        let unset = |flags: &Tensor| flags.try_argsort(0, false)?.try_narrow(0, 0, count);
        let (first, last) = (unset(&repeats)?, unset(&is_repeated)?);
        let counts = last.try_sub(&first)?.try_add(1)?;
        let inverse = number.try_gather(0, &order.try_argsort(0, false)?)?.try_reshape(self.shape())?;
        Ok(Unique { values: sorted.try_gather(0, &first)?, inverse, counts })
    }

    /// The positions along `dim` of the elements that come at `count` ranks from `first` on, in increasing or decreasing order.
    #[track_caller]
    fn ranked(&self, dim: isize, descending: bool, first: usize, count: usize) -> Result<Tensor> {
        let dim = self.shape().dim("argsort", dim)? as isize;
        let rows = self.try_transpose(dim, -1)?;
        if i32::try_from(rows.size(-1)).is_err() {
            let message = format!("positions in {} do not fit into i32", self.shape());
            return Err(Error::shape("argsort", message));
        }
        let mut shape = rows.shape().dims().to_vec();
        *shape.last_mut().expect("rows have a dimension") = count;
        let op = Op::Structured(StructuredOp::ArgSort(ArgSort { descending, first }));
        Tensor::from_op(op, &[rows], Meta::new(shape, DType::I32))?.try_transpose(dim, -1)
    }

    /// The size of the dimension to be sorted.
    fn sort_size(&self, op: &'static str, dim: isize) -> Result<usize> {
        Ok(self.shape()[self.shape().dim(op, dim)?])
    }

    /// The elements at one position per row and those positions; the dimension is taken out.
    #[track_caller]
    fn picked(&self, dim: isize, indices: &Tensor) -> Result<(Tensor, Tensor)> {
        let values = self.as_rows()?.try_gather(dim, indices)?;
        Ok((values.try_squeeze(dim)?, indices.try_squeeze(dim)?))
    }
}

/// What [`Tensor::unique`] finds.
#[derive(Debug, Clone)]
pub struct Unique {
    /// The distinct values, in increasing order.
    pub values: Tensor,
    /// For each element of the tensor, the position of its value in `values` (I32).
    pub inverse: Tensor,
    /// How often each value occurs (I32).
    pub counts: Tensor,
}
