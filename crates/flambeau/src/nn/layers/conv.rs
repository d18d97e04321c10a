//! Convolutions and transposed convolutions over one, two or three dimensions.

use super::constructors;
use super::text::tuple;
use crate::error::{Error, Result};
use crate::nn::{Forward, Module, Parameter, init};
use crate::settings::{Settings, Word, words};
use crate::shape::{Shape, product};
use crate::tensor::{ConvOptions, ConvTransposeOptions, PadMode, Padding, Spatial, Tensor, TensorOptions};

/// What a convolution finds outside of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PaddingMode {
    /// Zeros.
    #[default]
    Zeros,
    /// The input mirrored at its ends.
    Reflect,
    /// The ends again and again.
    Replicate,
    /// The input as on a ring.
    Circular,
}

words!(PaddingMode {
    "zeros" => Zeros,
    "reflect" => Reflect,
    "replicate" => Replicate,
    "circular" => Circular,
});

/// The settings of [`Conv1d`], [`Conv2d`] and [`Conv3d`]. What concerns the windows alone converts into it.
///
/// ```
/// use flambeau::{nn::{Conv2d, ConvLayerOptions}, prelude::*};
/// let windows = Conv2dOptions::default().with_stride(2).with_padding(1);
/// let with_bias = Conv2d::with_options(3, 8, 3, windows, &Device::cpu());
/// let without = ConvLayerOptions { bias: false, ..windows.into() };
/// let without_bias = Conv2d::with_options(3, 8, 3, without, &Device::cpu());
/// assert_eq!(with_bias.parameter_count() - without_bias.parameter_count(), 8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub struct ConvLayerOptions<const N: usize> {
    /// Stride, padding, dilation and groups.
    #[setting(flatten)]
    pub conv: ConvOptions<N>,
    /// Is a bias added?
    pub bias: bool,
    /// What the padding is made of.
    pub padding_mode: PaddingMode,
}

impl<const N: usize> Default for ConvLayerOptions<N> {
    fn default() -> Self {
        ConvLayerOptions { conv: ConvOptions::default(), bias: true, padding_mode: PaddingMode::Zeros }
    }
}

impl<const N: usize> From<ConvOptions<N>> for ConvLayerOptions<N> {
    fn from(conv: ConvOptions<N>) -> Self {
        ConvLayerOptions { conv, ..Default::default() }
    }
}

/// The settings of [`ConvTranspose1d`], [`ConvTranspose2d`] and [`ConvTranspose3d`]. What concerns the windows alone
/// converts into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub struct ConvTransposeLayerOptions<const N: usize> {
    /// Stride, padding, output padding, dilation and groups.
    #[setting(flatten)]
    pub conv: ConvTransposeOptions<N>,
    /// Is a bias added?
    pub bias: bool,
}

impl<const N: usize> Default for ConvTransposeLayerOptions<N> {
    fn default() -> Self {
        ConvTransposeLayerOptions { conv: ConvTransposeOptions::default(), bias: true }
    }
}

impl<const N: usize> From<ConvTransposeOptions<N>> for ConvTransposeLayerOptions<N> {
    fn from(conv: ConvTransposeOptions<N>) -> Self {
        ConvTransposeLayerOptions { conv, ..Default::default() }
    }
}

/// A convolution over N dimensions: [`Conv1d`], [`Conv2d`] or [`Conv3d`].
#[derive(Module, Debug)]
#[module(describe = Conv::describe, type_name = Self::NAME)]
pub struct Conv<const N: usize> {
    /// The kernels, of shape (out, in / groups, …).
    pub weight: Parameter,
    /// A number for each output channel.
    pub bias: Option<Parameter>,
    #[module(skip)]
    options: ConvLayerOptions<N>,
}

/// The convolution of sequences (N, C, L) or (C, L), as PyTorch's; see [`Tensor::conv1d`].
///
/// ```
/// use flambeau::{nn::Conv1d, prelude::*};
/// let layer = Conv1d::new(2, 4, 3, &Device::cpu());
/// assert_eq!(layer.forward(&Tensor::ones([1, 2, 10], &Device::cpu())).shape().dims(), [1, 4, 8]);
/// ```
pub type Conv1d = Conv<1>;

/// The convolution of images (N, C, H, W) or (C, H, W), as PyTorch's; see [`Tensor::conv2d`]. Weight and bias begin in
/// U(−1/√n, 1/√n), where n is the number of weights of an output channel.
///
/// ```
/// use flambeau::{nn::Conv2d, prelude::*};
/// let device = Device::cpu();
/// let layer = Conv2d::with_options(1, 6, 5, Conv2dOptions::default().with_padding(Padding::Same), &device);
/// assert_eq!(layer.forward(&Tensor::ones([8, 1, 28, 28], &device)).shape().dims(), [8, 6, 28, 28]);
/// assert_eq!(
///     layer.summary(),
///     "Conv2d(1, 6, kernel_size=(5, 5), stride=(1, 1), padding=same)\n156 parameters"
/// );
/// ```
pub type Conv2d = Conv<2>;

/// The convolution of volumes (N, C, D, H, W) or (C, D, H, W), as PyTorch's; see [`Tensor::conv3d`].
///
/// ```
/// use flambeau::{nn::Conv3d, prelude::*};
/// let layer = Conv3d::new(1, 2, [1, 3, 3], &Device::cpu());
/// assert_eq!(layer.forward(&Tensor::ones([1, 4, 5, 5], &Device::cpu())).shape().dims(), [2, 4, 3, 3]);
/// ```
pub type Conv3d = Conv<3>;

impl<const N: usize> Conv<N> {
    const NAME: &'static str = ["Conv1d", "Conv2d", "Conv3d"][N - 1];

    constructors! {
        (inputs: usize, outputs: usize, kernel: impl Into<Spatial<N>>;
         layer: impl Into<ConvLayerOptions<N>> = ConvLayerOptions::default(); options)
        {
            let layer = layer.into();
            let kernel = kernel.into().0;
            let channels = [outputs, inputs];
            let (weight, bias) = first_values(Self::NAME, channels, kernel, layer.conv.groups, layer.bias, &options)?;
            Ok(Conv { weight, bias, options: layer })
        }
    }

    fn describe(&self) -> String {
        let ConvLayerOptions { conv, padding_mode, .. } = &self.options;
        let [outputs, inputs, kernel @ ..] = self.weight.shape().dims() else { return String::new() };
        let mut text = channels_text(inputs * conv.groups, *outputs, kernel, &conv.stride);
        text += &match conv.padding {
            Padding::Valid => String::new(),
            Padding::Same => ", padding=same".into(),
            Padding::Explicit(sides) if sides.iter().all(|(before, after)| before == after) => {
                unless("padding", &sides.map(|(before, _)| before), 0)
            }
            Padding::Explicit(sides) => {
                format!(", padding={}", tuple(&sides.map(|(before, after)| tuple(&[before, after]))))
            }
        };
        text += &unless("dilation", &conv.dilation, 1);
        text += &ending_text(conv.groups, self.bias.is_some());
        if *padding_mode != PaddingMode::Zeros {
            text += &format!(", padding_mode={}", padding_mode.word());
        }
        text
    }
}

impl<const N: usize> Forward for Conv<N> {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let ConvLayerOptions { conv, padding_mode, .. } = self.options;
        let bias = self.bias.as_ref().map(Parameter::get);
        let weight = self.weight.get();
        let mode = match padding_mode {
            PaddingMode::Zeros => return input.convolved(Self::NAME, &weight, bias.as_ref(), &conv),
            PaddingMode::Reflect => PadMode::Reflect,
            PaddingMode::Replicate => PadMode::Replicate,
            PaddingMode::Circular => PadMode::Circular,
        };
        let sides = conv.sides(Self::NAME, &weight.shape()[2..])?;
        let pads: Vec<isize> =
            sides.iter().rev().flat_map(|&(before, after)| [before as isize, after as isize]).collect();
        let padded = input.try_pad(&pads, mode)?;
        let conv = ConvOptions { padding: Padding::Valid, ..conv };
        padded.convolved(Self::NAME, &weight, bias.as_ref(), &conv)
    }
}

/// A transposed convolution over N dimensions: [`ConvTranspose1d`], [`ConvTranspose2d`] or [`ConvTranspose3d`].
#[derive(Module, Debug)]
#[module(describe = ConvTranspose::describe, type_name = Self::NAME)]
pub struct ConvTranspose<const N: usize> {
    /// The kernels, of shape (in, out / groups, …).
    pub weight: Parameter,
    /// A number for each output channel.
    pub bias: Option<Parameter>,
    #[module(skip)]
    options: ConvTransposeLayerOptions<N>,
}

/// The transposed convolution of sequences (N, C, L) or (C, L); see [`Tensor::conv_transpose1d`].
///
/// ```
/// use flambeau::{nn::ConvTranspose1d, prelude::*};
/// let layer = ConvTranspose1d::new(2, 4, 3, &Device::cpu());
/// assert_eq!(layer.forward(&Tensor::ones([1, 2, 8], &Device::cpu())).shape().dims(), [1, 4, 10]);
/// ```
pub type ConvTranspose1d = ConvTranspose<1>;

/// The transposed convolution of images (N, C, H, W) or (C, H, W); see [`Tensor::conv_transpose2d`].
///
/// ```
/// use flambeau::{nn::ConvTranspose2d, prelude::*};
/// let device = Device::cpu();
/// let layer = ConvTranspose2d::with_options(8, 4, 2, ConvTranspose2dOptions::default().with_stride(2), &device);
/// assert_eq!(layer.forward(&Tensor::ones([1, 8, 7, 7], &device)).shape().dims(), [1, 4, 14, 14]);
/// ```
pub type ConvTranspose2d = ConvTranspose<2>;

/// The transposed convolution of volumes (N, C, D, H, W) or (C, D, H, W); see [`Tensor::conv_transpose3d`].
///
/// ```
/// use flambeau::{nn::ConvTranspose3d, prelude::*};
/// let layer = ConvTranspose3d::new(1, 2, 2, &Device::cpu());
/// assert_eq!(layer.forward(&Tensor::ones([1, 3, 3, 3], &Device::cpu())).shape().dims(), [2, 4, 4, 4]);
/// ```
pub type ConvTranspose3d = ConvTranspose<3>;

impl<const N: usize> ConvTranspose<N> {
    const NAME: &'static str = ["ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"][N - 1];

    constructors! {
        (inputs: usize, outputs: usize, kernel: impl Into<Spatial<N>>;
         layer: impl Into<ConvTransposeLayerOptions<N>> = ConvTransposeLayerOptions::default(); options)
        {
            let layer = layer.into();
            let kernel = kernel.into().0;
            let channels = [inputs, outputs];
            let groups = layer.conv.groups;
            let (weight, _) = first_values(Self::NAME, channels, kernel, groups, false, &options)?;
            let bound = bound(weight.shape());
            let bias = layer.bias.then(|| init::uniform_parameter([outputs], bound, &options)).transpose()?;
            Ok(ConvTranspose { weight, bias, options: layer })
        }
    }

    fn describe(&self) -> String {
        let conv = &self.options.conv;
        let [inputs, outputs, kernel @ ..] = self.weight.shape().dims() else { return String::new() };
        channels_text(*inputs, outputs * conv.groups, kernel, &conv.stride)
            + &unless("padding", &conv.padding, 0)
            + &unless("dilation", &conv.dilation, 1)
            + &unless("output_padding", &conv.output_padding, 0)
            + &ending_text(conv.groups, self.bias.is_some())
    }
}

impl<const N: usize> Forward for ConvTranspose<N> {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let bias = self.bias.as_ref().map(Parameter::get);
        input.convolved_back(Self::NAME, &self.weight.get(), bias.as_ref(), &self.options.conv)
    }
}

/// 1 / √n for n weights that meet in one number.
fn bound(weight: &Shape) -> f64 {
    1.0 / (product(&weight[1..]).max(1) as f64).sqrt()
}

/// Kernels (first, second / groups, …), and a bias for the first.
fn first_values<const N: usize>(
    op: &'static str,
    [first, second]: [usize; 2],
    kernel: [usize; N],
    groups: usize,
    bias: bool,
    options: &TensorOptions,
) -> Result<(Parameter, Option<Parameter>)> {
    if groups == 0 || !first.is_multiple_of(groups) || !second.is_multiple_of(groups) {
        let message = format!("{first} and {second} channels must divide into {groups} groups");
        return Err(Error::argument(op, message));
    }
    let shape: Shape = [first, second / groups].into_iter().chain(kernel).collect();
    let bound = bound(&shape);
    let weight = init::uniform_parameter(shape, bound, options)?;
    let bias = bias.then(|| init::uniform_parameter([first], bound, options)).transpose()?;
    Ok((weight, bias))
}

/// `1, 2, kernel_size=(3, 3), stride=(1, 1)`.
fn channels_text(inputs: usize, outputs: usize, kernel: &[usize], stride: &[usize]) -> String {
    format!("{inputs}, {outputs}, kernel_size={}, stride={}", tuple(kernel), tuple(stride))
}

/// `, name=(1, 1)`, or nothing if all are what they are by default.
fn unless(name: &str, numbers: &[usize], default: usize) -> String {
    match numbers.iter().all(|&number| number == default) {
        true => String::new(),
        false => format!(", {name}={}", tuple(numbers)),
    }
}

fn ending_text(groups: usize, bias: bool) -> String {
    let groups = if groups == 1 { String::new() } else { format!(", groups={groups}") };
    if bias { groups } else { groups + ", bias=False" }
}
