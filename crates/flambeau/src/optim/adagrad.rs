//! Adagrad: every element's rate falls with the squares of its gradients.

use super::FirstOrder;
use super::rule::{Given, Rule, Update, check_not_negative};
use crate::error::Result;
use crate::settings::Settings;
use crate::tensor::Operand;
use serde::{Deserialize, Serialize};

/// The settings of [`Adagrad`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct AdagradOptions {
    /// The learning rate.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// The rate of step t is lr / (1 + (t − 1) · this).
    pub learning_rate_decay: f64,
    /// Adds this times the parameter to the gradient.
    pub weight_decay: f64,
    /// Where the sum of squares starts.
    pub initial_accumulator: f64,
    /// Keeps the denominator away from zero.
    pub eps: f64,
    /// Climbs instead of descending.
    pub maximize: bool,
}

impl Default for AdagradOptions {
    fn default() -> Self {
        AdagradOptions {
            learning_rate: 1e-2,
            learning_rate_decay: 0.0,
            weight_decay: 0.0,
            initial_accumulator: 0.0,
            eps: 1e-10,
            maximize: false,
        }
    }
}

/// Adagrad: s ← s + g², θ ← θ − lrₜ · g / (√s + ε) with lrₜ = lr / (1 + (t − 1) η). Weight decay λ makes g ← g + λ θ first.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Adagrad, Optimizer}};
/// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
/// let mut optimizer = Adagrad::new([w.clone()], 0.5);
/// (w.get() * w.get()).sum(..).backward()?;
/// optimizer.step()?;
/// assert_eq!(w.value().to_string(), "tensor([0.5000, 1.5000])");
/// # Ok::<(), Error>(())
/// ```
pub type Adagrad = FirstOrder<AdagradOptions>;

impl Rule for AdagradOptions {
    const NAME: &'static str = "Adagrad";

    fn check(&self) -> Result<()> {
        let settings = [
            ("learning rate", self.learning_rate),
            ("learning rate decay", self.learning_rate_decay),
            ("weight decay", self.weight_decay),
            ("initial accumulator", self.initial_accumulator),
            ("eps", self.eps),
        ];
        check_not_negative(Self::NAME, &settings)
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        vec![("sum", self.initial_accumulator)]
    }

    fn update(&self, given: &Given) -> Result<Update> {
        let grad = given.gradient(self.maximize, self.weight_decay)?;
        let rate = self.learning_rate / (1.0 + (given.step - 1) as f64 * self.learning_rate_decay);
        let rate: Operand = match given.count().filter(|_| self.learning_rate_decay != 0.0) {
            None => (-rate).into(),
            Some(count) => {
                let slower = count.try_sub(1.0)?.try_mul(self.learning_rate_decay)?.try_add(1.0)?;
                slower.try_reciprocal()?.try_mul(-self.learning_rate)?.into()
            }
        };
        let sum = given.remember(0, &given.states[0].try_add(grad.try_mul(&grad)?)?)?;
        let change = grad.try_mul(rate)?.try_div(sum.try_sqrt()?.try_add(self.eps)?)?;
        Ok(Update { value: given.value.try_add(change)?, states: vec![sum] })
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }
}
