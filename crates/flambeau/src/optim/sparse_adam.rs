//! Adam for tables of which each step uses a few rows, as embeddings are.

use super::first_order::FirstOrder;
use super::rule::{Given, Rule, Update, check_betas, check_not_negative, running_mean};
use crate::error::Result;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The settings of [`SparseAdam`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct SparseAdamOptions {
    /// The learning rate.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// β₁ and β₂: how much of the running means of gradients and of their squares is kept.
    pub betas: (f64, f64),
    /// ε: what is added to the denominator.
    pub eps: f64,
    /// Maximises instead of minimising.
    pub maximize: bool,
}

impl Default for SparseAdamOptions {
    fn default() -> Self {
        SparseAdamOptions { learning_rate: 1e-3, betas: (0.9, 0.999), eps: 1e-8, maximize: false }
    }
}

/// Adam that leaves rows alone whose gradient is 0 everywhere: neither they nor their running means change. Of the others,
/// m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − lr √(1 − β₂ᵗ) / (1 − β₁ᵗ) · m / (√v + ε), t being the number of all
/// steps. A row is what lies at one position of the first dimension. PyTorch's takes rows from sparse gradients; gradients are dense here.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Optimizer, SparseAdam}};
/// let table = Parameter::new(&Tensor::new([[1.0, 1.0], [2.0, 2.0]], &Device::cpu()));
/// let mut optimizer = SparseAdam::new([table.clone()], 0.5);
/// table.get().select(0, 1).sum(..).backward()?;
/// optimizer.step()?;
/// assert_eq!(table.value().to_string(), "tensor([[1.0000, 1.0000],\n        [1.5000, 1.5000]])");
/// # Ok::<(), Error>(())
/// ```
pub type SparseAdam = FirstOrder<SparseAdamOptions>;

impl Rule for SparseAdamOptions {
    const NAME: &'static str = "SparseAdam";
    const ELEMENTWISE: bool = false;

    fn check(&self) -> Result<()> {
        check_not_negative(Self::NAME, &[("learning rate", self.learning_rate), ("eps", self.eps)])?;
        check_betas(Self::NAME, self.betas)
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        vec![("exp_avg", 0.0), ("exp_avg_sq", 0.0)]
    }

    fn update(&self, given: &Given) -> Result<Update> {
        given.require_known_step(Self::NAME)?;
        let grad = given.gradient(self.maximize, 0.0)?;
        let is_used = grad.try_ne(0.0)?;
        let is_used = match grad.rank() {
            0 | 1 => is_used,
            rank => is_used.try_any_keepdim(&(1..rank as isize).collect::<Vec<_>>()[..])?,
        };
        let is_used = is_used.try_expand(grad.shape())?;
        let (first, second) = self.betas;
        let mean = running_mean(&given.states[0], &grad, first)?;
        let square = given.states[1].try_mul(second)?.try_add(grad.try_square()?.try_mul(1.0 - second)?)?;
        let mean = given.remember(0, &is_used.try_where_cond(&mean, &given.states[0])?)?;
        let square = given.remember(1, &is_used.try_where_cond(&square, &given.states[1])?)?;
        let step = given.step as f64;
        let rate = self.learning_rate * (1.0 - second.powf(step)).sqrt() / (1.0 - first.powf(step));
        let change = mean.try_mul(-rate)?.try_div(square.try_sqrt()?.try_add(self.eps)?)?;
        let value = is_used.try_where_cond(given.value.try_add(change)?, given.value)?;
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
