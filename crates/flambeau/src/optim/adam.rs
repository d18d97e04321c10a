//! Adam, and AdamW, which decouples weight decay from the gradient.

use super::FirstOrder;
use super::rule::{Given, Rule, Update, check_betas, check_not_negative};
use crate::error::Result;
use crate::settings::Settings;
use crate::tensor::Composite;
use serde::{Deserialize, Serialize};

/// The settings of [`Adam`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct AdamOptions {
    /// The learning rate.
    #[setting(name = "lr")]
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
        let AdamOptions { learning_rate, betas, eps, weight_decay, maximize, .. } = *self;
        let decay = if weight_decay == 0.0 { Decay::None } else { Decay::OfGradient };
        descend(given, learning_rate, betas, eps, maximize, (decay, weight_decay))
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct AdamWOptions {
    /// The learning rate.
    #[setting(name = "lr")]
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
        let AdamWOptions { learning_rate, betas, eps, weight_decay, maximize, .. } = *self;
        let decay = (Decay::OfValue, 1.0 - learning_rate * weight_decay);
        descend(given, learning_rate, betas, eps, maximize, decay)
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

/// What weight decay does.
#[derive(Clone, Copy, PartialEq)]
enum Decay {
    None,
    /// g ← g + number · θ.
    OfGradient,
    /// θ ← number · θ.
    OfValue,
}

/// What both have in common: one node for the whole formula.
fn descend(
    given: &Given,
    learning_rate: f64,
    (beta1, beta2): (f64, f64),
    eps: f64,
    maximize: bool,
    (decay, decay_number): (Decay, f64),
) -> Result<Update> {
    let step = given.step as f64;
    let (correction1, correction2) = (1.0 - beta1.powf(step), 1.0 - beta2.powf(step));
    let change = -learning_rate / correction1;
    let numbers = [beta1, 1.0 - beta1, beta2, 1.0 - beta2, correction2.sqrt(), eps, change, decay_number];
    let settings = [i64::from(maximize), decay as i64, given.states.len() as i64];
    let Some(count) = given.count() else { return given.update(&ADAM, &settings, &numbers, &[]) };
    let [correction1, correction2] = [beta1, beta2].map(|beta| Given::bias_correction(count, beta));
    let change = correction1?.try_reciprocal()?.try_mul(-learning_rate)?;
    given.update(&ADAM, &settings, &numbers, &[&correction2?.try_sqrt()?, &change])
}

/// Of θ, g, m, v and, for AMSGrad, the largest v; settings: is it maximised, the kind of decay, and how many states there are.
/// After these √(1 − β₂ᵗ) and −lr / (1 − β₁ᵗ) follow where only the device knows t.
static ADAM: Composite = Composite::guarded("adam", |of| {
    let [value, grad, mean, square, rest @ ..] = of.inputs else { unreachable!("θ, g, m and v") };
    let (largest, of_step) = rest.split_at(of.settings[2] as usize - 2);
    let [beta1, rest1, beta2, rest2, mut root_correction, eps, mut rate, decay] =
        std::array::from_fn(|index| of.number(index, value));
    if let [known_root, known_rate] = of_step {
        (root_correction, rate) = (known_root.clone(), known_rate.clone());
    }
    let healthy = value.healthy()?;
    let mut grad = if of.settings[0] == 1 { grad.try_neg()? } else { grad.clone() };
    let mut start = value.clone();
    if of.settings[1] == Decay::OfGradient as i64 {
        grad = grad.try_add(value.try_mul(&decay)?)?;
    }
    if of.settings[1] == Decay::OfValue as i64 {
        start = value.try_mul(&decay)?;
    }
    let new_mean = mean.try_mul(beta1)?.try_add(grad.try_mul(rest1)?)?;
    let new_mean = healthy.try_where_cond(&new_mean, mean)?;
    let new_square = square.try_mul(beta2)?.try_add(grad.try_mul(rest2)?.try_mul(&grad)?)?;
    let new_square = healthy.try_where_cond(&new_square, square)?;
    let new_largest = largest.first().map(|largest| {
        // A NaN in the new square stays there, and is chosen.
        let larger = largest.try_gt(&new_square)?.try_where_cond(largest, &new_square)?;
        healthy.try_where_cond(&larger, largest)
    });
    let new_largest = new_largest.transpose()?;
    let root = new_largest.as_ref().unwrap_or(&new_square).try_sqrt()?;
    let denominator = root.try_div(root_correction)?.try_add(eps)?;
    let change = new_mean.try_mul(rate)?.try_div(&denominator)?;
    let new_value = healthy.try_where_cond(start.try_add(change)?, value)?;
    Ok([new_value, new_mean, new_square].into_iter().chain(new_largest).collect())
});
