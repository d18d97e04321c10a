//! Exchanging channels for resolution.

use crate::error::{Error, Result};
use crate::shape::product;
use crate::tensor::{Tensor, twins};

impl Tensor {
    twins! {
        /// (…, C r², H, W) to (…, C, H r, W r): channels become the pixels of r × r blocks.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::arange(0, 4, 1, &Device::cpu()).reshape([4, 1, 1]);
        /// assert_eq!(x.pixel_shuffle(2).to_string(), "tensor([[[0, 1],\n         [2, 3]]], dtype=i32)");
        /// ```
        pixel_shuffle / try_pixel_shuffle(&self, factor: usize) -> Tensor {
            let square = product([factor, factor]);
            if self.rank() < 3 || square == 0 || !self.shape()[self.rank() - 3].is_multiple_of(square) {
                let message = format!("shape {} has no channels for blocks of {factor} × {factor}", self.shape());
                return Err(Error::shape("pixel_shuffle", message));
            }
            let (batch, [c, h, w]) = split_image(self);
            let count = product(&batch);
            let blocks = self.try_reshape([count, c / square, factor, factor, h, w])?;
            let blocks = blocks.try_permute(&[0, 1, 4, 2, 5, 3])?;
            blocks.try_reshape([&batch[..], &[c / square, h * factor, w * factor]].concat())
        }

        /// (…, C, H r, W r) to (…, C r², H, W): the pixels of r × r blocks become channels; the inverse of
        /// [`pixel_shuffle`](Tensor::pixel_shuffle).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::zeros([1, 2, 4, 6], &Device::cpu());
        /// assert_eq!(x.pixel_unshuffle(2).shape().dims(), [1, 8, 2, 3]);
        /// ```
        pixel_unshuffle / try_pixel_unshuffle(&self, factor: usize) -> Tensor {
            let divides = |size: usize| factor > 0 && size.is_multiple_of(factor);
            if self.rank() < 3 || !self.shape()[self.rank() - 2..].iter().all(|&size| divides(size)) {
                let message = format!("shape {} does not consist of blocks of {factor} × {factor}", self.shape());
                return Err(Error::shape("pixel_unshuffle", message));
            }
            let (batch, [c, h, w]) = split_image(self);
            let count = product(&batch);
            let blocks = self.try_reshape([count, c, h / factor, factor, w / factor, factor])?;
            let blocks = blocks.try_permute(&[0, 1, 3, 5, 2, 4])?;
            blocks.try_reshape([&batch[..], &[c * factor * factor, h / factor, w / factor]].concat())
        }
    }
}

/// The sizes before (C, H, W), and those.
fn split_image(x: &Tensor) -> (Vec<usize>, [usize; 3]) {
    let at = x.rank() - 3;
    (x.shape()[..at].to_vec(), [x.shape()[at], x.shape()[at + 1], x.shape()[at + 2]])
}
