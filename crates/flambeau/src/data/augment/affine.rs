//! Rotation, scaling, shearing and shifting: bilinear sampling at transformed coordinates.

use super::{Augment, draw, each, pictures};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::rng::Generator;
use crate::shape::Shape;
use crate::tensor::Tensor;

/// Each picture sampled at transformed coordinates, zeros outside: PyTorch's
/// `grid_sample(x, affine_grid(theta, x.shape))` with its defaults (bilinear, zeros, `align_corners=False`).
///
/// `theta` has shape (N, 2, 3). The pixel at (u, v) of the result, both from −1 to 1 between the outer edges, is the
/// picture's value at (θ₀₀u + θ₀₁v + θ₀₂, θ₁₀u + θ₁₁v + θ₁₂).
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::affine;
/// let device = Device::cpu();
/// let x = Tensor::new([[[[1.0, 2.0], [3.0, 4.0]]]], &device);
/// let turned = affine(&x, &Tensor::new([[[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]], &device))?;
/// assert_eq!(turned.flatten(0, 2).to_string(), "tensor([[3., 1.],\n        [4., 2.]])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn affine(x: &Tensor, theta: &Tensor) -> Result<Tensor> {
    let [count, channels, height, width] = pictures("affine", x)?;
    if !x.dtype().is_float() {
        return Err(Error::dtype_not_accepted("affine", x.dtype(), "a float dtype"));
    }
    if theta.shape().dims() != [count, 2, 3] {
        let message = format!("theta has shape {}, ({count}, 2, 3) was expected", theta.shape());
        return Err(Error::shape("affine", message));
    }
    let places = Shape::new(&[count, 1, height, width]);
    // The middle of pixel i of n is at (2i + 1) / n − 1.
    let middles = |dim: usize, size: usize| {
        let size = size as f64;
        x.iota_of(&places, dim)?.try_to_dtype(DType::F32)?.try_mul(2.0 / size)?.try_add(1.0 / size - 1.0)
    };
    let (u, v) = (middles(3, width)?, middles(2, height)?);
    // Row `row` of theta, in pixels.
    let coordinate = |row: usize, size: usize| {
        let entry = |column: usize| {
            let entry = theta.try_narrow(1, row, 1)?.try_narrow(2, column, 1)?;
            each("affine", x, &entry.try_reshape([count])?)
        };
        let at = u.try_mul(&entry(0)?)?.try_add(&v.try_mul(&entry(1)?)?)?.try_add(&entry(2)?)?;
        at.try_mul(size as f64 / 2.0)?.try_add((size as f64 - 1.0) / 2.0)
    };
    let (column, row) = (coordinate(0, width)?, coordinate(1, height)?);
    let flat = x.try_reshape([count, channels, height * width])?;
    let (left, above) = (column.try_floor()?, row.try_floor()?);
    let (right_share, below_share) = (column.try_sub(&left)?, row.try_sub(&above)?);
    let columns = [
        Neighbour::new(&left, &right_share.try_rsub(1.0)?, width)?,
        Neighbour::new(&left.try_add(1.0)?, &right_share, width)?,
    ];
    let rows = [
        Neighbour::new(&above, &below_share.try_rsub(1.0)?, height)?,
        Neighbour::new(&above.try_add(1.0)?, &below_share, height)?,
    ];
    let mut sum: Option<Tensor> = None;
    for row in &rows {
        for column in &columns {
            let place = row.position.try_mul(width)?.try_add(&column.position)?;
            let place = place.try_reshape([count, 1, height * width])?;
            let pixels = flat.try_gather(2, &place.try_expand([count, channels, height * width])?)?;
            let share = row.share.try_mul(&column.share)?;
            let part = pixels.try_reshape(x.shape())?.try_mul(&share.try_to_dtype(x.dtype())?)?;
            sum = Some(match sum {
                Some(sum) => sum.try_add(&part)?,
                None => part,
            });
        }
    }
    sum.ok_or_else(|| Error::shape("affine", "there are no pixels"))
}

/// A neighbouring row or column: its position, kept inside (I32), and its share, which is zero outside.
struct Neighbour {
    position: Tensor,
    share: Tensor,
}

impl Neighbour {
    #[track_caller]
    fn new(position: &Tensor, share: &Tensor, size: usize) -> Result<Neighbour> {
        let inside = position.try_clamp(0.0, size as f64 - 1.0)?;
        let share = inside.try_eq(position)?.try_where_cond(share, 0.0)?;
        Ok(Neighbour { position: inside.try_to_dtype(DType::I32)?, share })
    }
}

/// How each picture is moved, about its middle: numbers of shape (N,).
#[derive(Debug, Clone)]
pub struct Affine {
    /// Radians, clockwise.
    pub angle: Tensor,
    /// The factor of its size.
    pub scale: Tensor,
    /// Radians by which vertical lines lean.
    pub shear: Tensor,
    /// Pixels to the right and down.
    pub shift: (Tensor, Tensor),
}

impl Affine {
    /// The matrices (N, 2, 3) that [`affine`] takes, for pictures of this height and width. It is torchvision's
    /// `affine`: with r the angle, h the shear, s the scale and (x, y) the shift, a pixel of the result comes from
    ///
    /// ```text
    /// ┌ cos r − sin r tan h   cos r tan h + sin r ┐      ┌ u − x ┐
    /// └       −sin r                 cos r        ┘ / s · └ v − y ┘
    /// ```
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::data::augment::{Affine, affine};
    /// let device = Device::cpu();
    /// let zero = Tensor::zeros([1], &device);
    /// let one = Tensor::ones([1], &device);
    /// let right = Affine { angle: zero.clone(), scale: one.clone(), shear: zero.clone(), shift: (one, zero) };
    /// let x = Tensor::new([[[[1.0, 2.0, 3.0]]]], &device);
    /// assert_eq!(affine(&x, &right.theta(1, 3)?)?.flatten(0, -1).to_string(), "tensor([0., 1., 2.])");
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn theta(&self, height: usize, width: usize) -> Result<Tensor> {
        let (sin, cos) = (self.angle.try_sin()?, self.angle.try_cos()?);
        let lean = self.shear.try_tan()?;
        let a = cos.try_sub(&sin.try_mul(&lean)?)?.try_div(&self.scale)?;
        let b = cos.try_mul(&lean)?.try_add(&sin)?.try_div(&self.scale)?;
        let c = sin.try_neg()?.try_div(&self.scale)?;
        let d = cos.try_div(&self.scale)?;
        let (x, y) = &self.shift;
        let (height, width) = (height as f64, width as f64);
        let across = a.try_mul(x)?.try_add(&b.try_mul(y)?)?.try_mul(-2.0 / width)?;
        let down = c.try_mul(x)?.try_add(&d.try_mul(y)?)?.try_mul(-2.0 / height)?;
        let entries = [a, b.try_mul(height / width)?, across, c.try_mul(width / height)?, d, down];
        Tensor::try_stack(&entries, 1)?.try_reshape([self.angle.numel(), 2, 3])
    }
}

/// Turns, shifts, scales and shears each picture at random about its middle, bilinear, zeros outside: torchvision's
/// `RandomAffine` (and `RandomRotation`). Shifts are not rounded to pixels.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::{Augment, RandomAffine};
/// let change = RandomAffine::new(10.0).with_shift(0.1, 0.1).with_scale(0.9, 1.1);
/// let x = Tensor::ones([4, 1, 28, 28], &Device::cpu());
/// assert_eq!(change.apply(&x, &Generator::new(1))?.shape().dims(), [4, 1, 28, 28]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RandomAffine {
    degrees: f64,
    shift: (f64, f64),
    scale: (f64, f64),
    shear: f64,
}

impl RandomAffine {
    /// Rotations by at most this many degrees to either side.
    pub fn new(degrees: f64) -> RandomAffine {
        RandomAffine { degrees, shift: (0.0, 0.0), scale: (1.0, 1.0), shear: 0.0 }
    }

    /// Shifts by at most these parts of width and height, to either side.
    pub fn with_shift(self, across: f64, down: f64) -> RandomAffine {
        RandomAffine { shift: (across, down), ..self }
    }

    /// Sizes between these factors.
    pub fn with_scale(self, smallest: f64, largest: f64) -> RandomAffine {
        RandomAffine { scale: (smallest, largest), ..self }
    }

    /// Leans vertical lines by at most this many degrees to either side.
    pub fn with_shear(self, degrees: f64) -> RandomAffine {
        RandomAffine { shear: degrees, ..self }
    }
}

impl Augment for RandomAffine {
    fn apply(&self, x: &Tensor, generator: &Generator) -> Result<Tensor> {
        let [_, _, height, width] = pictures("RandomAffine", x)?;
        let within = |bound: f64| draw(x, -bound, bound, generator);
        let change = Affine {
            angle: within(self.degrees.to_radians())?,
            scale: draw(x, self.scale.0, self.scale.1, generator)?,
            shear: within(self.shear.to_radians())?,
            shift: (within(self.shift.0 * width as f64)?, within(self.shift.1 * height as f64)?),
        };
        affine(x, &change.theta(height, width)?)
    }
}
