//! Stochastic gradient descent.

use super::Optimizer;
use super::slots::{Given, Slots, Update};
use crate::error::{Error, Result, expect};
use crate::nn::Parameter;
use crate::tensor::Tensor;

/// The settings of [`Sgd`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SgdOptions {
    /// The learning rate.
    pub learning_rate: f64,
    /// How much of the last direction is kept.
    pub momentum: f64,
    /// How much of the gradient the momentum leaves out.
    pub dampening: f64,
    /// Looks ahead along the momentum.
    pub nesterov: bool,
    /// Adds this times the parameter to the gradient.
    pub weight_decay: f64,
}

impl Default for SgdOptions {
    fn default() -> Self {
        SgdOptions { learning_rate: 1e-3, momentum: 0.0, dampening: 0.0, nesterov: false, weight_decay: 0.0 }
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
#[derive(Debug)]
pub struct Sgd {
    slots: Slots,
    options: SgdOptions,
}

impl Sgd {
    /// Plain descent with this learning rate.
    #[track_caller]
    pub fn new(parameters: impl IntoIterator<Item = Parameter>, learning_rate: f64) -> Sgd {
        Sgd::with_options(parameters, SgdOptions { learning_rate, ..Default::default() })
    }

    /// Descent with all settings.
    #[track_caller]
    pub fn with_options(parameters: impl IntoIterator<Item = Parameter>, options: SgdOptions) -> Sgd {
        expect(Sgd::try_with_options(parameters, options))
    }

    /// [`with_options`](Sgd::with_options), or the error instead of a panic.
    pub fn try_with_options(
        parameters: impl IntoIterator<Item = Parameter>,
        options: SgdOptions,
    ) -> Result<Sgd> {
        let SgdOptions { learning_rate, momentum, dampening, nesterov, weight_decay } = options;
        for (name, value) in
            [("learning rate", learning_rate), ("momentum", momentum), ("weight decay", weight_decay)]
        {
            if value.is_nan() || value < 0.0 {
                return Err(Error::argument("Sgd", format!("{name} {value} must not be negative")));
            }
        }
        if nesterov && (momentum <= 0.0 || dampening != 0.0) {
            return Err(Error::argument("Sgd", "Nesterov's momentum needs a momentum and no dampening"));
        }
        Ok(Sgd { slots: Slots::new("Sgd", parameters, usize::from(momentum != 0.0))?, options })
    }
}

impl SgdOptions {
    fn rule(&self, given: &Given) -> Result<Update> {
        let mut grad = given.grad.clone();
        if self.weight_decay != 0.0 {
            grad = grad.try_add(given.value.try_mul(self.weight_decay)?)?;
        }
        let mut state: Vec<Tensor> = Vec::new();
        if let [before] = given.state {
            // The first time the direction is the gradient itself; the state is zero then.
            let share = if given.step == 1 { 1.0 } else { 1.0 - self.dampening };
            let direction = before.try_mul(self.momentum)?.try_add(grad.try_mul(share)?)?;
            grad = match self.nesterov {
                true => grad.try_add(direction.try_mul(self.momentum)?)?,
                false => direction.clone(),
            };
            state.push(direction);
        }
        Ok(Update { value: given.value.try_add(grad.try_mul(-self.learning_rate)?)?, state })
    }
}

impl Optimizer for Sgd {
    fn step(&mut self) -> Result<()> {
        self.slots.step(|given| self.options.rule(given))
    }

    fn zero_grad(&self) {
        self.slots.zero_grad();
    }

    fn learning_rate(&self) -> f64 {
        self.options.learning_rate
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.options.learning_rate = learning_rate;
    }
}
