//! Augmentation on the device: random changes of a batch of pictures (N, C, H, W), each picture with numbers of its
//! own, drawn on the device. Nothing is read back, and every step has the same plan.
//!
//! Each augmentation is a type that draws, and under it functions that do the work with numbers given.
//!
//! ```
//! # use flambeau::prelude::*;
//! use flambeau::data::augment::{Augment, Compose, Normalize, RandomCrop, RandomHorizontalFlip};
//! let device = Device::cpu();
//! let pipeline = Compose::new()
//!     .then(RandomCrop::new(32, 32).with_padding(4))
//!     .then(RandomHorizontalFlip::default())
//!     .then(Normalize::new(&[0.49, 0.48, 0.45], &[0.25, 0.24, 0.26], &device)?);
//! let generator = Generator::new(1);
//! let x = Tensor::rand([8, 3, 32, 32], &generator, &device);
//! assert_eq!(pipeline.apply(&x, &generator)?.shape().dims(), [8, 3, 32, 32]);
//! # Ok::<(), Error>(())
//! ```

mod affine;
mod color;
mod geometry;
mod mix;

pub use affine::{Affine, RandomAffine, affine};
pub use color::{ColorJitter, Normalize, brightness, contrast, saturation};
pub use geometry::{RandomCrop, RandomHorizontalFlip, RandomVerticalFlip, crop, flip};
pub use mix::{Cutout, Mixup, erase, mixup};

use crate::error::{Error, Result};
use crate::rng::Generator;
use crate::tensor::Tensor;

/// A random change of a batch of pictures.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::Augment;
///
/// struct Noise(f64);
///
/// impl Augment for Noise {
///     fn apply(&self, x: &Tensor, generator: &Generator) -> Result<Tensor> {
///         x.try_add(&x.try_randn_like(generator)?.try_mul(self.0)?)
///     }
/// }
/// let x = Tensor::zeros([2, 1, 4, 4], &Device::cpu());
/// assert_eq!(Noise(0.1).apply(&x, &Generator::new(1))?.shape(), x.shape());
/// # Ok::<(), Error>(())
/// ```
pub trait Augment: Send + Sync {
    /// The changed batch (N, C, H, W). The same generator state gives the same change on every device.
    fn apply(&self, x: &Tensor, generator: &Generator) -> Result<Tensor>;
}

/// Augmentations one after the other.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::{Augment, Compose, RandomHorizontalFlip, RandomVerticalFlip};
/// let always = Compose::new().then(RandomHorizontalFlip { p: 1.0 }).then(RandomVerticalFlip { p: 1.0 });
/// let x = Tensor::new([[[[1.0, 2.0], [3.0, 4.0]]]], &Device::cpu());
/// let turned = always.apply(&x, &Generator::new(1))?;
/// assert_eq!(turned.flatten(0, -1).to_string(), "tensor([4., 3., 2., 1.])");
/// # Ok::<(), Error>(())
/// ```
#[derive(Default)]
pub struct Compose(Vec<Box<dyn Augment>>);

impl Compose {
    /// Nothing yet: gives back what it is given.
    pub fn new() -> Compose {
        Compose::default()
    }

    /// The same with one more at the end.
    pub fn then(mut self, next: impl Augment + 'static) -> Compose {
        self.0.push(Box::new(next));
        self
    }
}

impl Augment for Compose {
    fn apply(&self, x: &Tensor, generator: &Generator) -> Result<Tensor> {
        self.0.iter().try_fold(x.clone(), |x, augment| augment.apply(&x, generator))
    }
}

/// The sizes of a batch of pictures.
fn pictures(op: &'static str, x: &Tensor) -> Result<[usize; 4]> {
    <[usize; 4]>::try_from(x.shape().dims()).map_err(|_| {
        Error::shape(op, format!("pictures (N, C, H, W) were expected, not shape {}", x.shape()))
    })
}

/// A number for each picture, aligned with the batch: (N, 1, 1, 1).
#[track_caller]
fn each(op: &'static str, x: &Tensor, numbers: &Tensor) -> Result<Tensor> {
    let count = x.shape()[0];
    if numbers.shape().dims() != [count] {
        let message =
            format!("a number for each of {count} pictures was expected, not shape {}", numbers.shape());
        return Err(Error::shape(op, message));
    }
    numbers.try_reshape([count, 1, 1, 1])
}

/// A number in low..high for each picture.
#[track_caller]
fn draw(x: &Tensor, low: f64, high: f64, generator: &Generator) -> Result<Tensor> {
    let uniform = Tensor::try_rand(x.shape()[0], generator, x.device())?;
    uniform.try_mul(high - low)?.try_add(low)
}
