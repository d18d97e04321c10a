//! Padding: more elements around a tensor, or fewer.

use super::{Tensor, twins};
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};

/// What [`pad`](Tensor::pad) puts outside: a number, or elements of the tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PadMode {
    /// A number.
    Constant(Scalar),
    /// The tensor mirrored at its first and last element, which are not repeated.
    Reflect,
    /// The first and last element again and again.
    Replicate,
    /// The tensor again, as on a ring.
    Circular,
}

impl<T: Into<Scalar>> From<T> for PadMode {
    fn from(value: T) -> Self {
        PadMode::Constant(value.into())
    }
}

impl Tensor {
    twins! {
        /// Elements added before and after the last dimension, then the one before it, and so on:
        /// `[left, right, top, bottom, …]`, as PyTorch's `F.pad`. Negative numbers take elements away.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0, 3.0], &Device::cpu());
        /// assert_eq!(x.pad(&[2, 0], 0.0).to_string(), "tensor([0., 0., 1., 2., 3.])");
        /// assert_eq!(x.pad(&[2, -1], PadMode::Reflect).to_string(), "tensor([3., 2., 1., 2.])");
        /// ```
        pad / try_pad(&self, pads: &[isize], mode: impl Into<PadMode>) -> Tensor {
            if !pads.len().is_multiple_of(2) || pads.len() / 2 > self.rank() {
                let message = format!("{pads:?} must be pairs, at most one for every dimension of {}", self.shape());
                return Err(Error::shape("pad", message));
            }
            let mode = mode.into();
            let pairs = || pads.chunks_exact(2).zip((0..self.rank()).rev());
            let crop = |pad: isize| pad.min(0).unsigned_abs();
            for (pair, dim) in pairs() {
                if crop(pair[0]).saturating_add(crop(pair[1])) > self.shape()[dim] {
                    let message = format!("{pair:?} leaves less than nothing of dimension {dim} of {}", self.shape());
                    return Err(Error::shape("pad", message));
                }
            }
            let cropped = |tensor: &Tensor| {
                let mut cropped = tensor.clone();
                for (pair, dim) in pairs() {
                    let kept = tensor.shape()[dim] - crop(pair[0]) - crop(pair[1]);
                    cropped = cropped.try_narrow(dim as isize, crop(pair[0]), kept)?;
                }
                Ok(cropped)
            };
            let added = |pair: &[isize]| (pair[0].max(0) as usize, pair[1].max(0) as usize);
            let PadMode::Constant(value) = mode else {
                let mut padded = self.clone();
                for (pair, dim) in pairs() {
                    let (before, after) = added(pair);
                    padded = padded.padded_by_itself(mode, dim, before, after)?;
                }
                return cropped(&padded);
            };
            let embedded = |mut tensor: Tensor| {
                for (pair, dim) in pairs().filter(|(pair, _)| added(pair) != (0, 0)) {
                    let (before, after) = added(pair);
                    let size = tensor.shape()[dim].saturating_add(before).saturating_add(after);
                    tensor = tensor.embed(dim, size, before as i64, 1)?;
                }
                Ok(tensor)
            };
            let kept = cropped(self)?;
            let inside = Tensor::try_full(kept.shape(), true, (DType::Bool, self.device()))?;
            let padded = embedded(kept)?;
            if value.to_f64() == 0.0 {
                return Ok(padded);
            }
            embedded(inside)?.try_where_cond(&padded, padded.full_like(value))
        }
    }

    /// More elements along one dimension, taken from the tensor itself.
    #[track_caller]
    fn padded_by_itself(&self, mode: PadMode, dim: usize, before: usize, after: usize) -> Result<Tensor> {
        let size = self.shape()[dim];
        let axis = dim as isize;
        let room = match mode {
            PadMode::Reflect => size.saturating_sub(1),
            PadMode::Replicate if size > 0 => usize::MAX,
            PadMode::Circular => size,
            PadMode::Constant(_) | PadMode::Replicate => 0,
        };
        if before > room || after > room {
            let message =
                format!("{before} and {after} elements cannot come from dimension {dim} of {}", self.shape());
            return Err(Error::shape("pad", message));
        }
        let repeated = |index: usize, count: usize| {
            self.try_narrow(axis, index, 1)?.broadcast_as("pad", &self.shape().with(dim, count))
        };
        if (before, after) == (0, 0) {
            return Ok(self.clone());
        }
        let (head, tail) = match mode {
            PadMode::Reflect => (
                self.try_narrow(axis, 1.min(size), before)?.try_flip(axis)?,
                self.try_narrow(axis, (size - 1).saturating_sub(after), after)?.try_flip(axis)?,
            ),
            PadMode::Circular => {
                (self.try_narrow(axis, size - before, before)?, self.try_narrow(axis, 0, after)?)
            }
            PadMode::Constant(_) | PadMode::Replicate => (repeated(0, before)?, repeated(size - 1, after)?),
        };
        let parts = [head, self.clone(), tail].into_iter().filter(|part| part.shape()[dim] > 0);
        Tensor::try_cat(&parts.collect::<Vec<_>>(), axis)
    }
}
