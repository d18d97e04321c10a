//! Losses of numbers against numbers.

use super::{Reduction, floats, forward};
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// input − target; shapes are broadcast.
#[track_caller]
fn difference(op: &'static str, input: &Tensor, target: &Tensor) -> Result<Tensor> {
    floats(op, input)?;
    if input.shape().broadcast(target.shape()).is_none() {
        return Err(Error::broadcast(op, input.shape(), target.shape()));
    }
    input.try_sub(target)
}

/// The mean squared error: (x − y)².
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::MseLoss;
/// let (x, y) = (Tensor::new([1.0, 5.0], &Device::cpu()), Tensor::new([0.0, 2.0], &Device::cpu()));
/// assert_eq!(MseLoss::default().forward(&x, &y).to_string(), "tensor(5.)");
/// ```
#[derive(Debug, Clone, Default)]
pub struct MseLoss {
    /// What becomes of the elements' losses.
    pub reduction: Reduction,
}

impl MseLoss {
    forward! {
        /// The loss of numbers against others; shapes are broadcast.
        (&self, input: &Tensor, target: &Tensor) {
            self.reduction.apply(&difference("mse_loss", input, target)?.try_square()?)
        }
    }
}

/// The mean absolute error: |x − y|. Derivative: 0 where x = y.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::L1Loss;
/// let (x, y) = (Tensor::new([1.0, 5.0], &Device::cpu()), Tensor::new([0.0, 2.0], &Device::cpu()));
/// assert_eq!(L1Loss::default().forward(&x, &y).to_string(), "tensor(2.)");
/// ```
#[derive(Debug, Clone, Default)]
pub struct L1Loss {
    /// What becomes of the elements' losses.
    pub reduction: Reduction,
}

impl L1Loss {
    forward! {
        /// The loss of numbers against others; shapes are broadcast.
        (&self, input: &Tensor, target: &Tensor) {
            self.reduction.apply(&difference("l1_loss", input, target)?.try_abs()?)
        }
    }
}

/// With d = |x − y|: d² / 2β where d < β, else d − β/2; the mean. β = 0 is the L1 loss.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::SmoothL1Loss;
/// let (x, y) = (Tensor::new([0.5, 5.0], &Device::cpu()), Tensor::new([0.0, 2.0], &Device::cpu()));
/// assert_eq!(SmoothL1Loss::default().forward(&x, &y).to_string(), "tensor(1.3125)");
/// ```
#[derive(Debug, Clone)]
pub struct SmoothL1Loss {
    /// What becomes of the elements' losses.
    pub reduction: Reduction,
    /// β, where the square becomes a line (1).
    pub beta: f64,
}

impl Default for SmoothL1Loss {
    fn default() -> Self {
        SmoothL1Loss { reduction: Reduction::Mean, beta: 1.0 }
    }
}

impl SmoothL1Loss {
    forward! {
        /// The loss of numbers against others; shapes are broadcast.
        (&self, input: &Tensor, target: &Tensor) {
            let beta = self.beta;
            if beta.is_nan() || beta < 0.0 {
                return Err(Error::argument("smooth_l1_loss", format!("beta is {beta}; it must not be negative")));
            }
            let distance = difference("smooth_l1_loss", input, target)?.try_abs()?;
            if beta == 0.0 {
                return self.reduction.apply(&distance);
            }
            let near = distance.try_square()?.try_mul(0.5 / beta)?;
            let far = distance.try_sub(0.5 * beta)?;
            self.reduction.apply(&distance.try_lt(beta)?.try_where_cond(&near, &far)?)
        }
    }
}

/// With d = |x − y|: d² / 2 where d ≤ δ, else δ (d − δ/2); the mean.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::HuberLoss;
/// let (x, y) = (Tensor::new([0.5, 5.0], &Device::cpu()), Tensor::new([0.0, 2.0], &Device::cpu()));
/// assert_eq!(HuberLoss::default().forward(&x, &y).to_string(), "tensor(1.3125)");
/// ```
#[derive(Debug, Clone)]
pub struct HuberLoss {
    /// What becomes of the elements' losses.
    pub reduction: Reduction,
    /// δ, where the square becomes a line (1).
    pub delta: f64,
}

impl Default for HuberLoss {
    fn default() -> Self {
        HuberLoss { reduction: Reduction::Mean, delta: 1.0 }
    }
}

impl HuberLoss {
    forward! {
        /// The loss of numbers against others; shapes are broadcast.
        (&self, input: &Tensor, target: &Tensor) {
            let delta = self.delta;
            if delta.is_nan() || delta <= 0.0 {
                return Err(Error::argument("huber_loss", format!("delta is {delta}; it must be positive")));
            }
            let distance = difference("huber_loss", input, target)?.try_abs()?;
            let near = distance.try_square()?.try_mul(0.5)?;
            let far = distance.try_sub(0.5 * delta)?.try_mul(delta)?;
            self.reduction.apply(&distance.try_le(delta)?.try_where_cond(&near, &far)?)
        }
    }
}
