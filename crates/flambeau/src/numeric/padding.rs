//! Padding in NumPy's ways: before and after each dimension, by any amount, with elements of the tensor or what they amount to.

use super::QuantileMethod;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::tensor::{PadMode, Tensor, twins};

/// What [`pad_dims`](Tensor::pad_dims) puts outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PadWith {
    /// A number.
    Constant(Scalar),
    /// The first and the last element again and again.
    Edge,
    /// The tensor mirrored at its first and last element, which are not repeated; again and again.
    Reflect,
    /// The tensor mirrored at its edges, so that the first and the last element come twice; again and again.
    Symmetric,
    /// The tensor again and again, as on a ring.
    Wrap,
    /// Steps of equal size from the edge to a number at the end.
    LinearRamp(f64),
    /// The largest element along the dimension.
    Maximum,
    /// The smallest element along the dimension.
    Minimum,
    /// The mean along the dimension.
    Mean,
    /// The median along the dimension.
    Median,
}

impl PadWith {
    /// The element that stands at a place, which may lie outside 0..size.
    fn source(self, place: i64, size: i64) -> i64 {
        match self {
            PadWith::Wrap => place.rem_euclid(size),
            PadWith::Symmetric => {
                let at = place.rem_euclid(2 * size);
                at.min(2 * size - 1 - at)
            }
            PadWith::Reflect if size > 1 => {
                let at = place.rem_euclid(2 * size - 2);
                at.min(2 * size - 2 - at)
            }
            _ => place.clamp(0, size - 1),
        }
    }
}

impl Tensor {
    twins! {
        /// With so many elements before and after each dimension, the first dimension first, as NumPy's `pad`. Dimensions are padded one after
        /// the other. ([`pad`](Tensor::pad) is PyTorch's: the last dimension first, and negative numbers crop.)
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::numeric::PadWith;
        /// let x = Tensor::new([1, 2, 3], &Device::cpu());
        /// assert_eq!(x.pad_dims(&[(2, 4)], PadWith::Symmetric).to_string(), "tensor([2, 1, 1, 2, 3, 3, 2, 1, 1], dtype=i32)");
        /// assert_eq!(x.pad_dims(&[(1, 2)], PadWith::Maximum).to_string(), "tensor([3, 1, 2, 3, 3, 3], dtype=i32)");
        /// ```
        pad_dims / try_pad_dims(&self, widths: &[(usize, usize)], with: PadWith) -> Tensor {
            if widths.len() != self.rank() {
                let message = format!("{} widths for the dimensions of {}", widths.len(), self.shape());
                return Err(Error::shape("pad_dims", message));
            }
            let mut padded = self.clone();
            for (dim, &(before, after)) in widths.iter().enumerate().filter(|(_, widths)| **widths != (0, 0)) {
                padded = padded.padded_along(dim, before, after, with)?;
            }
            Ok(padded)
        }
    }

    #[track_caller]
    fn padded_along(&self, dim: usize, before: usize, after: usize, with: PadWith) -> Result<Tensor> {
        let (size, axis) = (self.shape()[dim], dim as isize);
        let whole = size.saturating_add(before).saturating_add(after);
        self.shape().with(dim, whole).check("pad_dims")?;
        if let PadWith::Constant(value) = with {
            let mut pads = vec![0; 2 * (self.rank() - dim)];
            let last = pads.len() - 2;
            (pads[last], pads[last + 1]) = (before as isize, after as isize);
            return self.try_pad(&pads, PadMode::Constant(value));
        }
        if size == 0 {
            let message = format!("dimension {dim} of {} has nothing to be padded with", self.shape());
            return Err(Error::shape("pad_dims", message));
        }
        let repeated =
            |slice: &Tensor, count: usize| slice.broadcast_as("pad_dims", &self.shape().with(dim, count));
        let around = |slice: Tensor| {
            let slice = if self.dtype().is_float() { slice } else { slice.try_round()? }
                .try_to_dtype(self.dtype())?;
            Tensor::try_cat(&[repeated(&slice, before)?, self.clone(), repeated(&slice, after)?], axis)
        };
        match with {
            PadWith::Maximum => around(self.try_amax_keepdim(axis)?),
            PadWith::Minimum => around(self.try_amin_keepdim(axis)?),
            PadWith::Mean => around(self.try_mean_keepdim(axis)?),
            PadWith::Median => {
                around(self.try_quantile(0.5, axis, QuantileMethod::Linear)?.try_unsqueeze(axis)?)
            }
            PadWith::LinearRamp(end) => {
                let ramp = |count: usize, edge: usize, rising: bool| {
                    let dtype = self.dtype().to_float();
                    let edge = self.try_narrow(axis, edge, 1)?.try_to_dtype(dtype)?;
                    // From 0 at the end to (count − 1) / count beside the edge.
                    let way = Tensor::try_arange(0, count as i64, 1, self.device())?.try_to_dtype(dtype)?;
                    let way = way.try_mul(1.0 / count.max(1) as f64)?;
                    let way = if rising { way } else { way.try_flip(0)? };
                    let shape = (dim..self.rank()).map(|d| if d == dim { count } else { 1 });
                    let way = way.try_reshape(shape.collect::<crate::Shape>())?;
                    let ramp = edge.try_sub(end)?.try_mul(&way)?.try_add(end)?;
                    let ramp = if self.dtype().is_float() { ramp } else { ramp.try_trunc()? };
                    ramp.try_to_dtype(self.dtype())
                };
                Tensor::try_cat(&[ramp(before, 0, true)?, self.clone(), ramp(after, size - 1, false)?], axis)
            }
            _ => {
                let source = |place: usize| with.source(place as i64 - before as i64, size as i64) as i32;
                let places: Vec<i32> = (0..whole).map(source).collect();
                self.try_index_select(axis, &Tensor::try_from_slice(&places, whole, self.device())?)
            }
        }
    }
}
