//! Crops and flips.

use super::{Augment, draw, each, pictures};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::rng::Generator;
use crate::shape::Shape;
use crate::tensor::Tensor;

/// A part of each picture: `(height, width)` pixels from row `top` and column `left` on (I32, shape (N,)), after
/// `padding` zeros were put around it. Positions outside are an error when the result is computed.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::crop;
/// let device = Device::cpu();
/// let x = Tensor::new([[[[1.0, 2.0], [3.0, 4.0]]]], &device);
/// let part = crop(&x, &Tensor::new([0], &device), &Tensor::new([1], &device), (2, 2), 1)?;
/// assert_eq!(part.flatten(0, 2).to_string(), "tensor([[0., 0.],\n        [1., 2.]])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn crop(
    x: &Tensor,
    top: &Tensor,
    left: &Tensor,
    (height, width): (usize, usize),
    padding: usize,
) -> Result<Tensor> {
    let [count, channels, rows, columns] = pictures("crop", x)?;
    let padded = |size: usize| size.saturating_add(padding).saturating_add(padding);
    let (rows, columns) = (padded(rows), padded(columns));
    if height > rows || width > columns {
        let message = format!("{height} × {width} pixels of {rows} × {columns} with the padding");
        return Err(Error::shape("crop", message));
    }
    let whole = match isize::try_from(padding).unwrap_or(isize::MAX) {
        0 => x.clone(),
        pad => x.try_pad(&[pad, pad, pad, pad], 0.0)?,
    };
    let part = Shape::new(&[count, 1, height, width]);
    let row = x.iota_of(&part, 2)?.try_add(&each("crop", x, top)?)?;
    let column = x.iota_of(&part, 3)?.try_add(&each("crop", x, left)?)?;
    let place = row.try_mul(columns)?.try_add(&column)?.try_reshape([count, 1, height * width])?;
    let place = place.try_expand([count, channels, height * width])?;
    let pixels = whole.try_reshape([count, channels, rows * columns])?.try_gather(2, &place)?;
    pixels.try_reshape([count, channels, height, width])
}

/// A crop at a random place of each picture, zeros put around it first: PyTorch's `RandomCrop`.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::{Augment, RandomCrop};
/// let x = Tensor::ones([4, 1, 28, 28], &Device::cpu());
/// let y = RandomCrop::new(24, 24).apply(&x, &Generator::new(1))?;
/// assert_eq!(y.shape().dims(), [4, 1, 24, 24]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RandomCrop {
    size: (usize, usize),
    padding: usize,
}

impl RandomCrop {
    /// Crops of this height and width.
    pub fn new(height: usize, width: usize) -> RandomCrop {
        RandomCrop { size: (height, width), padding: 0 }
    }

    /// Puts this many zeros on every side first.
    pub fn with_padding(self, padding: usize) -> RandomCrop {
        RandomCrop { padding, ..self }
    }
}

impl Augment for RandomCrop {
    fn apply(&self, x: &Tensor, generator: &Generator) -> Result<Tensor> {
        let [count, _, rows, columns] = pictures("RandomCrop", x)?;
        let place = |whole: usize, part: usize| {
            let padded = whole.saturating_add(self.padding).saturating_add(self.padding);
            let room = i64::try_from(padded.saturating_sub(part)).unwrap_or(i64::MAX);
            Tensor::try_randint(0, room.saturating_add(1), count, generator, x.device())
        };
        let (top, left) = (place(rows, self.size.0)?, place(columns, self.size.1)?);
        crop(x, &top, &left, self.size, self.padding)
    }
}

/// The pictures for which `which` (Bool, shape (N,)) says so, mirrored along dimension `dim`: 3 (or −1) is left for
/// right, 2 is top for bottom.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::flip;
/// let device = Device::cpu();
/// let x = Tensor::new([[[[1.0, 2.0]]], [[[3.0, 4.0]]]], &device);
/// let y = flip(&x, &Tensor::new([false, true], &device), 3)?;
/// assert_eq!(y.flatten(0, 2).to_string(), "tensor([[1., 2.],\n        [4., 3.]])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn flip(x: &Tensor, which: &Tensor, dim: isize) -> Result<Tensor> {
    pictures("flip", x)?;
    if which.dtype() != DType::Bool {
        return Err(Error::dtype_not_accepted("flip", which.dtype(), "booleans"));
    }
    each("flip", x, which)?.try_where_cond(&x.try_flip(dim)?, x)
}

/// Mirrors each picture, left for right, with probability `p`.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::{Augment, RandomHorizontalFlip};
/// let x = Tensor::new([[[[1.0, 2.0]]]], &Device::cpu());
/// let y = RandomHorizontalFlip { p: 1.0 }.apply(&x, &Generator::new(1))?;
/// assert_eq!(y.flatten(0, -1).to_string(), "tensor([2., 1.])");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RandomHorizontalFlip {
    /// The probability: 0.5.
    pub p: f64,
}

/// Mirrors each picture, top for bottom, with probability `p`.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::{Augment, RandomVerticalFlip};
/// let x = Tensor::new([[[[1.0], [2.0]]]], &Device::cpu());
/// let y = RandomVerticalFlip { p: 1.0 }.apply(&x, &Generator::new(1))?;
/// assert_eq!(y.flatten(0, -1).to_string(), "tensor([2., 1.])");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RandomVerticalFlip {
    /// The probability: 0.5.
    pub p: f64,
}

impl Default for RandomHorizontalFlip {
    fn default() -> Self {
        RandomHorizontalFlip { p: 0.5 }
    }
}

impl Default for RandomVerticalFlip {
    fn default() -> Self {
        RandomVerticalFlip { p: 0.5 }
    }
}

fn flip_some(x: &Tensor, p: f64, dim: isize, generator: &Generator) -> Result<Tensor> {
    pictures("flip", x)?;
    flip(x, &draw(x, 0.0, 1.0, generator)?.try_lt(p)?, dim)
}

impl Augment for RandomHorizontalFlip {
    fn apply(&self, x: &Tensor, generator: &Generator) -> Result<Tensor> {
        flip_some(x, self.p, 3, generator)
    }
}

impl Augment for RandomVerticalFlip {
    fn apply(&self, x: &Tensor, generator: &Generator) -> Result<Tensor> {
        flip_some(x, self.p, 2, generator)
    }
}
