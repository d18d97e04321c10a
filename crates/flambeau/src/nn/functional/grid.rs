//! Reading images at places that a grid gives, and grids of affine maps. Coordinates run from −1 to 1 over the image,
//! x before y before z.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::settings::words;
use crate::tensor::{Tensor, twins};

/// How [`Tensor::grid_sample`] reads between pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GridMode {
    /// Linearly along each dimension.
    #[default]
    Linear,
    /// The nearest pixel.
    Nearest,
    /// By cubic convolution of four pixels along each dimension, of images.
    Cubic,
}

/// What [`Tensor::grid_sample`] reads outside of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GridPadding {
    /// Zeros.
    #[default]
    Zeros,
    /// The pixel at the border.
    Border,
    /// The image, reflected at its border as often as necessary.
    Reflection,
}

words!(GridMode { "bilinear" => Linear, "nearest" => Nearest, "bicubic" => Cubic });
words!(GridPadding { "zeros" => Zeros, "border" => Border, "reflection" => Reflection });

/// Options of [`Tensor::grid_sample`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GridSampleOptions {
    /// How to read between pixels.
    pub mode: GridMode,
    /// What is outside.
    pub padding: GridPadding,
    /// Are −1 and 1 the centres of the outermost pixels, or their edges (the default)?
    pub align_corners: bool,
}

impl GridSampleOptions {
    /// With this mode.
    pub fn with_mode(self, mode: GridMode) -> Self {
        GridSampleOptions { mode, ..self }
    }

    /// With this padding.
    pub fn with_padding(self, padding: GridPadding) -> Self {
        GridSampleOptions { padding, ..self }
    }

    /// −1 and 1 are the centres of the outermost pixels.
    pub fn with_align_corners(self) -> Self {
        GridSampleOptions { align_corners: true, ..self }
    }

    /// A coordinate from −1 to 1 as a place between 0 and size − 1.
    fn place(&self, coordinate: &Tensor, size: usize) -> Result<Tensor> {
        let size = size as f64;
        match self.align_corners {
            true => coordinate.try_add(1.0)?.try_mul((size - 1.0) / 2.0),
            false => coordinate.try_add(1.0)?.try_mul(size / 2.0)?.try_sub(0.5),
        }
    }

    /// A place brought into the image, as border and reflection do.
    fn inside(&self, place: Tensor, size: usize) -> Result<Tensor> {
        let last = size as f64 - 1.0;
        let place = match self.padding {
            GridPadding::Zeros => return Ok(place),
            GridPadding::Border => place,
            GridPadding::Reflection => {
                let (low, span) = if self.align_corners { (0.0, last) } else { (-0.5, size as f64) };
                if span == 0.0 { place.zeros_like() } else { reflected(&place, low, span)? }
            }
        };
        place.try_clamp(0.0, last)
    }

    /// The pixels read along a dimension of this size, and their weights.
    fn taps(&self, coordinate: &Tensor, size: usize) -> Result<Vec<Tap>> {
        let place = self.place(coordinate, size)?;
        let tap = |pixel: &Tensor, weight: Option<Tensor>| {
            let last = size as f64 - 1.0;
            let weight = match self.padding {
                GridPadding::Zeros => {
                    let inside = pixel
                        .try_ge(0.0)?
                        .try_logical_and(pixel.try_le(last)?)?
                        .try_to_dtype(pixel.dtype())?;
                    Some(if let Some(weight) = weight { weight.try_mul(&inside)? } else { inside })
                }
                _ => weight,
            };
            Ok(Tap { pixel: pixel.try_clamp(0.0, last)?.try_to_dtype(DType::I32)?, weight })
        };
        match self.mode {
            GridMode::Nearest => Ok(vec![tap(&self.inside(place, size)?.try_round()?.detach(), None)?]),
            GridMode::Linear => {
                let place = self.inside(place, size)?;
                let below = place.detach().try_floor()?;
                let part = place.try_sub(&below)?;
                Ok(vec![tap(&below, Some(part.try_rsub(1.0)?))?, tap(&below.try_add(1.0)?, Some(part))?])
            }
            GridMode::Cubic => {
                let below = place.detach().try_floor()?;
                let part = place.try_sub(&below)?;
                let distances = [part.try_add(1.0)?, part.clone(), part.try_rsub(1.0)?, part.try_rsub(2.0)?];
                let one = |(k, distance): (usize, &Tensor)| {
                    let pixel = self.inside(below.try_add(k as f64 - 1.0)?, size)?.try_round()?;
                    tap(&pixel, Some(cubic(distance, k == 1 || k == 2)?))
                };
                distances.iter().enumerate().map(one).collect()
            }
        }
    }
}

/// One pixel along a dimension, and its weight (1 where there is none).
struct Tap {
    pixel: Tensor,
    weight: Option<Tensor>,
}

/// x reflected at `low` and `low + span`.
fn reflected(x: &Tensor, low: f64, span: f64) -> Result<Tensor> {
    let distance = x.try_sub(low)?.try_abs()?;
    let turns = distance.detach().try_div(span)?.try_floor()?;
    let rest = distance.try_sub(&turns.try_mul(span)?)?;
    let odd = turns.try_remainder(2.0)?.try_gt(0.5)?;
    odd.try_where_cond(&rest.try_rsub(span)?, &rest)?.try_add(low)
}

/// Cubic convolution with a = −¾: the weight of a pixel at a distance below 1 (`near`), or between 1 and 2.
fn cubic(x: &Tensor, near: bool) -> Result<Tensor> {
    const A: f64 = -0.75;
    match near {
        true => x.try_mul(A + 2.0)?.try_sub(A + 3.0)?.try_mul(x)?.try_mul(x)?.try_add(1.0),
        false => {
            let inner = x.try_mul(A)?.try_sub(5.0 * A)?.try_mul(x)?.try_add(8.0 * A)?;
            inner.try_mul(x)?.try_sub(4.0 * A)
        }
    }
}

impl Tensor {
    twins! {
        /// Where affine maps θ of shape (N, 2, 3) or (N, 3, 4) send the pixels of images (N, C, H, W) or volumes
        /// (N, C, D, H, W): a grid (N, H, W, 2) or (N, D, H, W, 3) for [`grid_sample`](Tensor::grid_sample).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let shift = Tensor::new([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]], &Device::cpu());
        /// let grid = shift.affine_grid(&[1, 1, 1, 2], true);
        /// assert_eq!(grid.to_string(), "tensor([[[[-0.5000,  0.0000],\n          [ 1.5000,  0.0000]]]])");
        /// ```
        affine_grid / try_affine_grid(&self, size: &[usize], align_corners: bool) -> Tensor {
            const OP: &str = "affine_grid";
            let dims = size.len().saturating_sub(2);
            let fits = (dims == 2 || dims == 3) && self.shape().dims() == [size[0], dims, dims + 1];
            if !fits || !self.dtype().is_float() || size.contains(&0) {
                let message = format!("maps {} ({}) do not fit images {size:?}", self.shape(), self.dtype());
                return Err(Error::shape(OP, message));
            }
            let spatial = &size[2..];
            let mut columns = Vec::with_capacity(dims + 1);
            for (d, &count) in spatial.iter().enumerate().rev() {
                let end = match (align_corners, count) {
                    (_, 1) => 0.0,
                    (true, _) => 1.0,
                    (false, _) => 1.0 - 1.0 / count as f64,
                };
                let line = Tensor::try_linspace(-end, end, count, (self.dtype(), self.device()))?;
                let aligned: Vec<usize> = (0..dims).map(|k| if k == d { count } else { 1 }).collect();
                columns.push(line.try_reshape(aligned)?.try_expand(spatial)?);
            }
            columns.push(columns[0].ones_like());
            let places = Tensor::try_stack(&columns, -1)?.try_reshape([-1, dims as isize + 1])?;
            let grid = places.try_matmul(&self.try_transpose(1, 2)?)?;
            let shape: Vec<usize> = [size[0]].into_iter().chain(spatial.iter().copied()).chain([dims]).collect();
            grid.try_reshape(shape)
        }

        /// Images (N, C, H, W) read at the places of a grid (N, H', W', 2): (N, C, H', W'); or volumes (N, C, D, H, W) at
        /// (N, D', H', W', 3). Derivatives with respect to both.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[[[0.0, 10.0]]]], &Device::cpu());
        /// let middle = Tensor::new([[[[0.0, 0.0], [0.5, 0.0]]]], &Device::cpu());
        /// assert_eq!(x.grid_sample(&middle, &Default::default()).to_string(), "tensor([[[[ 5., 10.]]]])");
        /// ```
        grid_sample / try_grid_sample(&self, grid: &Tensor, options: &GridSampleOptions) -> Tensor {
            const OP: &str = "grid_sample";
            let dims = self.rank().saturating_sub(2);
            let fits = (dims == 2 || dims == 3)
                && grid.rank() == self.rank()
                && grid.size(0) == self.size(0)
                && grid.size(-1) == dims
                && self.shape()[1..].iter().all(|&size| size > 0)
                && (dims == 2 || options.mode != GridMode::Cubic);
            if !fits || !self.dtype().is_float() || grid.dtype() != self.dtype() {
                let message = format!(
                    "a grid {} ({}) does not fit {} ({}) with {options:?}",
                    grid.shape(), grid.dtype(), self.shape(), self.dtype()
                );
                return Err(Error::shape(OP, message));
            }
            let sizes = &self.shape()[2..];
            let (n, c) = (self.shape()[0], self.shape()[1]);
            let places = crate::shape::product(&grid.shape()[1..=dims]);
            let flat = self.try_flatten(2, -1)?;
            // Places and weights of all pixels read, dimension after dimension.
            let mut reads: Vec<(Tensor, Option<Tensor>)> = vec![];
            for (d, &size) in sizes.iter().enumerate() {
                let coordinate = grid.try_select(-1, (dims - 1 - d) as isize)?.try_reshape([n, places])?;
                let taps = options.taps(&coordinate, size)?;
                let mut further = Vec::new();
                for tap in &taps {
                    if d == 0 {
                        further.push((tap.pixel.clone(), tap.weight.clone()));
                    }
                    for (pixel, weight) in &reads {
                        let weight = match (weight, &tap.weight) {
                            (Some(a), Some(b)) => Some(a.try_mul(b)?),
                            (a, b) => a.clone().or_else(|| b.clone()),
                        };
                        further.push((pixel.try_mul(size)?.try_add(&tap.pixel)?, weight));
                    }
                }
                reads = further;
            }
            let mut sum: Option<Tensor> = None;
            for (pixel, weight) in reads {
                let index = pixel.try_unsqueeze(1)?.try_expand([n, c, places])?;
                let mut read = flat.try_gather(2, &index)?;
                if let Some(weight) = weight {
                    read = read.try_mul(&weight.try_unsqueeze(1)?)?;
                }
                sum = Some(if let Some(sum) = sum { sum.try_add(&read)? } else { read });
            }
            let sum = sum.ok_or_else(|| Error::shape(OP, "nothing is read"))?;
            let shape: Vec<usize> = [n, c].into_iter().chain(grid.shape()[1..=dims].iter().copied()).collect();
            sum.try_reshape(shape)
        }
    }
}
