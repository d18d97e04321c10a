//! Brightness, contrast, saturation, and normalisation.

use super::{Augment, draw, each, pictures};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::rng::Generator;
use crate::tensor::Tensor;

/// x · factor + other · (1 − factor), kept from 0 to 1.
#[track_caller]
fn blend(op: &'static str, x: &Tensor, other: &Tensor, factor: &Tensor) -> Result<Tensor> {
    let factor = each(op, x, factor)?;
    let mixed = x.try_mul(&factor)?.try_add(&other.try_mul(&factor.try_rsub(1.0)?)?)?;
    mixed.try_clamp(0.0, 1.0)
}

/// Grey values (N, 1, H, W): 0.2989 red + 0.587 green + 0.114 blue; pictures of one channel are grey already.
#[track_caller]
fn grey(op: &'static str, x: &Tensor) -> Result<Tensor> {
    match pictures(op, x)?[1] {
        1 => Ok(x.clone()),
        3 => {
            let part = |channel: usize, weight: f64| x.try_narrow(1, channel, 1)?.try_mul(weight);
            part(0, 0.2989)?.try_add(&part(1, 0.587)?)?.try_add(&part(2, 0.114)?)
        }
        channels => {
            let message = format!("pictures of 1 or 3 channels were expected, not of {channels}");
            Err(Error::shape(op, message))
        }
    }
}

/// Pictures with values from 0 to 1 times a factor each (shape (N,)), kept in that range.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::brightness;
/// let device = Device::cpu();
/// let x = Tensor::new([[[[0.2, 0.8]]]], &device);
/// let brighter = brightness(&x, &Tensor::new([2.0], &device))?;
/// assert_eq!(brighter.flatten(0, -1).to_string(), "tensor([0.4000, 1.0000])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn brightness(x: &Tensor, factor: &Tensor) -> Result<Tensor> {
    pictures("brightness", x)?;
    x.try_mul(&each("brightness", x, factor)?)?.try_clamp(0.0, 1.0)
}

/// Pictures with their distance to the mean grey of the picture times a factor each, kept from 0 to 1.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::contrast;
/// let device = Device::cpu();
/// let x = Tensor::new([[[[0.2, 0.8]]]], &device);
/// let flatter = contrast(&x, &Tensor::new([0.5], &device))?;
/// assert_eq!(flatter.flatten(0, -1).to_string(), "tensor([0.3500, 0.6500])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn contrast(x: &Tensor, factor: &Tensor) -> Result<Tensor> {
    let mean = grey("contrast", x)?.try_mean_keepdim([1, 2, 3])?;
    blend("contrast", x, &mean, factor)
}

/// Pictures with their distance to their grey values times a factor each, kept from 0 to 1. Grey pictures stay.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::saturation;
/// let device = Device::cpu();
/// let red = Tensor::new([[[[1.0]], [[0.0]], [[0.0]]]], &device);
/// let grey = saturation(&red, &Tensor::new([0.0], &device))?;
/// assert_eq!(grey.flatten(0, -1).to_string(), "tensor([0.2989, 0.2989, 0.2989])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn saturation(x: &Tensor, factor: &Tensor) -> Result<Tensor> {
    match pictures("saturation", x)?[1] {
        1 => Ok(x.clone()),
        _ => blend("saturation", x, &grey("saturation", x)?, factor),
    }
}

/// A change by a factor for each picture.
type Change = fn(&Tensor, &Tensor) -> Result<Tensor>;

/// Changes brightness, contrast and saturation of each picture (values from 0 to 1), in this order, by factors
/// between 1 − strength and 1 + strength (not below 0). A strength of 0 leaves a step out.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::{Augment, ColorJitter};
/// let jitter = ColorJitter { brightness: 0.4, contrast: 0.4, saturation: 0.2 };
/// let x = Tensor::rand([4, 3, 8, 8], &Generator::new(1), &Device::cpu());
/// assert_eq!(jitter.apply(&x, &Generator::new(2))?.shape(), x.shape());
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ColorJitter {
    /// The strength of changes in brightness.
    pub brightness: f64,
    /// The strength of changes in contrast.
    pub contrast: f64,
    /// The strength of changes in saturation.
    pub saturation: f64,
}

impl Augment for ColorJitter {
    fn apply(&self, x: &Tensor, generator: &Generator) -> Result<Tensor> {
        pictures("ColorJitter", x)?;
        let steps: [(f64, Change); 3] =
            [(self.brightness, brightness), (self.contrast, contrast), (self.saturation, saturation)];
        steps.into_iter().filter(|(strength, _)| *strength > 0.0).try_fold(
            x.clone(),
            |x, (strength, change)| {
                change(&x, &draw(&x, (1.0 - strength).max(0.0), 1.0 + strength, generator)?)
            },
        )
    }
}

/// (x − mean) / deviation, with numbers for each channel.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::{Augment, Normalize};
/// let device = Device::cpu();
/// let mnist = Normalize::new(&[0.1307], &[0.3081], &device)?;
/// let x = Tensor::new([[[[0.0, 1.0]]]], &device);
/// let y = mnist.apply(&x, &Generator::new(0))?;
/// assert_eq!(y.flatten(0, -1).to_string(), "tensor([-0.4242,  2.8215])");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Normalize {
    mean: Tensor,
    deviation: Tensor,
}

impl Normalize {
    /// Means and standard deviations, one for each channel, kept on a device.
    pub fn new(mean: &[f64], deviation: &[f64], device: &Device) -> Result<Normalize> {
        if mean.len() != deviation.len() || deviation.contains(&0.0) {
            let message = format!(
                "means {mean:?} with deviations {deviation:?}; one of each a channel was expected, deviations not zero"
            );
            return Err(Error::argument("Normalize", message));
        }
        let kept = |numbers: &[f64]| {
            let numbers: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
            Tensor::try_from_slice(&numbers, [1, numbers.len(), 1, 1], device)
        };
        Ok(Normalize { mean: kept(mean)?, deviation: kept(deviation)? })
    }
}

impl Augment for Normalize {
    fn apply(&self, x: &Tensor, _: &Generator) -> Result<Tensor> {
        let channels = pictures("Normalize", x)?[1];
        if channels != self.mean.numel() {
            let message = format!("{} means for pictures of {channels} channels", self.mean.numel());
            return Err(Error::shape("Normalize", message));
        }
        x.try_sub(&self.mean)?.try_div(&self.deviation)
    }
}
