//! Averaged stochastic gradient descent (Polyak and Juditsky, 1992).

use super::first_order::FirstOrder;
use super::rule::{Given, Rule, Update, check_not_negative};
use crate::error::Result;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The settings of [`Asgd`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct AsgdOptions {
    /// The learning rate.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// How quickly values and the learning rate decay.
    pub lambda: f64,
    /// The power of the learning rate's decay.
    pub alpha: f64,
    /// The step after which averages begin.
    pub start: f64,
    /// λ of the squared values that are added to the loss.
    pub weight_decay: f64,
    /// Climb instead?
    pub maximize: bool,
}

impl Default for AsgdOptions {
    fn default() -> Self {
        AsgdOptions {
            learning_rate: 1e-2,
            lambda: 1e-4,
            alpha: 0.75,
            start: 1e6,
            weight_decay: 0.0,
            maximize: false,
        }
    }
}

/// ASGD: θ ← (1 − λ ηₜ) θ − ηₜ g with ηₜ = lr / (1 + λ lr (t − 1))^α, and beside it the mean of θ after the first steps, which is
/// the state `ax`.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Asgd, Optimizer}};
/// let w = Parameter::new(&Tensor::new([1.0, -2.0], &Device::cpu()));
/// let mut optimizer = Asgd::new([w.clone()], 0.1);
/// (w.get() * w.get()).sum(..).backward()?;
/// optimizer.step()?;
/// assert_eq!(w.value().to_string(), "tensor([ 0.8000, -1.6000])");
/// # Ok::<(), Error>(())
/// ```
pub type Asgd = FirstOrder<AsgdOptions>;

impl Rule for AsgdOptions {
    const NAME: &'static str = "ASGD";

    fn check(&self) -> Result<()> {
        let settings = [
            ("learning rate", self.learning_rate),
            ("lambda", self.lambda),
            ("alpha", self.alpha),
            ("start", self.start),
            ("weight decay", self.weight_decay),
        ];
        check_not_negative(Self::NAME, &settings)
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        vec![("ax", 0.0)]
    }

    fn update(&self, given: &Given) -> Result<Update> {
        given.require_known_step(Self::NAME)?;
        let grad = given.gradient(self.maximize, self.weight_decay)?;
        let before = (given.step - 1) as f64;
        let rate = self.learning_rate / (1.0 + self.lambda * self.learning_rate * before).powf(self.alpha);
        let value = given.value.try_mul(1.0 - self.lambda * rate)?.try_sub(grad.try_mul(rate)?)?;
        let share = 1.0 / (before - self.start).max(1.0);
        let mean = given.states[0].try_add(value.try_sub(&given.states[0])?.try_mul(share)?)?;
        Ok(Update { value, states: vec![given.remember(0, &mean)?] })
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }
}
