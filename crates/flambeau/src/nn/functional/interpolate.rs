//! Resizing along the dimensions after (N, C). Every mode works dimension by dimension. Nearest reads at positions;
//! the others are linear maps: a small matrix for each dimension, whose rows hold the weights of the input's places.

use crate::autograd::Autocast;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::memory::{filled, reserved};
use crate::settings::words;
use crate::shape::product;
use crate::tensor::{Tensor, twins};

/// How values between the input's are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InterpolateMode {
    /// The input's place at or before it, PyTorch's `nearest` and its default.
    #[default]
    Nearest,
    /// The input's place whose middle is nearest, PyTorch's `nearest-exact`.
    NearestExact,
    /// Straight lines between neighbours: PyTorch's `linear`, `bilinear` and `trilinear`, by the number of dimensions.
    Linear,
    /// Cubic polynomials (with parameter −¾) through four neighbours: PyTorch's `bicubic`, for two dimensions.
    Cubic,
    /// The mean of the area that it covers.
    Area,
}

words!(InterpolateMode {
    "nearest" => Nearest,
    "nearest-exact" => NearestExact,
    "linear" => Linear,
    "bilinear" => Linear,
    "trilinear" => Linear,
    "bicubic" => Cubic,
    "area" => Area,
});

/// How large the result is.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputSize {
    /// The sizes of the dimensions after (N, C); one stands for all of them.
    Sizes(Vec<usize>),
    /// The factors by which they grow, rounded down; one stands for all of them.
    Factors(Vec<f64>),
}

/// Options of [`Tensor::interpolate`].
#[derive(Debug, Clone)]
pub struct InterpolateOptions {
    /// How large the result is.
    pub size: OutputSize,
    /// How values between the input's are found.
    pub mode: InterpolateMode,
    /// The first and last places of input and result coincide, instead of their outer edges; for linear and cubic.
    pub align_corners: bool,
}

impl InterpolateOptions {
    /// To these sizes, with the nearest value.
    pub fn size(sizes: &[usize]) -> InterpolateOptions {
        let size = OutputSize::Sizes(sizes.to_vec());
        InterpolateOptions { size, mode: InterpolateMode::Nearest, align_corners: false }
    }

    /// By these factors, with the nearest value.
    pub fn factor(factors: &[f64]) -> InterpolateOptions {
        let size = OutputSize::Factors(factors.to_vec());
        InterpolateOptions { size, mode: InterpolateMode::Nearest, align_corners: false }
    }

    /// With another mode.
    pub fn with_mode(self, mode: InterpolateMode) -> InterpolateOptions {
        InterpolateOptions { mode, ..self }
    }

    /// With corners aligned.
    pub fn with_align_corners(self) -> InterpolateOptions {
        InterpolateOptions { align_corners: true, ..self }
    }
}

/// The most weights of one dimension, which are made on the host.
const MAX_WEIGHTS: usize = 1 << 28;

/// How one dimension is resized.
struct Resize {
    from: usize,
    to: usize,
    /// How many of the input's places one of the result's covers, where a factor says it.
    step: Option<f64>,
    align_corners: bool,
}

impl Resize {
    /// How many of the input's places one of the result's covers.
    fn step(&self) -> f64 {
        self.step.unwrap_or(self.from as f64 / self.to as f64)
    }

    /// Where a place of the result lies in the input.
    fn position(&self, place: usize) -> f64 {
        if self.align_corners {
            let distance = if self.to > 1 { (self.from - 1) as f64 / (self.to - 1) as f64 } else { 0.0 };
            return place as f64 * distance;
        }
        (place as f64 + 0.5) * self.step() - 0.5
    }

    /// The input's place for each of the result's. In single precision, as PyTorch, so that ties fall alike.
    fn nearest(&self, exact: bool) -> Result<Vec<usize>> {
        let shift = if exact { 0.5 } else { 0.0 };
        let step = self.step() as f32;
        let place = |k: usize| ((k as f32 + shift) * step).floor() as usize;
        let mut places = reserved(self.to)?;
        places.extend((0..self.to).map(|k| place(k).min(self.from - 1)));
        Ok(places)
    }

    /// (to, from): the weights of the input's places in each of the result's.
    fn matrix(&self, mode: InterpolateMode) -> Result<Vec<f64>> {
        let mut matrix = filled(0.0, self.to * self.from)?;
        for k in 0..self.to {
            let row = &mut matrix[k * self.from..(k + 1) * self.from];
            let mut add =
                |place: i64, weight: f64| row[place.clamp(0, self.from as i64 - 1) as usize] += weight;
            match mode {
                InterpolateMode::Area => {
                    let start = k * self.from / self.to;
                    let end = ((k + 1) * self.from).div_ceil(self.to);
                    (start..end).for_each(|place| add(place as i64, 1.0 / (end - start) as f64));
                }
                InterpolateMode::Cubic => {
                    let position = self.position(k);
                    let (first, t) = (position.floor(), position - position.floor());
                    for (tap, weight) in cubic(t).into_iter().enumerate() {
                        add(first as i64 - 1 + tap as i64, weight);
                    }
                }
                InterpolateMode::Linear | InterpolateMode::Nearest | InterpolateMode::NearestExact => {
                    let position = self.position(k).max(0.0);
                    let t = position - position.floor();
                    add(position.floor() as i64, 1.0 - t);
                    add(position.floor() as i64 + 1, t);
                }
            }
        }
        Ok(matrix)
    }
}

/// The weights of the four places around a point a share t after the second.
fn cubic(t: f64) -> [f64; 4] {
    const A: f64 = -0.75;
    let near = |x: f64| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
    [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
}

impl Tensor {
    /// One dimension with values read at the nearest places.
    #[track_caller]
    fn resized_nearest(&self, dim: usize, resize: &Resize, exact: bool) -> Result<Tensor> {
        let places = resize.nearest(exact)?;
        let times = resize.to / resize.from;
        let repeats = times * resize.from == resize.to;
        if repeats && places.iter().enumerate().all(|(k, &place)| place == k / times) {
            return self.try_repeat_interleave(times, dim as isize);
        }
        let places: Vec<i32> = places.into_iter().map(|place| place as i32).collect();
        self.try_index_select(dim as isize, &Tensor::try_from_slice(&places, places.len(), self.device())?)
    }

    /// One dimension multiplied by a matrix (to, from).
    #[track_caller]
    fn resized_linear(&self, dim: usize, resize: &Resize, mode: InterpolateMode) -> Result<Tensor> {
        let before = product(&self.shape()[..dim]);
        let after = product(&self.shape()[dim + 1..]);
        let (weights, shape) = (resize.matrix(mode)?, [resize.to, resize.from]);
        let matrix = match self.dtype() {
            DType::F64 => Tensor::try_from_slice(&weights, shape, self.device())?,
            dtype => {
                let mut narrow = reserved(weights.len())?;
                narrow.extend(weights.into_iter().map(|weight| weight as f32));
                Tensor::try_from_slice(&narrow, shape, self.device())?.try_to_dtype(dtype)?
            }
        };
        let resized = match after {
            1 => self.try_reshape([before, resize.from])?.try_matmul(&matrix.try_t()?)?,
            _ => matrix.try_matmul(&self.try_reshape([before, resize.from, after])?)?,
        };
        resized.try_reshape(self.shape().with(dim, resize.to))
    }

    twins! {
        /// This tensor (N, C, d1, …) with the dimensions after (N, C) resized.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::nn::functional::{InterpolateMode, InterpolateOptions};
        /// let x = Tensor::new([[[0.0, 4.0]]], &Device::cpu());
        /// assert_eq!(x.interpolate(&InterpolateOptions::factor(&[2.0])).to_string(), "tensor([[[0., 0., 4., 4.]]])");
        /// let linear = InterpolateOptions::size(&[4]).with_mode(InterpolateMode::Linear);
        /// assert_eq!(x.interpolate(&linear).to_string(), "tensor([[[0., 1., 3., 4.]]])");
        /// ```
        interpolate / try_interpolate(&self, options: &InterpolateOptions) -> Tensor {
            const OP: &str = "interpolate";
            if !self.dtype().is_float() {
                return Err(Error::dtype_not_accepted(OP, self.dtype(), "a float dtype"));
            }
            let mode = options.mode;
            let dims = self.rank().saturating_sub(2);
            if dims == 0 || (mode == InterpolateMode::Cubic && dims != 2) {
                let message = format!("{mode:?} of shape {}; (N, C, …) is expected, (N, C, H, W) for Cubic", self.shape());
                return Err(Error::shape(OP, message));
            }
            let smooth = matches!(mode, InterpolateMode::Linear | InterpolateMode::Cubic);
            if options.align_corners && !smooth {
                return Err(Error::argument(OP, "align_corners is for Linear and Cubic only"));
            }
            let given = match &options.size {
                OutputSize::Sizes(sizes) => sizes.len(),
                OutputSize::Factors(factors) => factors.len(),
            };
            if given != 1 && given != dims {
                return Err(Error::argument(OP, format!("{given} sizes or factors for {dims} dimensions")));
            }
            let entered = Autocast::Full.enter([])?;
            let mut resized = entered.input(self.clone())?;
            for axis in 0..dims {
                let from = self.shape()[axis + 2];
                let (to, step) = match &options.size {
                    OutputSize::Sizes(sizes) => (sizes[axis % given], None),
                    OutputSize::Factors(factors) => {
                        let factor = factors[axis % given];
                        ((from as f64 * factor).floor().max(0.0) as usize, Some(1.0 / factor))
                    }
                };
                if from == 0 || to == 0 {
                    let message = format!("size {from} of shape {} cannot become {to}", self.shape());
                    return Err(Error::shape(OP, message));
                }
                let weights = if smooth || mode == InterpolateMode::Area { product([from, to]) } else { to };
                if weights > MAX_WEIGHTS {
                    let message = format!("size {from} of shape {} is too far from {to}", self.shape());
                    return Err(Error::shape(OP, message));
                }
                let resize = Resize { from, to, step, align_corners: options.align_corners };
                resized = match mode {
                    _ if from == to && step.is_none_or(|step| step == 1.0) => resized,
                    InterpolateMode::Nearest => resized.resized_nearest(axis + 2, &resize, false)?,
                    InterpolateMode::NearestExact => resized.resized_nearest(axis + 2, &resize, true)?,
                    InterpolateMode::Linear | InterpolateMode::Cubic | InterpolateMode::Area => {
                        resized.resized_linear(axis + 2, &resize, mode)?
                    }
                };
            }
            Ok(resized)
        }
    }
}
