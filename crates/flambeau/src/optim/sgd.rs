//! Stochastic gradient descent.

use super::FirstOrder;
use super::rule::{Given, Rule, Update, check_not_negative};
use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::tensor::Composite;
use serde::{Deserialize, Serialize};

/// The settings of [`Sgd`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct SgdOptions {
    /// The learning rate.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// How much of the last direction is kept.
    pub momentum: f64,
    /// How much of the gradient the momentum leaves out.
    pub dampening: f64,
    /// Looks ahead along the momentum.
    pub nesterov: bool,
    /// Adds this times the parameter to the gradient.
    pub weight_decay: f64,
    /// Climbs instead of descending.
    pub maximize: bool,
}

impl Default for SgdOptions {
    fn default() -> Self {
        SgdOptions {
            learning_rate: 1e-3,
            momentum: 0.0,
            dampening: 0.0,
            nesterov: false,
            weight_decay: 0.0,
            maximize: false,
        }
    }
}

/// Stochastic gradient descent with momentum μ and dampening τ: b ← μ b + (1 − τ) g (b ← g the first time),
/// θ ← θ − lr · b, or θ − lr · (g + μ b) with Nesterov's momentum. Weight decay λ makes g ← g + λ θ first.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Optimizer, Sgd}};
/// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
/// let mut sgd = Sgd::new([w.clone()], 0.25);
/// (w.get() * w.get()).sum(..).backward()?;
/// sgd.step()?;
/// sgd.zero_grad();
/// assert_eq!(w.value().to_string(), "tensor([0.5000, 1.0000])");
/// # Ok::<(), Error>(())
/// ```
pub type Sgd = FirstOrder<SgdOptions>;

impl Rule for SgdOptions {
    const NAME: &'static str = "Sgd";

    fn check(&self) -> Result<()> {
        let SgdOptions { learning_rate, momentum, dampening, nesterov, weight_decay, .. } = *self;
        let settings =
            [("learning rate", learning_rate), ("momentum", momentum), ("weight decay", weight_decay)];
        check_not_negative(Self::NAME, &settings)?;
        if nesterov && (momentum <= 0.0 || dampening != 0.0) {
            return Err(Error::argument(Self::NAME, "Nesterov's momentum needs a momentum and no dampening"));
        }
        Ok(())
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        if self.momentum == 0.0 { Vec::new() } else { vec![("momentum_buffer", 0.0)] }
    }

    fn update(&self, given: &Given) -> Result<Update> {
        // The first time the direction is the gradient itself; the state is zero then.
        let share = if given.step == 1 { 1.0 } else { 1.0 - self.dampening };
        let numbers = [-self.learning_rate, self.weight_decay, self.momentum, share];
        let settings = [self.maximize, self.weight_decay != 0.0, self.nesterov].map(i64::from);
        match given.count().filter(|_| self.dampening != 0.0 && self.momentum != 0.0) {
            None => given.update(&SGD, &settings, &numbers, &[]),
            Some(count) => {
                let share = count.try_eq(1.0)?.try_where_cond(count.ones_like(), 1.0 - self.dampening)?;
                given.update(&SGD, &settings, &numbers, &[&share])
            }
        }
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

/// Of θ, g and, with momentum, its buffer; settings: is it maximised, is there weight decay, is it Nesterov's. The gradient's
/// share follows where only the device knows whether this is the first step.
static SGD: Composite = Composite::guarded("sgd", |of| {
    let [value, grad, buffer @ ..] = of.inputs else { unreachable!("θ and g") };
    let [rate, decay, momentum, mut share] = std::array::from_fn(|index| of.number(index, value));
    if let [_, known] = buffer {
        share = known.clone();
    }
    let healthy = value.healthy()?;
    let mut grad = if of.settings[0] == 1 { grad.try_neg()? } else { grad.clone() };
    if of.settings[1] == 1 {
        grad = grad.try_add(value.try_mul(decay)?)?;
    }
    let new_buffer = buffer.first().map(|buffer| {
        let new = buffer.try_mul(&momentum)?.try_add(grad.try_mul(&share)?)?;
        healthy.try_where_cond(&new, buffer)
    });
    let new_buffer = new_buffer.transpose()?;
    let direction = match &new_buffer {
        None => grad,
        Some(buffer) if of.settings[2] == 1 => grad.try_add(buffer.try_mul(momentum)?)?,
        Some(buffer) => buffer.clone(),
    };
    let new_value = healthy.try_where_cond(value.try_add(direction.try_mul(rate)?)?, value)?;
    Ok([new_value].into_iter().chain(new_buffer).collect())
});
