//! NAdam: Adam with Nesterov's momentum.

use super::FirstOrder;
use super::rule::{Given, Rule, Update, check_betas, check_not_negative};
use crate::error::Result;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The settings of [`NAdam`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct NAdamOptions {
    /// The learning rate.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// How much of the running means is kept.
    pub betas: (f64, f64),
    /// Keeps the denominator away from zero.
    pub eps: f64,
    /// Adds this times the parameter to the gradient.
    pub weight_decay: f64,
    /// How quickly the momentum grows towards β₁.
    pub momentum_decay: f64,
}

impl Default for NAdamOptions {
    fn default() -> Self {
        NAdamOptions {
            learning_rate: 2e-3,
            betas: (0.9, 0.999),
            eps: 1e-8,
            weight_decay: 0.0,
            momentum_decay: 4e-3,
        }
    }
}

/// NAdam: with μₜ = β₁ (1 − ½ · 0.96^(t ψ)), m and v as in [`Adam`](super::Adam):
/// θ ← θ − lr · ((1 − μₜ) g / (1 − μ₁⋯μₜ) + μₜ₊₁ m / (1 − μ₁⋯μₜ₊₁)) / (√v̂ + ε). Weight decay λ makes g ← g + λ θ first.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{NAdam, Optimizer}};
/// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
/// let mut optimizer = NAdam::new([w.clone()], 0.5);
/// (w.get() * w.get()).sum(..).backward()?;
/// optimizer.step()?;
/// assert_eq!(w.value().to_string(), "tensor([0.4718, 1.4718])");
/// # Ok::<(), Error>(())
/// ```
pub type NAdam = FirstOrder<NAdamOptions>;

impl Rule for NAdamOptions {
    const NAME: &'static str = "NAdam";

    fn check(&self) -> Result<()> {
        let settings = [
            ("learning rate", self.learning_rate),
            ("eps", self.eps),
            ("weight decay", self.weight_decay),
            ("momentum decay", self.momentum_decay),
        ];
        check_not_negative(Self::NAME, &settings)?;
        check_betas(Self::NAME, self.betas)
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        vec![("exp_avg", 0.0), ("exp_avg_sq", 0.0)]
    }

    fn update(&self, given: &Given) -> Result<Update> {
        given.require_known_step(Self::NAME)?;
        let grad = given.gradient(false, self.weight_decay)?;
        let (beta1, beta2) = self.betas;
        let mean = given.remember_mean(0, &grad, beta1)?;
        let square = given.remember_mean_square(1, &grad, beta2)?;
        let correction = 1.0 - beta2.powf(given.step as f64);
        let denominator = square.try_div(correction)?.try_sqrt()?.try_add(self.eps)?;
        let (momentum, next) = (self.momentum_at(given.step), self.momentum_at(given.step + 1));
        let product = self.momentum_product(given.step);
        let now = grad.try_mul(-self.learning_rate * (1.0 - momentum) / (1.0 - product))?;
        let ahead = mean.try_mul(-self.learning_rate * next / (1.0 - product * next))?;
        let value = given.value.try_add(now.try_add(ahead)?.try_div(&denominator)?)?;
        Ok(Update { value, states: vec![mean, square] })
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

impl NAdamOptions {
    /// μₜ.
    fn momentum_at(&self, step: u64) -> f64 {
        self.betas.0 * (1.0 - 0.5 * 0.96_f64.powf(step as f64 * self.momentum_decay))
    }

    /// μ₁⋯μₜ, which after some hundred steps is too small to make a difference to 1.
    fn momentum_product(&self, step: u64) -> f64 {
        let mut product = 1.0;
        for step in 1..=step {
            product *= self.momentum_at(step);
            if product < 1e-20 {
                return 0.0;
            }
        }
        product
    }
}
