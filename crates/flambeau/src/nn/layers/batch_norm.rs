//! Normalisation by statistics that are kept while training: batch norm and instance norm.

use super::constructors;
use super::text::{flag, float, optional_float};
use crate::autograd::no_grad;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::nn::functional::BatchNormed;
use crate::nn::{Buffer, Forward, Mode, Module, Parameter, Part, init};
use crate::settings::Settings;
use crate::shape::Dims;
use crate::tensor::{Operand, Tensor, TensorOptions};

/// Means and variances of channels, gathered while training, under PyTorch's names.
#[derive(Debug)]
pub struct RunningStatistics {
    /// The means, of shape (C); first 0.
    pub running_mean: Buffer,
    /// The variances, of shape (C); first 1.
    pub running_var: Buffer,
    /// The number of batches (I32), counted by batch norm.
    pub num_batches_tracked: Buffer,
}

impl Module for RunningStatistics {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
        visit("running_mean", Part::Buffer(&self.running_mean));
        visit("running_var", Part::Buffer(&self.running_var));
        visit("num_batches_tracked", Part::Buffer(&self.num_batches_tracked));
    }
}

impl RunningStatistics {
    /// Zeros and ones in the device's memory, not in the graph: the first step then has the plan of all later ones.
    fn new(features: usize, options: &TensorOptions) -> Result<RunningStatistics> {
        let (device, dtype) = (options.device(), options.dtype_or(DType::F32));
        let filled = |value: f32| {
            let values = crate::memory::filled(value, features)?;
            Tensor::try_from_slice(&values, [features], device)?.try_to_dtype(dtype)
        };
        Ok(RunningStatistics {
            running_mean: Buffer::new(&filled(0.0)?),
            running_var: Buffer::new(&filled(1.0)?),
            num_batches_tracked: Buffer::new(&Tensor::try_from_slice(&[0], (), device)?),
        })
    }

    /// Counts a batch: how many there are with it.
    #[track_caller]
    fn count(&self) -> Result<Tensor> {
        let count = self.num_batches_tracked.get().try_add(1)?;
        self.num_batches_tracked.try_set(&count)?;
        Ok(count)
    }

    /// Takes in a share of a batch's statistics.
    #[track_caller]
    fn blend(&self, mean: &Tensor, var: &Tensor, share: &Operand) -> Result<()> {
        for (buffer, batch) in [(&self.running_mean, mean), (&self.running_var, var)] {
            buffer.try_set(&buffer.get().try_lerp(batch, share.clone())?)?;
        }
        Ok(())
    }
}

/// The settings of batch norm.
#[derive(Debug, Clone, Copy, PartialEq, Settings)]
pub struct BatchNormOptions {
    /// Added to variances.
    pub eps: f64,
    /// The share a new batch has in the running statistics; `None`: they are the mean over all batches.
    pub momentum: Option<f64>,
    /// Are there a weight and a bias?
    pub affine: bool,
    /// Are statistics kept for evaluation? Without them it uses the batch's too.
    pub track_running_stats: bool,
}

impl Default for BatchNormOptions {
    fn default() -> Self {
        BatchNormOptions { eps: 1e-5, momentum: Some(0.1), affine: true, track_running_stats: true }
    }
}

/// Batch norm over N spatial dimensions: [`BatchNorm1d`], [`BatchNorm2d`] or [`BatchNorm3d`].
#[derive(Module, Debug)]
#[module(describe = BatchNorm::describe, type_name = Self::NAME)]
pub struct BatchNorm<const N: usize> {
    /// A factor for each channel; first 1.
    pub weight: Option<Parameter>,
    /// A number added to each channel; first 0.
    pub bias: Option<Parameter>,
    /// The statistics that evaluation uses.
    #[module(flatten)]
    pub running: Option<RunningStatistics>,
    /// Training or evaluation.
    pub mode: Mode,
    features: usize,
    #[module(skip)]
    options: BatchNormOptions,
}

/// Batch norm of vectors (N, C) or sequences (N, C, L); see [`BatchNorm2d`].
///
/// ```
/// use flambeau::{nn::BatchNorm1d, prelude::*};
/// let layer = BatchNorm1d::new(1, &Device::cpu());
/// let y = layer.forward(&Tensor::new([[1.0], [3.0]], &Device::cpu()));
/// assert_eq!(y.detach().to_string(), "tensor([[-1.0000],\n        [ 1.0000]])");
/// ```
pub type BatchNorm1d = BatchNorm<1>;

/// Batch norm of images (N, C, H, W): (x − mean) / √(var + ε) · weight + bias for each channel, with the batch's mean and
/// variance in training and running ones in evaluation: running ← running + momentum · (batch − running), where the
/// batch's variance is the unbiased one.
///
/// ```
/// use flambeau::{nn::BatchNorm2d, prelude::*};
/// let layer = BatchNorm2d::new(3, &Device::cpu());
/// layer.forward(&Tensor::ones([4, 3, 2, 2], &Device::cpu()));
/// let running = layer.running.as_ref().unwrap();
/// assert_eq!(running.running_mean.get().to_string(), "tensor([0.1000, 0.1000, 0.1000])");
/// layer.eval();
/// layer.forward(&Tensor::ones([4, 3, 2, 2], &Device::cpu()));
/// assert_eq!(running.num_batches_tracked.get().to_string(), "tensor(1, dtype=i32)");
/// ```
pub type BatchNorm2d = BatchNorm<2>;

/// Batch norm of volumes (N, C, D, H, W); see [`BatchNorm2d`].
///
/// ```
/// use flambeau::{nn::BatchNorm3d, prelude::*};
/// let layer = BatchNorm3d::new(3, &Device::cpu());
/// let x = Tensor::ones([4, 3, 2, 2, 2], &Device::cpu());
/// assert_eq!(layer.forward(&x).shape(), x.shape());
/// ```
pub type BatchNorm3d = BatchNorm<3>;

/// The weight and bias of channels, if there are any.
type Affine = (Option<Parameter>, Option<Parameter>);

fn affine_parameters(features: usize, affine: bool, options: &TensorOptions) -> Result<Affine> {
    let filled = |value| affine.then(|| init::constant_parameter([features], value, options)).transpose();
    Ok((filled(1.0)?, filled(0.0)?))
}

/// Refuses an input of another rank or another number of channels.
fn check_input(
    op: &'static str,
    input: &Tensor,
    ranks: [usize; 2],
    features: usize,
    channel: usize,
) -> Result<()> {
    if !ranks.contains(&input.rank()) || input.shape()[channel] != features {
        let [a, b] = ranks;
        let ranks = if a == b { a.to_string() } else { format!("{a} or {b}") };
        let message = format!("input {} must have {ranks} dimensions and {features} channels", input.shape());
        return Err(Error::shape(op, message));
    }
    Ok(())
}

impl<const N: usize> BatchNorm<N> {
    const NAME: &'static str = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d"][N - 1];

    constructors! {
        (features: usize; layer: BatchNormOptions; options)
        {
            let (weight, bias) = affine_parameters(features, layer.affine, &options)?;
            let running = match layer.track_running_stats {
                true => Some(RunningStatistics::new(features, &options)?),
                false => None,
            };
            Ok(BatchNorm { weight, bias, running, mode: Mode::default(), features, options: layer })
        }
    }

    #[track_caller]
    fn update(&self, running: &RunningStatistics, normed: &BatchNormed) -> Result<()> {
        let count = running.count()?;
        let share = match self.options.momentum {
            Some(momentum) => Operand::from(momentum),
            None => Operand::from(count.try_to_dtype(normed.mean.dtype())?.try_reciprocal()?),
        };
        running.blend(&normed.mean, &normed.unbiased_var, &share)
    }

    fn describe(&self) -> String {
        let BatchNormOptions { eps, momentum, affine, track_running_stats } = self.options;
        format!(
            "{}, eps={}, momentum={}, affine={}, track_running_stats={}",
            self.features,
            float(eps),
            optional_float(momentum),
            flag(affine),
            flag(track_running_stats)
        )
    }
}

impl<const N: usize> Forward for BatchNorm<N> {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let ranks = if N == 1 { [2, 3] } else { [N + 2, N + 2] };
        check_input(Self::NAME, input, ranks, self.features, 1)?;
        let (weight, bias) =
            (self.weight.as_ref().map(Parameter::get), self.bias.as_ref().map(Parameter::get));
        let (weight, bias, eps) = (weight.as_ref(), bias.as_ref(), self.options.eps);
        let training = self.mode.is_training();
        match &self.running {
            Some(running) if !training => {
                let (mean, var) = (running.running_mean.get(), running.running_var.get());
                input.try_batch_norm(&mean, &var, weight, bias, eps)
            }
            running => {
                let normed = input.try_batch_norm_training(weight, bias, eps)?;
                if let Some(running) = running {
                    no_grad(|| self.update(running, &normed))?;
                }
                Ok(normed.output)
            }
        }
    }
}

/// The settings of instance norm.
#[derive(Debug, Clone, Copy, PartialEq, Settings)]
pub struct InstanceNormOptions {
    /// Added to variances.
    pub eps: f64,
    /// The share a new batch has in the running statistics.
    pub momentum: f64,
    /// Are there a weight and a bias?
    pub affine: bool,
    /// Are statistics kept for evaluation? Without them it uses the input's too.
    pub track_running_stats: bool,
}

impl Default for InstanceNormOptions {
    fn default() -> Self {
        InstanceNormOptions { eps: 1e-5, momentum: 0.1, affine: false, track_running_stats: false }
    }
}

/// Instance norm over N spatial dimensions: [`InstanceNorm1d`], [`InstanceNorm2d`] or [`InstanceNorm3d`].
#[derive(Module, Debug)]
#[module(describe = InstanceNorm::describe, type_name = Self::NAME)]
pub struct InstanceNorm<const N: usize> {
    /// A factor for each channel; first 1.
    pub weight: Option<Parameter>,
    /// A number added to each channel; first 0.
    pub bias: Option<Parameter>,
    /// The statistics that evaluation uses.
    #[module(flatten)]
    pub running: Option<RunningStatistics>,
    /// Training or evaluation.
    pub mode: Mode,
    features: usize,
    #[module(skip)]
    options: InstanceNormOptions,
}

/// Instance norm of sequences (N, C, L) or (C, L); see [`InstanceNorm2d`].
///
/// ```
/// use flambeau::{nn::InstanceNorm1d, prelude::*};
/// let layer = InstanceNorm1d::new(1, &Device::cpu());
/// let y = layer.forward(&Tensor::new([[1.0, 3.0]], &Device::cpu()));
/// assert_eq!(y.to_string(), "tensor([[-1.0000,  1.0000]])");
/// ```
pub type InstanceNorm1d = InstanceNorm<1>;

/// Instance norm of images (N, C, H, W) or (C, H, W): (x − mean) / √(var + ε) · weight + bias for each channel of each
/// image.
///
/// ```
/// use flambeau::{nn::InstanceNorm2d, prelude::*};
/// let layer = InstanceNorm2d::new(3, &Device::cpu());
/// let x = Tensor::ones([4, 3, 2, 2], &Device::cpu());
/// assert_eq!(layer.forward(&x).abs().amax(..).to_string(), "tensor(0.)");
/// ```
pub type InstanceNorm2d = InstanceNorm<2>;

/// Instance norm of volumes (N, C, D, H, W) or (C, D, H, W); see [`InstanceNorm2d`].
///
/// ```
/// use flambeau::{nn::InstanceNorm3d, prelude::*};
/// let layer = InstanceNorm3d::new(3, &Device::cpu());
/// let x = Tensor::ones([3, 2, 2, 2], &Device::cpu());
/// assert_eq!(layer.forward(&x).shape(), x.shape());
/// ```
pub type InstanceNorm3d = InstanceNorm<3>;

impl<const N: usize> InstanceNorm<N> {
    const NAME: &'static str = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"][N - 1];

    constructors! {
        (features: usize; layer: InstanceNormOptions; options)
        {
            let (weight, bias) = affine_parameters(features, layer.affine, &options)?;
            let running = match layer.track_running_stats {
                true => Some(RunningStatistics::new(features, &options)?),
                false => None,
            };
            Ok(InstanceNorm { weight, bias, running, mode: Mode::default(), features, options: layer })
        }
    }

    fn describe(&self) -> String {
        let InstanceNormOptions { eps, momentum, affine, track_running_stats } = self.options;
        format!(
            "{}, eps={}, momentum={}, affine={}, track_running_stats={}",
            self.features,
            float(eps),
            float(momentum),
            flag(affine),
            flag(track_running_stats)
        )
    }

    /// The mean over the batch of each image's statistics, as PyTorch keeps them.
    #[track_caller]
    fn update(&self, running: &RunningStatistics, input: &Tensor) -> Result<()> {
        let spatial = Dims::Some((2..input.rank() as isize).collect());
        let (var, mean) = input.detach().try_var_mean(spatial, 1.0)?;
        running.blend(&mean.try_mean(0)?, &var.try_mean(0)?, &self.options.momentum.into())
    }
}

impl<const N: usize> Forward for InstanceNorm<N> {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let single = input.rank() == N + 1;
        let channel = if single { 0 } else { 1 };
        check_input(Self::NAME, input, [N + 1, N + 2], self.features, channel)?;
        let input = if single { input.try_unsqueeze(0)? } else { input.clone() };
        let (weight, bias) =
            (self.weight.as_ref().map(Parameter::get), self.bias.as_ref().map(Parameter::get));
        let (weight, bias, eps) = (weight.as_ref(), bias.as_ref(), self.options.eps);
        let output = match &self.running {
            Some(running) if !self.mode.is_training() => {
                let (mean, var) = (running.running_mean.get(), running.running_var.get());
                input.try_batch_norm(&mean, &var, weight, bias, eps)?
            }
            running => {
                if let Some(running) = running {
                    no_grad(|| self.update(running, &input))?;
                }
                input.try_instance_norm(weight, bias, eps)?
            }
        };
        if single { output.try_squeeze(0) } else { Ok(output) }
    }
}
