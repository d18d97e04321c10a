//! Running maxima, minima and log-sums along a dimension, by doubling: after k passes every element has taken in the 2ᵏ before
//! it. And what is most frequent, which is found from the runs of what was sorted.

use super::{Tensor, twins};
use crate::dtype::DType;
use crate::error::{Error, Result};

impl Tensor {
    /// The elements `distance` before each one along `dim`, and `outside` where there is none.
    #[track_caller]
    fn delayed(&self, dim: usize, distance: usize, outside: &Tensor) -> Result<Tensor> {
        let kept = self.try_narrow(dim as isize, 0, self.shape()[dim] - distance)?;
        let filler = outside.try_expand(self.shape().with(dim, distance))?;
        Tensor::try_cat(&[filler, kept], dim as isize)
    }

    /// The position of the extreme element so far, the last one of equals; a NaN is the extreme.
    #[track_caller]
    fn extreme_so_far(&self, op: &'static str, dim: isize, largest: bool) -> Result<(Tensor, Tensor)> {
        if self.rank() == 0 {
            let (values, positions) = self.try_reshape(1)?.extreme_so_far(op, dim, largest)?;
            return Ok((values.try_reshape(())?, positions.try_reshape(())?));
        }
        let dim = self.shape().dim(op, dim)?;
        let size = self.shape()[dim];
        let mut best = self.detach();
        let mut places =
            Tensor::try_arange(0, size as i64, 1, (DType::I32, self.device()))?.along(dim, self.shape())?;
        let none = Tensor::try_full((), -1, (DType::I32, self.device()))?;
        let mut distance = 1;
        while distance < size {
            let earlier = best.delayed(dim, distance, &best.full_of(&().into(), 0)?)?;
            let earlier_places = places.delayed(dim, distance, &none)?;
            let ahead = if largest { earlier.try_gt(&best)? } else { earlier.try_lt(&best)? };
            let wins = match best.dtype().is_float() {
                true => ahead
                    .try_logical_or(&earlier.try_isnan()?)?
                    .try_logical_and(&best.try_isnan()?.try_logical_not()?)?,
                false => ahead,
            };
            let wins = wins.try_logical_and(&earlier_places.try_ge(0)?)?;
            best = wins.try_where_cond(&earlier, &best)?;
            places = wins.try_where_cond(&earlier_places, &places)?;
            distance *= 2;
        }
        Ok((self.try_gather(dim as isize, &places)?, places))
    }

    twins! {
        /// The largest element so far along a dimension, and its position (I32); of equal ones the last.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (largest, at) = Tensor::new([1.0, 3.0, 2.0, 3.0], &Device::cpu()).cummax(0);
        /// assert_eq!(largest.to_string(), "tensor([1., 3., 3., 3.])");
        /// assert_eq!(at.to_string(), "tensor([0, 1, 1, 3], dtype=i32)");
        /// ```
        cummax / try_cummax(&self, dim: isize) -> (Tensor, Tensor) {
            self.extreme_so_far("cummax", dim, true)
        }

        /// The smallest element so far along a dimension, and its position (I32); of equal ones the last.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (smallest, _) = Tensor::new([2.0, 3.0, 1.0], &Device::cpu()).cummin(0);
        /// assert_eq!(smallest.to_string(), "tensor([2., 2., 1.])");
        /// ```
        cummin / try_cummin(&self, dim: isize) -> (Tensor, Tensor) {
            self.extreme_so_far("cummin", dim, false)
        }

        /// log(e^x₀ + … + e^xₖ) along a dimension, without overflow.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.0, 0.0, 1000.0], &Device::cpu());
        /// assert_eq!(x.logcumsumexp(0).to_string(), "tensor([0.0000e+00, 6.9315e-01, 1.0000e+03])");
        /// ```
        logcumsumexp / try_logcumsumexp(&self, dim: isize) -> Tensor {
            if self.rank() == 0 {
                return Ok(self.clone());
            }
            let dim = self.shape().dim("logcumsumexp", dim)?;
            let mut sums = self.try_to_dtype(self.dtype().to_float())?;
            let nothing = sums.detach().full_of(&().into(), f64::NEG_INFINITY)?;
            let mut distance = 1;
            while distance < self.shape()[dim] {
                let earlier = sums.delayed(dim, distance, &nothing)?;
                sums = sums.try_logaddexp(&earlier)?;
                distance *= 2;
            }
            Ok(sums)
        }

        /// The most frequent value along a dimension, the smallest of several, and the position (I32) of its last occurrence.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (value, at) = Tensor::new([5.0, 1.0, 2.0, 1.0], &Device::cpu()).mode(0);
        /// assert_eq!((value.item_blocking()?, at.item_blocking()?), (1.0, 3.0));
        /// # Ok::<(), Error>(())
        /// ```
        mode / try_mode(&self, dim: isize) -> (Tensor, Tensor) {
            if self.rank() == 0 {
                return Ok((self.clone(), Tensor::try_full((), 0, (DType::I32, self.device()))?));
            }
            let dim = self.shape().dim("mode", dim)?;
            if self.shape()[dim] == 0 {
                return Err(Error::shape("mode", format!("dimension {dim} of {} has no elements", self.shape())));
            }
            let (sorted, order) = self.detach().try_sort(dim as isize, false)?;
            let places = order.zeros_like().try_add(
                Tensor::try_arange(0, self.shape()[dim] as i64, 1, (DType::I32, self.device()))?.along(dim, self.shape())?,
            )?;
            // Where each run of equals begins, and how many of it there were so far.
            let previous = sorted.delayed(dim, 1, &sorted.full_of(&().into(), 0)?)?;
            let begins = sorted.try_ne(&previous)?.try_logical_or(&places.try_eq(0)?)?;
            let start = begins.try_where_cond(&places, 0)?.try_cummax(dim as isize)?.0;
            let longest = places.try_sub(&start)?.try_argmax_keepdim(dim as isize)?;
            let at = order.try_gather(dim as isize, &longest)?;
            Ok((self.try_gather(dim as isize, &at)?.try_squeeze(dim as isize)?, at.try_squeeze(dim as isize)?))
        }
    }
}
