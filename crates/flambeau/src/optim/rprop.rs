//! Resilient backpropagation (Riedmiller and Braun, 1993): steps that follow the signs of gradients alone.

use super::first_order::FirstOrder;
use super::rule::{Given, Rule, Update, check_not_negative};
use crate::error::{Error, Result};
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The settings of [`Rprop`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct RpropOptions {
    /// The size of the first steps.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// What a step is multiplied by where the sign has changed, and where it has not.
    pub etas: (f64, f64),
    /// The smallest and the largest step.
    pub step_sizes: (f64, f64),
}

impl Default for RpropOptions {
    fn default() -> Self {
        RpropOptions { learning_rate: 1e-2, etas: (0.5, 1.2), step_sizes: (1e-6, 50.0) }
    }
}

/// Rprop: θ ← θ − sign(g) · s, where s grows by η₊ as long as the sign of g stays, and shrinks by η₋ when it changes, in which
/// case there is no step. For whole batches: it does not see how large gradients are.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Optimizer, Rprop}};
/// let w = Parameter::new(&Tensor::new([1.0, -2.0], &Device::cpu()));
/// let mut optimizer = Rprop::new([w.clone()], 0.5);
/// (w.get() * w.get()).sum(..).backward()?;
/// optimizer.step()?;
/// assert_eq!(w.value().to_string(), "tensor([ 0.5000, -1.5000])");
/// # Ok::<(), Error>(())
/// ```
pub type Rprop = FirstOrder<RpropOptions>;

impl Rule for RpropOptions {
    const NAME: &'static str = "Rprop";

    fn check(&self) -> Result<()> {
        let (smallest, largest) = self.step_sizes;
        let settings =
            [("learning rate", self.learning_rate), ("smallest step", smallest), ("largest step", largest)];
        check_not_negative(Self::NAME, &settings)?;
        match self.etas {
            (down, up) if 0.0 < down && down < 1.0 && 1.0 < up && up.is_finite() => Ok(()),
            etas => Err(Error::argument(Self::NAME, format!("etas {etas:?} must lie on both sides of 1"))),
        }
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        vec![("prev", 0.0), ("step_size", self.learning_rate)]
    }

    fn update(&self, given: &Given) -> Result<Update> {
        let agreement = given.grad.try_mul(&given.states[0])?;
        let (turned, stayed) = (agreement.try_lt(0.0)?, agreement.try_gt(0.0)?);
        let factor = turned
            .try_where_cond(self.etas.0, &stayed.try_where_cond(self.etas.1, given.grad.ones_like())?)?;
        let size = given.states[1].try_mul(&factor)?.try_clamp(self.step_sizes.0, self.step_sizes.1)?;
        let size = given.remember(1, &size)?;
        let grad = given.remember(0, &turned.try_where_cond(0.0, given.grad)?)?;
        let value = given.value.try_sub(grad.try_sign()?.try_mul(&size)?)?;
        Ok(Update { value, states: vec![grad, size] })
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }
}
