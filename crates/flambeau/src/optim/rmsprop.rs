//! RMSprop: gradients divided by the root of their mean square.

use super::FirstOrder;
use super::rule::{Given, Rule, Update, check_not_negative};
use crate::error::Result;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The settings of [`RmsProp`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct RmsPropOptions {
    /// The learning rate.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// How much of the running mean of squares is kept.
    pub alpha: f64,
    /// Keeps the denominator away from zero.
    pub eps: f64,
    /// Adds this times the parameter to the gradient.
    pub weight_decay: f64,
    /// How much of the last direction is kept.
    pub momentum: f64,
    /// Divides by the deviation from the mean gradient instead.
    pub centered: bool,
    /// Climbs instead of descending.
    pub maximize: bool,
}

impl Default for RmsPropOptions {
    fn default() -> Self {
        RmsPropOptions {
            learning_rate: 1e-2,
            alpha: 0.99,
            eps: 1e-8,
            weight_decay: 0.0,
            momentum: 0.0,
            centered: false,
            maximize: false,
        }
    }
}

/// RMSprop: v ← α v + (1 − α) g², δ = g / (√v + ε), or g / (√(v − m²) + ε) with m ← α m + (1 − α) g when centered;
/// θ ← θ − lr · δ, or with momentum μ: b ← μ b + δ, θ ← θ − lr · b. Weight decay λ makes g ← g + λ θ first.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{RmsProp, Optimizer}};
/// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
/// let mut optimizer = RmsProp::new([w.clone()], 0.05);
/// (w.get() * w.get()).sum(..).backward()?;
/// optimizer.step()?;
/// assert_eq!(w.value().to_string(), "tensor([0.5000, 1.5000])");
/// # Ok::<(), Error>(())
/// ```
pub type RmsProp = FirstOrder<RmsPropOptions>;

impl Rule for RmsPropOptions {
    const NAME: &'static str = "RmsProp";

    fn check(&self) -> Result<()> {
        let settings = [
            ("learning rate", self.learning_rate),
            ("alpha", self.alpha),
            ("eps", self.eps),
            ("weight decay", self.weight_decay),
            ("momentum", self.momentum),
        ];
        check_not_negative(Self::NAME, &settings)
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        let mut states = vec![("square_avg", 0.0)];
        states.extend(self.centered.then_some(("grad_avg", 0.0)));
        states.extend((self.momentum > 0.0).then_some(("momentum_buffer", 0.0)));
        states
    }

    fn update(&self, given: &Given) -> Result<Update> {
        let grad = given.gradient(self.maximize, self.weight_decay)?;
        let mut states = vec![given.remember_mean_square(0, &grad, self.alpha)?];
        let mut variance = states[0].clone();
        if self.centered {
            let mean = given.remember_mean(1, &grad, self.alpha)?;
            variance = variance.try_sub(mean.try_mul(&mean)?)?;
            states.push(mean);
        }
        let mut change = grad.try_div(variance.try_sqrt()?.try_add(self.eps)?)?;
        if self.momentum > 0.0 {
            let (buffer, before) = (states.len(), &given.states[states.len()]);
            change = given.remember(buffer, &before.try_mul(self.momentum)?.try_add(change)?)?;
            states.push(change.clone());
        }
        Ok(Update { value: given.value.try_add(change.try_mul(-self.learning_rate)?)?, states })
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }

    fn momentum(&self) -> Option<f64> {
        (self.momentum != 0.0).then_some(self.momentum)
    }

    fn set_momentum(&mut self, momentum: f64) {
        self.momentum = momentum;
    }
}
