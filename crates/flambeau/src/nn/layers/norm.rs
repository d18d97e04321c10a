//! Normalisation without memory: layer norm, group norm, RMS norm, local response norm.

use super::constructors;
use super::text::{flag, float, optional_float, tuple};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::nn::{Forward, Module, Parameter, init};
use crate::settings::Settings;
use crate::shape::Shape;
use crate::tensor::Tensor;

/// The settings of [`LayerNorm`].
#[derive(Debug, Clone, Copy, PartialEq, Settings)]
pub struct LayerNormOptions {
    /// Added to variances.
    pub eps: f64,
    /// Are there a weight and a bias?
    #[setting(name = "affine")]
    pub elementwise_affine: bool,
    /// Is there a bias beside the weight?
    pub bias: bool,
}

impl Default for LayerNormOptions {
    fn default() -> Self {
        LayerNormOptions { eps: 1e-5, elementwise_affine: true, bias: true }
    }
}

/// (x − mean) / √(var + ε) · weight + bias over the last dimensions, whose sizes are given.
///
/// ```
/// use flambeau::{nn::LayerNorm, prelude::*};
/// let layer = LayerNorm::new(2, &Device::cpu());
/// let y = layer.forward(&Tensor::new([[1.0, 3.0], [0.0, 8.0]], &Device::cpu()));
/// assert_eq!(y.detach().to_string(), "tensor([[-1.0000,  1.0000],\n        [-1.0000,  1.0000]])");
/// assert_eq!(layer.summary(), "LayerNorm((2,), eps=1e-05, elementwise_affine=True)\n4 parameters");
/// ```
#[derive(Module, Debug)]
#[module(describe = LayerNorm::describe)]
pub struct LayerNorm {
    /// A factor for each place; first 1.
    pub weight: Option<Parameter>,
    /// A number added at each place; first 0.
    pub bias: Option<Parameter>,
    #[module(skip)]
    normalized_shape: Shape,
    #[module(skip)]
    options: LayerNormOptions,
}

impl LayerNorm {
    constructors! {
        (normalized_shape: impl Into<Shape>; layer: LayerNormOptions; options)
        {
            let normalized_shape = normalized_shape.into();
            let LayerNormOptions { elementwise_affine, bias, .. } = layer;
            let filled = |value| init::constant_parameter(&normalized_shape, value, &options);
            let weight = elementwise_affine.then(|| filled(1.0)).transpose()?;
            let bias = (elementwise_affine && bias).then(|| filled(0.0)).transpose()?;
            Ok(LayerNorm { weight, bias, normalized_shape, options: layer })
        }
    }

    fn describe(&self) -> String {
        let LayerNormOptions { eps, elementwise_affine, .. } = self.options;
        let (eps, affine) = (float(eps), flag(elementwise_affine));
        format!("{}, eps={eps}, elementwise_affine={affine}", tuple(self.normalized_shape.dims()))
    }
}

impl Forward for LayerNorm {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let (weight, bias) =
            (self.weight.as_ref().map(Parameter::get), self.bias.as_ref().map(Parameter::get));
        input.try_layer_norm(&self.normalized_shape, weight.as_ref(), bias.as_ref(), self.options.eps)
    }
}

/// The settings of [`RmsNorm`].
#[derive(Debug, Clone, Copy, PartialEq, Settings)]
pub struct RmsNormOptions {
    /// Added to the mean of squares; `None`: the smallest step above 1 of the input's dtype.
    pub eps: Option<f64>,
    /// Is there a weight?
    #[setting(name = "affine")]
    pub elementwise_affine: bool,
}

impl Default for RmsNormOptions {
    fn default() -> Self {
        RmsNormOptions { eps: None, elementwise_affine: true }
    }
}

/// x / √(mean(x²) + ε) · weight over the last dimensions, whose sizes are given.
///
/// ```
/// use flambeau::{nn::RmsNorm, prelude::*};
/// let layer = RmsNorm::new(2, &Device::cpu());
/// let y = layer.forward(&Tensor::new([3.0, 4.0], &Device::cpu()));
/// assert_eq!(y.detach().to_string(), "tensor([0.8485, 1.1314])");
/// ```
#[derive(Module, Debug)]
#[module(describe = RmsNorm::describe, type_name = "RMSNorm")]
pub struct RmsNorm {
    /// A factor for each place; first 1.
    pub weight: Option<Parameter>,
    #[module(skip)]
    normalized_shape: Shape,
    #[module(skip)]
    options: RmsNormOptions,
}

impl RmsNorm {
    constructors! {
        (normalized_shape: impl Into<Shape>; layer: RmsNormOptions; options)
        {
            let normalized_shape = normalized_shape.into();
            let filled = || init::constant_parameter(&normalized_shape, 1.0, &options);
            let weight = layer.elementwise_affine.then(filled).transpose()?;
            Ok(RmsNorm { weight, normalized_shape, options: layer })
        }
    }

    fn describe(&self) -> String {
        let RmsNormOptions { eps, elementwise_affine } = self.options;
        let (eps, affine) = (optional_float(eps), flag(elementwise_affine));
        format!("{}, eps={eps}, elementwise_affine={affine}", tuple(self.normalized_shape.dims()))
    }
}

impl Forward for RmsNorm {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let weight = self.weight.as_ref().map(Parameter::get);
        let eps = self.options.eps.unwrap_or(match input.dtype() {
            DType::F64 => f64::EPSILON,
            DType::F16 => f64::from(half::f16::EPSILON),
            _ => f64::from(f32::EPSILON),
        });
        input.try_rms_norm(&self.normalized_shape, weight.as_ref(), eps)
    }
}

/// The settings of [`GroupNorm`].
#[derive(Debug, Clone, Copy, PartialEq, Settings)]
pub struct GroupNormOptions {
    /// Added to variances.
    pub eps: f64,
    /// Are there a weight and a bias?
    pub affine: bool,
}

impl Default for GroupNormOptions {
    fn default() -> Self {
        GroupNormOptions { eps: 1e-5, affine: true }
    }
}

/// (x − mean) / √(var + ε) · weight + bias over groups of channels of (N, C, …) and what follows them.
///
/// ```
/// use flambeau::{nn::GroupNorm, prelude::*};
/// let layer = GroupNorm::new(2, 4, &Device::cpu());
/// let y = layer.forward(&Tensor::new([[1.0, 3.0, 0.0, 8.0]], &Device::cpu()));
/// assert_eq!(y.detach().to_string(), "tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])");
/// ```
#[derive(Module, Debug)]
#[module(describe = GroupNorm::describe)]
pub struct GroupNorm {
    /// A factor for each channel; first 1.
    pub weight: Option<Parameter>,
    /// A number added to each channel; first 0.
    pub bias: Option<Parameter>,
    groups: usize,
    channels: usize,
    #[module(skip)]
    options: GroupNormOptions,
}

impl GroupNorm {
    constructors! {
        (groups: usize, channels: usize; layer: GroupNormOptions; options)
        {
            if groups == 0 || !channels.is_multiple_of(groups) {
                let message = format!("{channels} channels cannot be put into {groups} equal groups");
                return Err(Error::argument("GroupNorm", message));
            }
            let filled = |value| layer.affine.then(|| init::constant_parameter([channels], value, &options));
            let (weight, bias) = (filled(1.0).transpose()?, filled(0.0).transpose()?);
            Ok(GroupNorm { weight, bias, groups, channels, options: layer })
        }
    }

    fn describe(&self) -> String {
        let GroupNormOptions { eps, affine } = self.options;
        format!("{}, {}, eps={}, affine={}", self.groups, self.channels, float(eps), flag(affine))
    }
}

impl Forward for GroupNorm {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        if input.shape().dims().get(1) != Some(&self.channels) {
            let message = format!("input {} must be (N, {}, …)", input.shape(), self.channels);
            return Err(Error::shape("GroupNorm", message));
        }
        let (weight, bias) =
            (self.weight.as_ref().map(Parameter::get), self.bias.as_ref().map(Parameter::get));
        input.try_group_norm(self.groups, weight.as_ref(), bias.as_ref(), self.options.eps)
    }
}

/// x / (k + α · mean of x² over neighbouring channels)^β for (N, C, …).
///
/// ```
/// use flambeau::{nn::LocalResponseNorm, prelude::*};
/// let layer = LocalResponseNorm { alpha: 2.0, beta: 1.0, ..LocalResponseNorm::new(2) };
/// let y = layer.forward(&Tensor::new([[1.0, 2.0, 3.0]], &Device::cpu()));
/// assert_eq!(y.to_string(), "tensor([[0.5000, 0.3333, 0.2143]])");
/// ```
#[derive(Module, Debug, Clone, Copy, PartialEq, Settings)]
#[module(describe = LocalResponseNorm::describe)]
pub struct LocalResponseNorm {
    /// The number of channels taken together.
    #[setting(skip)]
    pub size: usize,
    /// α.
    pub alpha: f64,
    /// β.
    pub beta: f64,
    /// k.
    pub k: f64,
}

impl LocalResponseNorm {
    /// With PyTorch's α = 1e-4, β = ¾, k = 1.
    pub fn new(size: usize) -> LocalResponseNorm {
        LocalResponseNorm { size, alpha: 1e-4, beta: 0.75, k: 1.0 }
    }

    fn describe(&self) -> String {
        let [alpha, beta, k] = [self.alpha, self.beta, self.k].map(float);
        format!("{}, alpha={alpha}, beta={beta}, k={k}", self.size)
    }
}

impl Forward for LocalResponseNorm {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        input.try_local_response_norm(self.size, self.alpha, self.beta, self.k)
    }
}

/// Local response normalization as Lua Torch had it: as [`LocalResponseNorm`], over the (size − 1) / 2 channels on either side,
/// so that an even size counts one channel less than it divides by.
///
/// ```
/// use flambeau::{nn::CrossMapLrn2d, prelude::*};
/// let x = Tensor::ones([1, 3, 1, 1], &Device::cpu());
/// let y = CrossMapLrn2d { alpha: 3.0, beta: 1.0, ..CrossMapLrn2d::new(3) }.forward(&x);
/// assert_eq!(y.flatten(0, -1).to_string(), "tensor([0.3333, 0.2500, 0.3333])");
/// ```
#[derive(Module, Debug, Clone, Copy, PartialEq)]
#[module(describe = CrossMapLrn2d::describe, type_name = "CrossMapLRN2d")]
pub struct CrossMapLrn2d {
    /// How many channels are looked at.
    pub size: usize,
    /// The factor of their mean square (1e-4).
    pub alpha: f64,
    /// The exponent (0.75).
    pub beta: f64,
    /// What is added (1).
    pub k: f64,
}

impl CrossMapLrn2d {
    /// Over this many channels.
    pub fn new(size: usize) -> CrossMapLrn2d {
        CrossMapLrn2d { size, alpha: 1e-4, beta: 0.75, k: 1.0 }
    }

    fn describe(&self) -> String {
        format!("{}, alpha={}, beta={}, k={}", self.size, float(self.alpha), float(self.beta), self.k)
    }
}

impl Forward for CrossMapLrn2d {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        if self.size == 0 {
            return Err(Error::argument("CrossMapLRN2d", "the size must be above 0"));
        }
        let counted = (self.size - 1) / 2 * 2 + 1;
        let alpha = self.alpha * counted as f64 / self.size as f64;
        input.try_local_response_norm(counted, alpha, self.beta, self.k)
    }
}
