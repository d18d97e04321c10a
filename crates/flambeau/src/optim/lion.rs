//! Lion: the sign of a running mean of gradients.

use super::FirstOrder;
use super::rule::{Given, Rule, Update, check_betas, check_not_negative, running_mean};
use crate::error::Result;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The settings of [`Lion`]; the defaults are the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct LionOptions {
    /// The learning rate.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// How much of the running mean counts in a step, and how much of it is kept.
    pub betas: (f64, f64),
    /// λ: see the optimizer.
    pub weight_decay: f64,
}

impl Default for LionOptions {
    fn default() -> Self {
        LionOptions { learning_rate: 1e-4, betas: (0.9, 0.99), weight_decay: 0.0 }
    }
}

/// Lion ("Symbolic Discovery of Optimization Algorithms", 2023): θ ← (1 − lr · λ) θ − lr · sign(β₁ m + (1 − β₁) g), then
/// m ← β₂ m + (1 − β₂) g.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Lion, Optimizer}};
/// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
/// let mut optimizer = Lion::new([w.clone()], 0.5);
/// (w.get() * w.get()).sum(..).backward()?;
/// optimizer.step()?;
/// assert_eq!(w.value().to_string(), "tensor([0.5000, 1.5000])");
/// # Ok::<(), Error>(())
/// ```
pub type Lion = FirstOrder<LionOptions>;

impl Rule for LionOptions {
    const NAME: &'static str = "Lion";

    fn check(&self) -> Result<()> {
        let settings = [("learning rate", self.learning_rate), ("weight decay", self.weight_decay)];
        check_not_negative(Self::NAME, &settings)?;
        check_betas(Self::NAME, self.betas)
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        vec![("exp_avg", 0.0)]
    }

    fn update(&self, given: &Given) -> Result<Update> {
        let direction = running_mean(&given.states[0], given.grad, self.betas.0)?.try_sign()?;
        let mean = given.remember_mean(0, given.grad, self.betas.1)?;
        let value = match self.weight_decay {
            0.0 => given.value.clone(),
            decay => given.value.try_mul(1.0 - self.learning_rate * decay)?,
        };
        Ok(Update { value: value.try_add(direction.try_mul(-self.learning_rate)?)?, states: vec![mean] })
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
