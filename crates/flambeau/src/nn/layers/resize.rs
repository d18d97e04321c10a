//! Layers that change the resolution: upsampling, and pixels exchanged with channels.

use super::text::{float, one_or_tuple};
use crate::error::Result;
use crate::nn::functional::{InterpolateMode, InterpolateOptions, OutputSize};
use crate::nn::{Forward, Module};
use crate::tensor::Tensor;

/// The dimensions after (N, C) resized, to sizes or by factors; see [`Tensor::interpolate`].
///
/// ```
/// use flambeau::{nn::{Upsample, functional::{InterpolateMode, InterpolateOptions}}, prelude::*};
/// let x = Tensor::new([[[0.0, 4.0]]], &Device::cpu());
/// assert_eq!(Upsample::new(2.0).forward(&x).to_string(), "tensor([[[0., 0., 4., 4.]]])");
/// let linear = Upsample::with_options(InterpolateOptions::size(&[4]).with_mode(InterpolateMode::Linear));
/// assert_eq!(linear.forward(&x).to_string(), "tensor([[[0., 1., 3., 4.]]])");
/// ```
#[derive(Module, Debug, Clone)]
#[module(describe = Upsample::describe)]
pub struct Upsample {
    /// Sizes or factors, mode, corners.
    #[module(skip)]
    pub options: InterpolateOptions,
}

impl Upsample {
    /// By a factor, with the nearest value.
    pub fn new(scale_factor: f64) -> Upsample {
        Upsample::with_options(InterpolateOptions::factor(&[scale_factor]))
    }

    /// With all settings.
    pub fn with_options(options: InterpolateOptions) -> Upsample {
        Upsample { options }
    }

    fn describe(&self) -> String {
        let (size, dims) = match &self.options.size {
            OutputSize::Sizes(sizes) => (format!("size={}", one_or_tuple(sizes)), sizes.len()),
            OutputSize::Factors(factors) => {
                let factors: Vec<String> = factors.iter().copied().map(float).collect();
                (format!("scale_factor={}", one_or_tuple(&factors)), factors.len())
            }
        };
        let mode = match (self.options.mode, dims) {
            (InterpolateMode::Nearest, _) => "nearest",
            (InterpolateMode::NearestExact, _) => "nearest-exact",
            (InterpolateMode::Linear, 2) => "bilinear",
            (InterpolateMode::Linear, 3) => "trilinear",
            (InterpolateMode::Linear, _) => "linear",
            (InterpolateMode::Cubic, _) => "bicubic",
            (InterpolateMode::Area, _) => "area",
        };
        format!("{size}, mode='{mode}'")
    }
}

impl Forward for Upsample {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        input.try_interpolate(&self.options)
    }
}

/// (…, C r², H, W) to (…, C, H r, W r): channels become the pixels of r × r blocks.
///
/// ```
/// use flambeau::{nn::PixelShuffle, prelude::*};
/// let x = Tensor::zeros([1, 8, 2, 3], &Device::cpu());
/// assert_eq!(PixelShuffle { upscale_factor: 2 }.forward(&x).shape().dims(), [1, 2, 4, 6]);
/// ```
#[derive(Module, Debug, Clone, Copy, PartialEq, Eq)]
#[module(describe = PixelShuffle::describe)]
pub struct PixelShuffle {
    /// r.
    pub upscale_factor: usize,
}

impl PixelShuffle {
    fn describe(&self) -> String {
        format!("upscale_factor={}", self.upscale_factor)
    }
}

impl Forward for PixelShuffle {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        input.try_pixel_shuffle(self.upscale_factor)
    }
}

/// (…, C, H r, W r) to (…, C r², H, W): the pixels of r × r blocks become channels.
///
/// ```
/// use flambeau::{nn::PixelUnshuffle, prelude::*};
/// let x = Tensor::zeros([1, 2, 4, 6], &Device::cpu());
/// assert_eq!(PixelUnshuffle { downscale_factor: 2 }.forward(&x).shape().dims(), [1, 8, 2, 3]);
/// ```
#[derive(Module, Debug, Clone, Copy, PartialEq, Eq)]
#[module(describe = PixelUnshuffle::describe)]
pub struct PixelUnshuffle {
    /// r.
    pub downscale_factor: usize,
}

impl PixelUnshuffle {
    fn describe(&self) -> String {
        format!("downscale_factor={}", self.downscale_factor)
    }
}

impl Forward for PixelUnshuffle {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        input.try_pixel_unshuffle(self.downscale_factor)
    }
}
