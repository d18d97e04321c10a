//! Convolutions and transposed convolutions over one, two or three dimensions, and their options.

use super::{Tensor, twins};
use crate::error::{Error, Result};
use crate::op::conv::{Conv, Direction};
use crate::op::structured::Listed;
use crate::settings::{Setting, SettingKind, Settings};
use crate::shape::{Shape, product};
use serde_json::Value;

/// A number for each of N spatial dimensions: one for all, or an array.
///
/// ```
/// # use flambeau::Spatial;
/// assert_eq!(Spatial::<2>::from(3), Spatial([3, 3]));
/// assert_eq!(Spatial::from([3, 5]), Spatial([3, 5]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spatial<const N: usize>(pub [usize; N]);

impl<const N: usize> From<usize> for Spatial<N> {
    fn from(size: usize) -> Self {
        Spatial([size; N])
    }
}
impl<const N: usize> From<[usize; N]> for Spatial<N> {
    fn from(sizes: [usize; N]) -> Self {
        Spatial(sizes)
    }
}

/// Zeros around the input of a convolution.
///
/// ```
/// # use flambeau::prelude::*;
/// assert_eq!(Padding::<2>::from(1), Padding::Explicit([(1, 1), (1, 1)]));
/// assert_eq!(Padding::from([1, 0]), Padding::Explicit([(1, 1), (0, 0)]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding<const N: usize> {
    /// None.
    Valid,
    /// As many that the result has the input's size; of an odd number the larger half comes after. For stride 1.
    Same,
    /// So many before and after each dimension.
    Explicit([(usize, usize); N]),
}

impl<const N: usize> From<usize> for Padding<N> {
    fn from(size: usize) -> Self {
        Padding::Explicit([(size, size); N])
    }
}
impl<const N: usize> From<[usize; N]> for Padding<N> {
    fn from(sizes: [usize; N]) -> Self {
        Padding::Explicit(sizes.map(|size| (size, size)))
    }
}
impl<const N: usize> From<[(usize, usize); N]> for Padding<N> {
    fn from(sides: [(usize, usize); N]) -> Self {
        Padding::Explicit(sides)
    }
}

impl<const N: usize> Setting for Padding<N> {
    fn set(&mut self, given: &Value) -> std::result::Result<(), &'static str> {
        *self = match given.as_str() {
            Some("same") => Padding::Same,
            Some("valid") => Padding::Valid,
            Some(_) => return Err("\"same\", \"valid\" or numbers"),
            None => {
                let mut sizes = [0; N];
                sizes.set(given)?;
                Padding::from(sizes)
            }
        };
        Ok(())
    }

    fn kind() -> SettingKind {
        SettingKind::NumbersOr(vec!["same", "valid"])
    }

    fn value(&self) -> Value {
        match self {
            Padding::Valid => Value::from(0),
            Padding::Same => Value::from("same"),
            Padding::Explicit(sides) => sides.map(|(before, _)| before).value(),
        }
    }
}

/// How a convolution over N dimensions goes over its input: as PyTorch's `stride`, `padding`, `dilation`, `groups`.
///
/// ```
/// # use flambeau::prelude::*;
/// let options = Conv2dOptions { stride: [2, 2], ..Default::default() };
/// assert_eq!(options, Conv2dOptions::default().with_stride(2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub struct ConvOptions<const N: usize> {
    /// Steps between windows.
    pub stride: [usize; N],
    /// Zeros around the input.
    pub padding: Padding<N>,
    /// Steps between the elements of a window.
    pub dilation: [usize; N],
    /// Groups of channels that do not see each other.
    pub groups: usize,
}

/// Options of [`Tensor::conv1d`].
pub type Conv1dOptions = ConvOptions<1>;
/// Options of [`Tensor::conv2d`].
pub type Conv2dOptions = ConvOptions<2>;
/// Options of [`Tensor::conv3d`].
pub type Conv3dOptions = ConvOptions<3>;

impl<const N: usize> Default for ConvOptions<N> {
    /// Stride and dilation 1, no padding, one group.
    fn default() -> Self {
        ConvOptions { stride: [1; N], padding: Padding::Valid, dilation: [1; N], groups: 1 }
    }
}

impl<const N: usize> ConvOptions<N> {
    /// With steps between windows.
    pub fn with_stride(self, stride: impl Into<Spatial<N>>) -> Self {
        ConvOptions { stride: stride.into().0, ..self }
    }

    /// With zeros around the input.
    pub fn with_padding(self, padding: impl Into<Padding<N>>) -> Self {
        ConvOptions { padding: padding.into(), ..self }
    }

    /// With steps between the elements of a window.
    pub fn with_dilation(self, dilation: impl Into<Spatial<N>>) -> Self {
        ConvOptions { dilation: dilation.into().0, ..self }
    }

    /// With groups of channels.
    pub fn with_groups(self, groups: usize) -> Self {
        ConvOptions { groups, ..self }
    }

    /// Zeros before and after each dimension, for a kernel of these sizes.
    pub(crate) fn sides(&self, op: &'static str, kernel: &[usize]) -> Result<[(usize, usize); N]> {
        match self.padding {
            Padding::Valid => Ok([(0, 0); N]),
            Padding::Explicit(sides) => Ok(sides),
            Padding::Same if self.stride != [1; N] => {
                let message = format!("padding Same needs stride 1, not {:?}", self.stride);
                Err(Error::argument(op, message))
            }
            Padding::Same => {
                let total = |d: usize| product([self.dilation[d], kernel[d] - 1]);
                Ok(std::array::from_fn(|d| (total(d) / 2, total(d).div_ceil(2))))
            }
        }
    }
}

/// How a transposed convolution over N dimensions spreads its input.
///
/// ```
/// # use flambeau::prelude::*;
/// let options = ConvTranspose2dOptions { stride: [2, 2], ..Default::default() };
/// assert_eq!(options, ConvTranspose2dOptions::default().with_stride(2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub struct ConvTransposeOptions<const N: usize> {
    /// Steps between windows of the result.
    pub stride: [usize; N],
    /// Elements taken away from both ends of the result.
    pub padding: [usize; N],
    /// Elements added to the end of the result, less than stride or dilation.
    pub output_padding: [usize; N],
    /// Steps between the elements of a window.
    pub dilation: [usize; N],
    /// Groups of channels that do not see each other.
    pub groups: usize,
}

/// Options of [`Tensor::conv_transpose1d`].
pub type ConvTranspose1dOptions = ConvTransposeOptions<1>;
/// Options of [`Tensor::conv_transpose2d`].
pub type ConvTranspose2dOptions = ConvTransposeOptions<2>;
/// Options of [`Tensor::conv_transpose3d`].
pub type ConvTranspose3dOptions = ConvTransposeOptions<3>;

impl<const N: usize> Default for ConvTransposeOptions<N> {
    /// Stride and dilation 1, no padding, one group.
    fn default() -> Self {
        ConvTransposeOptions {
            stride: [1; N],
            padding: [0; N],
            output_padding: [0; N],
            dilation: [1; N],
            groups: 1,
        }
    }
}

impl<const N: usize> ConvTransposeOptions<N> {
    /// With steps between windows of the result.
    pub fn with_stride(self, stride: impl Into<Spatial<N>>) -> Self {
        ConvTransposeOptions { stride: stride.into().0, ..self }
    }

    /// With elements taken away from both ends of the result.
    pub fn with_padding(self, padding: impl Into<Spatial<N>>) -> Self {
        ConvTransposeOptions { padding: padding.into().0, ..self }
    }

    /// With elements added to the end of the result.
    pub fn with_output_padding(self, output_padding: impl Into<Spatial<N>>) -> Self {
        ConvTransposeOptions { output_padding: output_padding.into().0, ..self }
    }

    /// With steps between the elements of a window.
    pub fn with_dilation(self, dilation: impl Into<Spatial<N>>) -> Self {
        ConvTransposeOptions { dilation: dilation.into().0, ..self }
    }

    /// With groups of channels.
    pub fn with_groups(self, groups: usize) -> Self {
        ConvTransposeOptions { groups, ..self }
    }
}

/// The largest place that a window may reach, padding included: sums of a few of them still fit.
const MAX_EXTENT: usize = isize::MAX as usize / 8;

/// The sum of the parts of an extent; None where it is too large to reckon with.
pub(super) fn extent(parts: &[usize]) -> Option<usize> {
    parts.iter().try_fold(0usize, |sum, &part| sum.checked_add(part)).filter(|&sum| sum <= MAX_EXTENT)
}

/// The extent of a window: `kernel` places, at least one, `dilation` apart.
pub(super) fn window(kernel: usize, dilation: usize) -> Option<usize> {
    extent(&[product([kernel - 1, dilation]), 1])
}

/// Steps between places, where there is more than one place: another number would not count, and may be too large.
pub(super) fn steps<const N: usize>(steps: [usize; N], places: &[usize]) -> [usize; N] {
    std::array::from_fn(|d| if places[d] > 1 { steps[d] } else { 1 })
}

/// Numbers of N dimensions as those of three, with `neutral` in front.
pub(super) fn to_three<const N: usize>(numbers: [usize; N], neutral: usize) -> [usize; 3] {
    std::array::from_fn(|d| if d < 3 - N { neutral } else { numbers[d + N - 3] })
}

/// Both operands of a convolution in one float dtype, the input with its images in front.
struct Operands {
    x: Tensor,
    w: Tensor,
    /// The input came without a dimension of images.
    single: bool,
}

impl Operands {
    /// Checks what both kinds of convolution ask for.
    fn new<const N: usize>(
        op: &'static str,
        (x, w): (&Tensor, &Tensor),
        [stride, dilation]: [[usize; N]; 2],
        groups: usize,
    ) -> Result<Operands> {
        let dtype = x.dtype().promote(w.dtype());
        if !dtype.is_float() {
            return Err(Error::dtype_not_accepted(op, dtype, "a float dtype"));
        }
        if !(x.rank() == N + 1 || x.rank() == N + 2) || w.rank() != N + 2 {
            let message = format!(
                "input {} and weight {} must have {} (or {}) and {} dimensions",
                x.shape(),
                w.shape(),
                N + 2,
                N + 1,
                N + 2
            );
            return Err(Error::shape(op, message));
        }
        if w.shape().contains(&0) {
            return Err(Error::shape(op, format!("weight {} has no elements", w.shape())));
        }
        if stride.contains(&0) || dilation.contains(&0) || groups == 0 {
            let message =
                format!("stride {stride:?}, dilation {dilation:?} and groups {groups} must be positive");
            return Err(Error::argument(op, message));
        }
        let single = x.rank() == N + 1;
        let x = if single { x.try_unsqueeze(0)? } else { x.clone() };
        Ok(Operands { x: x.try_to_dtype(dtype)?, w: w.try_to_dtype(dtype)?, single })
    }

    /// The result with its bias, without the images' dimension if the input had none.
    fn finish(&self, op: &'static str, y: Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        let mut y = y;
        if let Some(bias) = bias {
            let features = y.shape()[1];
            if bias.shape().dims() != [features] {
                let message = format!("bias {} must have shape [{features}]", bias.shape());
                return Err(Error::shape(op, message));
            }
            let column: Shape = (1..y.rank()).map(|d| if d == 1 { features } else { 1 }).collect();
            y = y.try_add(&bias.try_reshape(&column)?)?;
        }
        if self.single { y.try_squeeze(0) } else { Ok(y) }
    }
}

impl Tensor {
    #[track_caller]
    pub(crate) fn convolved<const N: usize>(
        &self,
        op: &'static str,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: &ConvOptions<N>,
    ) -> Result<Tensor> {
        let ConvOptions { stride, dilation, groups, .. } = *options;
        let entered = Conv::AUTOCAST.enter([self, weight])?;
        let [x, weight] = entered.inputs([self, weight]);
        let bias = entered.optional(bias)?;
        let operands = Operands::new(op, (x, weight), [stride, dilation], groups)?;
        let (x, w) = (operands.x.shape(), operands.w.shape());
        let channels = product([w[1], groups]);
        if x[1] != channels || !w[0].is_multiple_of(groups) {
            let message = format!(
                "input {x} has {} channels, weight {w} in {groups} groups takes {}; its {} features must divide by {groups}",
                x[1], channels, w[0],
            );
            return Err(Error::shape(op, message));
        }
        let kernel = &w[2..];
        let sides = options.sides(op, kernel)?;
        let mut shape = Shape::new(x).with(1, w[0]);
        for d in 0..N {
            let padded = extent(&[x[d + 2], sides[d].0, sides[d].1]);
            let left = padded.zip(window(kernel[d], dilation[d])).and_then(|(all, own)| all.checked_sub(own));
            let Some(left) = left else {
                let message = format!(
                    "a window of {} elements, {} apart, does not fit dimension {} of input {x} with padding {:?}",
                    kernel[d],
                    dilation[d],
                    d + 2,
                    sides[d]
                );
                return Err(Error::shape(op, message));
            };
            shape = shape.with(d + 2, left / stride[d] + 1);
        }
        let (mut stride, dilation) = (steps(stride, &shape[2..]), steps(dilation, kernel));
        // Where a window is one element, those between windows belong to none: without them nothing has gaps, here or backwards.
        let mut x = operands.x.clone();
        for d in 0..N {
            if kernel[d] == 1 && sides[d] == (0, 0) && stride[d] > 1 {
                x = x.slice_strided(d + 2, 0, stride[d] as isize, shape[d + 2])?;
                stride[d] = 1;
            }
        }
        let conv = Conv {
            direction: Direction::Forward,
            stride: to_three(stride, 1),
            padding: to_three(sides.map(|(before, _)| before), 0),
            dilation: to_three(dilation, 1),
            groups,
            result: [1; 3],
        };
        operands.finish(op, conv.apply(&x, &operands.w, &shape)?, bias.as_ref())
    }

    #[track_caller]
    pub(crate) fn convolved_back<const N: usize>(
        &self,
        op: &'static str,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: &ConvTransposeOptions<N>,
    ) -> Result<Tensor> {
        let ConvTransposeOptions { stride, padding, output_padding, dilation, groups } = *options;
        let entered = Conv::AUTOCAST.enter([self, weight])?;
        let [x, weight] = entered.inputs([self, weight]);
        let bias = entered.optional(bias)?;
        let operands = Operands::new(op, (x, weight), [stride, dilation], groups)?;
        let (x, w) = (operands.x.shape(), operands.w.shape());
        if x[1] != w[0] || !w[0].is_multiple_of(groups) {
            let message = format!(
                "input {x} has {} channels, weight {w} takes {}; they must be equal and divide by {groups} groups",
                x[1], w[0],
            );
            return Err(Error::shape(op, message));
        }
        let mut shape = Shape::new(x).with(1, product([w[1], groups]));
        for d in 0..N {
            if output_padding[d] >= stride[d].max(dilation[d]) {
                let message = format!(
                    "output_padding {output_padding:?} must be less than stride {stride:?} or dilation {dilation:?}"
                );
                return Err(Error::argument(op, message));
            }
            let own = window(w[d + 2], dilation[d]).filter(|_| x[d + 2] > 0);
            let between = product([x[d + 2].saturating_sub(1), stride[d]]);
            let full = own.and_then(|own| extent(&[between, own, output_padding[d]]));
            let left = full.and_then(|full| full.checked_sub(product([2, padding[d]])));
            let Some(left) = left.filter(|&left| left > 0) else {
                let message = format!(
                    "dimension {} of input {x} with weight {w}, stride {stride:?}, dilation {dilation:?} and padding \
                     {padding:?} has no size",
                    d + 2
                );
                return Err(Error::shape(op, message));
            };
            shape = shape.with(d + 2, left);
        }
        let (stride, dilation) = (steps(stride, &x[2..]), steps(dilation, &w[2..]));
        let conv = Conv {
            direction: Direction::Input,
            stride: to_three(stride, 1),
            padding: to_three(padding, 0),
            dilation: to_three(dilation, 1),
            groups,
            result: [1; 3],
        };
        operands.finish(op, conv.apply(&operands.x, &operands.w, &shape)?, bias.as_ref())
    }

    twins! {
        /// The convolution (as everywhere in deep learning, a cross-correlation) of an input (N, C, L) or (C, L) with a
        /// weight (O, C / groups, K), plus a bias (O): (N, O, L′) with
        /// L′ = ⌊(L + padding − dilation · (K − 1) − 1) / stride⌋ + 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([[[1.0, 2.0, 3.0, 4.0]]], &device);
        /// let difference = Tensor::new([[[-1.0, 1.0]]], &device);
        /// assert_eq!(x.conv1d(&difference, None, &Default::default()).to_string(), "tensor([[[1., 1., 1.]]])");
        /// ```
        conv1d / try_conv1d(&self, weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions<1>) -> Tensor {
            self.convolved("conv1d", weight, bias, options)
        }

        /// The convolution of an input (N, C, H, W) or (C, H, W) with a weight (O, C / groups, KH, KW), plus a bias (O):
        /// out[n, o, i, j] = bias[o] + Σ x[n, c, i·stride − padding + k·dilation, …] · weight[o, c, k, …].
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (x, w) = (Tensor::ones([8, 3, 32, 32], &device), Tensor::ones([16, 3, 3, 3], &device));
        /// let bias = Tensor::zeros([16], &device);
        /// let options = Conv2dOptions { stride: [2, 2], padding: 1.into(), ..Default::default() };
        /// assert_eq!(x.conv2d(&w, Some(&bias), &options).shape().dims(), [8, 16, 16, 16]);
        /// ```
        conv2d / try_conv2d(&self, weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions<2>) -> Tensor {
            self.convolved("conv2d", weight, bias, options)
        }

        /// The convolution of an input (N, C, D, H, W) or (C, D, H, W) with a weight (O, C / groups, KD, KH, KW), plus
        /// a bias (O).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (x, w) = (Tensor::ones([1, 2, 5, 6, 7], &device), Tensor::ones([4, 2, 3, 3, 3], &device));
        /// let same = Conv3dOptions { padding: Padding::Same, ..Default::default() };
        /// assert_eq!(x.conv3d(&w, None, &same).shape().dims(), [1, 4, 5, 6, 7]);
        /// ```
        conv3d / try_conv3d(&self, weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions<3>) -> Tensor {
            self.convolved("conv3d", weight, bias, options)
        }

        /// The transposed convolution of an input (N, C, L) or (C, L) with a weight (C, O / groups, K), plus a bias (O):
        /// (N, O, L′) with L′ = (L − 1) · stride − 2 · padding + dilation · (K − 1) + output_padding + 1. It is the
        /// gradient of [`conv1d`](Tensor::conv1d) with respect to its input.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (x, w) = (Tensor::new([[[1.0, 2.0]]], &device), Tensor::new([[[1.0, 1.0]]], &device));
        /// let apart = ConvTranspose1dOptions::default().with_stride(2);
        /// assert_eq!(x.conv_transpose1d(&w, None, &apart).to_string(), "tensor([[[1., 1., 2., 2.]]])");
        /// ```
        conv_transpose1d / try_conv_transpose1d(&self, weight: &Tensor, bias: Option<&Tensor>, options: &ConvTransposeOptions<1>) -> Tensor {
            self.convolved_back("conv_transpose1d", weight, bias, options)
        }

        /// The transposed convolution of an input (N, C, H, W) or (C, H, W) with a weight (C, O / groups, KH, KW), plus
        /// a bias (O).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (x, w) = (Tensor::ones([1, 8, 7, 7], &device), Tensor::ones([8, 4, 3, 3], &device));
        /// let doubled = ConvTranspose2dOptions::default().with_stride(2).with_padding(1).with_output_padding(1);
        /// assert_eq!(x.conv_transpose2d(&w, None, &doubled).shape().dims(), [1, 4, 14, 14]);
        /// ```
        conv_transpose2d / try_conv_transpose2d(&self, weight: &Tensor, bias: Option<&Tensor>, options: &ConvTransposeOptions<2>) -> Tensor {
            self.convolved_back("conv_transpose2d", weight, bias, options)
        }

        /// The transposed convolution of an input (N, C, D, H, W) or (C, D, H, W) with a weight
        /// (C, O / groups, KD, KH, KW), plus a bias (O).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (x, w) = (Tensor::ones([1, 2, 2, 2, 2], &device), Tensor::ones([2, 1, 2, 2, 2], &device));
        /// let doubled = ConvTranspose3dOptions::default().with_stride(2);
        /// assert_eq!(x.conv_transpose3d(&w, None, &doubled).shape().dims(), [1, 1, 4, 4, 4]);
        /// ```
        conv_transpose3d / try_conv_transpose3d(&self, weight: &Tensor, bias: Option<&Tensor>, options: &ConvTransposeOptions<3>) -> Tensor {
            self.convolved_back("conv_transpose3d", weight, bias, options)
        }
    }
}
