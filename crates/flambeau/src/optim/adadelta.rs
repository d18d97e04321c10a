//! Adadelta: steps in the units of the parameter, from running means of squares.

use super::FirstOrder;
use super::rule::{Given, Rule, Update, check_not_negative};
use crate::error::{Error, Result};
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The settings of [`Adadelta`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct AdadeltaOptions {
    /// The learning rate.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// How much of the running means of squares is kept.
    pub rho: f64,
    /// Keeps the denominator away from zero.
    pub eps: f64,
    /// Adds this times the parameter to the gradient.
    pub weight_decay: f64,
    /// Climbs instead of descending.
    pub maximize: bool,
}

impl Default for AdadeltaOptions {
    fn default() -> Self {
        AdadeltaOptions { learning_rate: 1.0, rho: 0.9, eps: 1e-6, weight_decay: 0.0, maximize: false }
    }
}

/// Adadelta: v ← ρ v + (1 − ρ) g², δ = g √(u + ε) / √(v + ε), u ← ρ u + (1 − ρ) δ², θ ← θ − lr · δ. Weight decay λ makes
/// g ← g + λ θ first.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Adadelta, Optimizer}};
/// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
/// let mut optimizer = Adadelta::new([w.clone()], 10.0);
/// (w.get() * w.get()).sum(..).backward()?;
/// optimizer.step()?;
/// assert_eq!(w.value().to_string(), "tensor([0.9684, 1.9684])");
/// # Ok::<(), Error>(())
/// ```
pub type Adadelta = FirstOrder<AdadeltaOptions>;

impl Rule for AdadeltaOptions {
    const NAME: &'static str = "Adadelta";

    fn check(&self) -> Result<()> {
        let settings =
            [("learning rate", self.learning_rate), ("eps", self.eps), ("weight decay", self.weight_decay)];
        check_not_negative(Self::NAME, &settings)?;
        match (0.0..=1.0).contains(&self.rho) {
            true => Ok(()),
            false => Err(Error::argument(Self::NAME, format!("rho {} must be in [0, 1]", self.rho))),
        }
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        vec![("square_avg", 0.0), ("acc_delta", 0.0)]
    }

    fn update(&self, given: &Given) -> Result<Update> {
        let grad = given.gradient(self.maximize, self.weight_decay)?;
        let square = given.remember_mean_square(0, &grad, self.rho)?;
        let deviation = square.try_add(self.eps)?.try_sqrt()?;
        let scale = given.states[1].try_add(self.eps)?.try_sqrt()?;
        let delta = scale.try_div(&deviation)?.try_mul(&grad)?;
        let deltas = given.remember_mean_square(1, &delta, self.rho)?;
        let value = given.value.try_add(delta.try_mul(-self.learning_rate)?)?;
        Ok(Update { value, states: vec![square, deltas] })
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }
}
