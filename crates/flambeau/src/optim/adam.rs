//! Adam, and AdamW, which decouples weight decay from the gradient.

use super::FirstOrder;
use super::rule::{Given, Rule, Update, check_betas, check_not_negative};
use crate::error::Result;
use crate::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// The settings of [`Adam`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AdamOptions {
    /// The learning rate.
    pub learning_rate: f64,
    /// How much of the running means of gradient and squared gradient is kept.
    pub betas: (f64, f64),
    /// Keeps the denominator away from zero.
    pub eps: f64,
    /// λ: see the optimizer.
    pub weight_decay: f64,
    /// Divides by the largest mean of squares so far instead of the present one.
    pub amsgrad: bool,
    /// Climbs instead of descending.
    pub maximize: bool,
}

impl Default for AdamOptions {
    fn default() -> Self {
        AdamOptions {
            learning_rate: 1e-3,
            betas: (0.9, 0.999),
            eps: 1e-8,
            weight_decay: 0.0,
            amsgrad: false,
            maximize: false,
        }
    }
}

/// Adam: m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − lr · m̂ / (√v̂ + ε), where m̂ = m / (1 − β₁ᵗ) and
/// v̂ = v / (1 − β₂ᵗ). Weight decay λ makes g ← g + λ θ first.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Adam, Optimizer}};
/// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
/// let mut adam = Adam::new([w.clone()], 0.5);
/// (w.get() * w.get()).sum(..).backward()?;
/// adam.step()?;
/// adam.zero_grad();
/// assert_eq!(w.value().to_string(), "tensor([0.5000, 1.5000])");
/// # Ok::<(), Error>(())
/// ```
pub type Adam = FirstOrder<AdamOptions>;

impl Rule for AdamOptions {
    const NAME: &'static str = "Adam";

    fn check(&self) -> Result<()> {
        let AdamOptions { learning_rate, eps, weight_decay, .. } = *self;
        let settings = [("learning rate", learning_rate), ("eps", eps), ("weight decay", weight_decay)];
        check_not_negative(Self::NAME, &settings)?;
        check_betas(Self::NAME, self.betas)
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        states(self.amsgrad)
    }

    fn update(&self, given: &Given) -> Result<Update> {
        let grad = given.gradient(self.maximize, self.weight_decay)?;
        descend(given, given.value, &grad, self.learning_rate, self.betas, self.eps)
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }

    fn momentum(&self) -> Option<f64> {
        Some(self.betas.0)
    }

    fn set_momentum(&mut self, momentum: f64) {
        self.betas.0 = momentum;
    }
}

/// The settings of [`AdamW`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AdamWOptions {
    /// The learning rate.
    pub learning_rate: f64,
    /// How much of the running means of gradient and squared gradient is kept.
    pub betas: (f64, f64),
    /// Keeps the denominator away from zero.
    pub eps: f64,
    /// λ: see the optimizer.
    pub weight_decay: f64,
    /// Divides by the largest mean of squares so far instead of the present one.
    pub amsgrad: bool,
    /// Climbs instead of descending.
    pub maximize: bool,
}

impl Default for AdamWOptions {
    fn default() -> Self {
        AdamWOptions {
            learning_rate: 1e-3,
            betas: (0.9, 0.999),
            eps: 1e-8,
            weight_decay: 0.01,
            amsgrad: false,
            maximize: false,
        }
    }
}

/// [`Adam`] whose weight decay λ (0.01 by default) acts on the parameter itself: θ ← (1 − lr · λ) θ first.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{AdamW, Optimizer}};
/// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
/// let mut adam = AdamW::new([w.clone()], 0.5);
/// (w.get() * w.get()).sum(..).backward()?;
/// adam.step()?;
/// assert_eq!(w.value().to_string(), "tensor([0.4950, 1.4900])");
/// # Ok::<(), Error>(())
/// ```
pub type AdamW = FirstOrder<AdamWOptions>;

impl Rule for AdamWOptions {
    const NAME: &'static str = "AdamW";

    fn check(&self) -> Result<()> {
        let AdamWOptions { learning_rate, eps, weight_decay, .. } = *self;
        let settings = [("learning rate", learning_rate), ("eps", eps), ("weight decay", weight_decay)];
        check_not_negative(Self::NAME, &settings)?;
        check_betas(Self::NAME, self.betas)
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        states(self.amsgrad)
    }

    fn update(&self, given: &Given) -> Result<Update> {
        let grad = given.gradient(self.maximize, 0.0)?;
        let value = given.value.try_mul(1.0 - self.learning_rate * self.weight_decay)?;
        descend(given, &value, &grad, self.learning_rate, self.betas, self.eps)
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }

    fn momentum(&self) -> Option<f64> {
        Some(self.betas.0)
    }

    fn set_momentum(&mut self, momentum: f64) {
        self.betas.0 = momentum;
    }
}

fn states(amsgrad: bool) -> Vec<(&'static str, f64)> {
    let mut states = vec![("exp_avg", 0.0), ("exp_avg_sq", 0.0)];
    states.extend(amsgrad.then_some(("max_exp_avg_sq", 0.0)));
    states
}

/// What both have in common, from the value and the gradient that weight decay leaves.
fn descend(
    given: &Given,
    value: &Tensor,
    grad: &Tensor,
    learning_rate: f64,
    (beta1, beta2): (f64, f64),
    eps: f64,
) -> Result<Update> {
    let mean = given.remember_mean(0, grad, beta1)?;
    let square = given.remember_mean_square(1, grad, beta2)?;
    let step = given.step as f64;
    let (correction1, correction2) = (1.0 - beta1.powf(step), 1.0 - beta2.powf(step));
    let largest = match given.states.get(2) {
        // A NaN in `square` stays there, and is chosen.
        Some(largest) => {
            Some(given.remember(2, &largest.try_gt(&square)?.try_where_cond(largest, &square)?)?)
        }
        None => None,
    };
    let root = largest.as_ref().unwrap_or(&square).try_sqrt()?;
    let denominator = root.try_div(correction2.sqrt())?.try_add(eps)?;
    let change = mean.try_mul(-learning_rate / correction1)?.try_div(&denominator)?;
    let states = [mean, square].into_iter().chain(largest).collect();
    Ok(Update { value: value.try_add(change)?, states })
}
