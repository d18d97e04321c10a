//! RAdam: Adam whose first steps are not scaled while the mean of squares is too uncertain.

use super::FirstOrder;
use super::rule::{Given, Rule, Update, check_betas, check_not_negative};
use crate::error::Result;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The settings of [`RAdam`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct RAdamOptions {
    /// The learning rate.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// How much of the running means is kept.
    pub betas: (f64, f64),
    /// Keeps the denominator away from zero.
    pub eps: f64,
    /// Adds this times the parameter to the gradient.
    pub weight_decay: f64,
}

impl Default for RAdamOptions {
    fn default() -> Self {
        RAdamOptions { learning_rate: 1e-3, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 0.0 }
    }
}

/// RAdam: with m, v and m̂ as in [`Adam`](super::Adam), ρ∞ = 2 / (1 − β₂) − 1 and ρₜ = ρ∞ − 2 t β₂ᵗ / (1 − β₂ᵗ):
/// θ ← θ − lr · m̂ while ρₜ ≤ 5, then θ ← θ − lr · r m̂ √(1 − β₂ᵗ) / (√v + ε), where
/// r² = (ρₜ − 4)(ρₜ − 2) ρ∞ / ((ρ∞ − 4)(ρ∞ − 2) ρₜ). Weight decay λ makes g ← g + λ θ first.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{RAdam, Optimizer}};
/// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
/// let mut optimizer = RAdam::new([w.clone()], 0.25);
/// (w.get() * w.get()).sum(..).backward()?;
/// optimizer.step()?;
/// assert_eq!(w.value().to_string(), "tensor([0.5000, 1.0000])");
/// # Ok::<(), Error>(())
/// ```
pub type RAdam = FirstOrder<RAdamOptions>;

impl Rule for RAdamOptions {
    const NAME: &'static str = "RAdam";

    fn check(&self) -> Result<()> {
        let settings =
            [("learning rate", self.learning_rate), ("eps", self.eps), ("weight decay", self.weight_decay)];
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
        let step = given.step as f64;
        let (correction1, correction2) = (1.0 - beta1.powf(step), 1.0 - beta2.powf(step));
        let rho_limit = 2.0 / (1.0 - beta2) - 1.0;
        let rho = rho_limit - 2.0 * step * beta2.powf(step) / correction2;
        // The denominator is √v · scale + shift: numbers, so that every step has the same structure.
        let (rate, scale, shift) = if rho > 5.0 {
            let variance =
                (rho - 4.0) * (rho - 2.0) * rho_limit / ((rho_limit - 4.0) * (rho_limit - 2.0) * rho);
            (variance.sqrt() * correction2.sqrt(), 1.0, self.eps)
        } else {
            (1.0, 0.0, 1.0)
        };
        let denominator = square.try_sqrt()?.try_mul(scale)?.try_add(shift)?;
        let change = mean.try_mul(-self.learning_rate * rate / correction1)?.try_div(&denominator)?;
        Ok(Update { value: given.value.try_add(change)?, states: vec![mean, square] })
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
