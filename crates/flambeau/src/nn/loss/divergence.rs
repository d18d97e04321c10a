//! Losses between distributions: Kullback–Leibler, Poisson, Gauss.

use super::{Reduction, floats, forward, same_shape};
use crate::autograd::Saves;
use crate::error::{Error, Result};
use crate::settings::words;
use crate::tensor::Tensor;
use std::f64::consts::PI;

/// What becomes of the elements' losses in [`KlDivLoss`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KlDivReduction {
    /// The mean over all elements, PyTorch's default.
    #[default]
    Mean,
    /// The sum divided by the first size: the divergence of a batch.
    BatchMean,
    /// The sum.
    Sum,
    /// They stay as they are.
    None,
}

words!(KlDivReduction { "mean" => Mean, "batchmean" => BatchMean, "sum" => Sum, "none" => None });

/// The Kullback–Leibler divergence of logarithms of probabilities x from a target y: y (log y − x), 0 where y = 0.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::{KlDivLoss, KlDivReduction};
/// let device = Device::cpu();
/// let x = Tensor::new([[0.5, 0.5]], &device).log();
/// let loss = KlDivLoss { reduction: KlDivReduction::BatchMean, ..Default::default() };
/// assert_eq!(loss.forward(&x, &Tensor::new([[1.0, 0.0]], &device)).to_string(), "tensor(0.6931)");
/// ```
#[derive(Debug, Clone, Default)]
pub struct KlDivLoss {
    /// What becomes of the elements' losses.
    pub reduction: KlDivReduction,
    /// The target too is given as logarithms.
    pub log_target: bool,
}

impl KlDivLoss {
    forward! {
        /// The divergence of log probabilities from a target; shapes are broadcast.
        (&self, input: &Tensor, target: &Tensor) {
            floats("kl_div", input)?;
            let losses = match self.log_target {
                true => target.try_exp()?.try_mul(&target.try_sub(input)?)?,
                false => target.try_mul(&log_or_zero(target)?.try_sub(input)?)?,
            };
            match self.reduction {
                KlDivReduction::Mean => losses.try_mean(..),
                KlDivReduction::Sum => losses.try_sum(..),
                KlDivReduction::None => Ok(losses),
                KlDivReduction::BatchMean => {
                    let batch = match input.shape().first() {
                        Some(&batch) => batch as f64,
                        None => {
                            let message = "a batch mean needs an input with a dimension, not a single number";
                            return Err(Error::shape("kl_div", message));
                        }
                    };
                    losses.try_sum(..)?.try_mul(1.0 / batch)
                }
            }
        }
    }
}

/// log x, and 0 where x = 0. Derivative: 1/x, and 0 where x = 0.
#[track_caller]
fn log_or_zero(x: &Tensor) -> Result<Tensor> {
    let forward = || x.try_eq(0.0)?.try_where_cond(0.0, &x.try_log()?);
    Tensor::with_rule("log_or_zero", Saves::inputs(1), &[x], forward, |v| {
        let (g, x) = (v.grad(), v.input(0));
        Ok(vec![Some(x.try_eq(0.0)?.try_where_cond(0.0, &g.try_div(x)?)?)])
    })
}

/// Negative log likelihood of counts y under Poisson distributions: eˣ − y x for logarithms of rates (the default),
/// else x − y log(x + ε); the mean.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::PoissonNllLoss;
/// let device = Device::cpu();
/// let loss = PoissonNllLoss::default().forward(&Tensor::new([0.0, 1.0], &device), &Tensor::new([1.0, 3.0], &device));
/// assert_eq!(loss.to_string(), "tensor(0.3591)");
/// ```
#[derive(Debug, Clone)]
pub struct PoissonNllLoss {
    /// The input is logarithms of rates (true).
    pub log_input: bool,
    /// Adds Stirling's approximation of log y! where y > 1.
    pub full: bool,
    /// What is added to a rate before its logarithm is taken (1e-8).
    pub eps: f64,
    /// What becomes of the elements' losses.
    pub reduction: Reduction,
}

impl Default for PoissonNllLoss {
    fn default() -> Self {
        PoissonNllLoss { log_input: true, full: false, eps: 1e-8, reduction: Reduction::Mean }
    }
}

impl PoissonNllLoss {
    forward! {
        /// The loss of rates, or their logarithms, against counts; shapes are broadcast.
        (&self, input: &Tensor, target: &Tensor) {
            floats("poisson_nll_loss", input)?;
            let target = target.try_to_dtype(input.dtype())?;
            let mut losses = match self.log_input {
                true => input.try_exp()?.try_sub(&target.try_mul(input)?)?,
                false => input.try_sub(&target.try_mul(&input.try_add(self.eps)?.try_log()?)?)?,
            };
            if self.full {
                // Counts up to 1 add nothing; they are replaced so that their logarithm has a derivative.
                let large = target.try_gt(1.0)?;
                let count = large.try_where_cond(&target, 1.0)?;
                let root = count.try_mul(2.0 * PI)?.try_log()?.try_mul(0.5)?;
                let stirling = count.try_mul(&count.try_log()?)?.try_sub(&count)?.try_add(&root)?;
                losses = losses.try_add(&large.try_where_cond(&stirling, 0.0)?)?;
            }
            self.reduction.apply(&losses)
        }
    }
}

/// Negative log likelihood of numbers y under normal distributions of mean x and variance v:
/// ½ (log v + (x − y)² / v), the mean; v is taken as at least ε, without a change of derivative.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::GaussianNllLoss;
/// let device = Device::cpu();
/// let (x, y, var) = (Tensor::zeros([2], &device), Tensor::new([1.0, 2.0], &device), Tensor::ones([2], &device));
/// assert_eq!(GaussianNllLoss::default().forward(&x, &y, &var).to_string(), "tensor(1.2500)");
/// ```
#[derive(Debug, Clone)]
pub struct GaussianNllLoss {
    /// Adds the constant ½ log 2π.
    pub full: bool,
    /// ε, the least variance (1e-6).
    pub eps: f64,
    /// What becomes of the elements' losses.
    pub reduction: Reduction,
}

impl Default for GaussianNllLoss {
    fn default() -> Self {
        GaussianNllLoss { full: false, eps: 1e-6, reduction: Reduction::Mean }
    }
}

impl GaussianNllLoss {
    forward! {
        /// The loss of means against numbers of the same shape. The variances have that shape, or 1 in place of the
        /// last size, or lack the last dimension.
        (&self, input: &Tensor, target: &Tensor, var: &Tensor) {
            const OP: &str = "gaussian_nll_loss";
            floats(OP, input)?;
            same_shape(OP, input, target)?;
            let last = input.rank().wrapping_sub(1);
            let lacks_last = input.rank() > 0 && *var.shape() == input.shape().removed(last);
            let var = if lacks_last { var.try_unsqueeze(-1)? } else { var.clone() };
            let one_last = input.rank() > 0 && *var.shape() == input.shape().with(last, 1);
            if !one_last && var.shape() != input.shape() {
                let message = format!("variances of shape {} for an input of shape {}", var.shape(), input.shape());
                return Err(Error::shape(OP, message));
            }
            let at_least = || var.try_clamp_min(self.eps);
            let pass_on = |v: &crate::autograd::Vjp| Ok(vec![Some(v.grad().clone())]);
            let var = Tensor::with_rule("least_variance", Saves::NOTHING, &[&var], at_least, pass_on)?;
            let distance = input.try_sub(target)?.try_square()?.try_div(&var)?;
            let mut losses = var.try_log()?.try_add(&distance)?.try_mul(0.5)?;
            if self.full {
                losses = losses.try_add(0.5 * (2.0 * PI).ln())?;
            }
            self.reduction.apply(&losses)
        }
    }
}
