//! Adamax: Adam with the largest gradient instead of the mean of squares.

use super::FirstOrder;
use super::rule::{Given, Rule, Update, check_betas, check_not_negative};
use crate::error::Result;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The settings of [`Adamax`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct AdamaxOptions {
    /// The learning rate.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// How much of the running means is kept.
    pub betas: (f64, f64),
    /// Keeps the denominator away from zero.
    pub eps: f64,
    /// Adds this times the parameter to the gradient.
    pub weight_decay: f64,
    /// Climbs instead of descending.
    pub maximize: bool,
}

impl Default for AdamaxOptions {
    fn default() -> Self {
        AdamaxOptions {
            learning_rate: 2e-3,
            betas: (0.9, 0.999),
            eps: 1e-8,
            weight_decay: 0.0,
            maximize: false,
        }
    }
}

/// Adamax: m ← β₁ m + (1 − β₁) g, u ← max(β₂ u, |g| + ε), θ ← θ − lr / (1 − β₁ᵗ) · m / u. Weight decay λ makes
/// g ← g + λ θ first.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Adamax, Optimizer}};
/// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
/// let mut optimizer = Adamax::new([w.clone()], 0.5);
/// (w.get() * w.get()).sum(..).backward()?;
/// optimizer.step()?;
/// assert_eq!(w.value().to_string(), "tensor([0.5000, 1.5000])");
/// # Ok::<(), Error>(())
/// ```
pub type Adamax = FirstOrder<AdamaxOptions>;

impl Rule for AdamaxOptions {
    const NAME: &'static str = "Adamax";

    fn check(&self) -> Result<()> {
        let settings =
            [("learning rate", self.learning_rate), ("eps", self.eps), ("weight decay", self.weight_decay)];
        check_not_negative(Self::NAME, &settings)?;
        check_betas(Self::NAME, self.betas)
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        vec![("exp_avg", 0.0), ("exp_inf", 0.0)]
    }

    fn update(&self, given: &Given) -> Result<Update> {
        let grad = given.gradient(self.maximize, self.weight_decay)?;
        let (beta1, beta2) = self.betas;
        let mean = given.remember_mean(0, &grad, beta1)?;
        let largest = given.states[1].try_mul(beta2)?.try_maximum(grad.try_abs()?.try_add(self.eps)?)?;
        let largest = given.remember(1, &largest)?;
        let direction = match given.count() {
            None => mean.try_mul(-self.learning_rate / (1.0 - beta1.powf(given.step as f64)))?,
            Some(count) => {
                let rate =
                    Given::bias_correction(count, beta1)?.try_reciprocal()?.try_mul(-self.learning_rate)?;
                mean.try_mul(&rate)?
            }
        };
        let value = given.value.try_add(direction.try_div(&largest)?)?;
        Ok(Update { value, states: vec![mean, largest] })
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
