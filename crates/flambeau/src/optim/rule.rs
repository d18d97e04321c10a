//! What makes one optimizer different from another: its settings, what it remembers, and its formula.

use crate::error::{Error, Result};
use crate::nn::Parameter;
use crate::tensor::{Composite, Tensor};
use serde::Serialize;
use serde::de::DeserializeOwned;
use smallvec::SmallVec;
use std::collections::HashSet;
use std::fmt::Debug;

/// What a rule is given: many parameters at once, joined into one flat tensor, with their gradient and states joined
/// in the same way.
#[derive(Debug)]
pub struct Given<'a> {
    /// The parameters, θ.
    pub value: &'a Tensor,
    /// The gradient, g.
    pub grad: &'a Tensor,
    /// What the rule remembers, in the order of [`Rule::states`].
    pub states: &'a [Tensor],
    /// This step's number t, from 1. Where a [`GradScaler`](super::GradScaler) may have skipped steps before, only the device
    /// knows: then it is the number of steps that were tried, and [`count`](Given::count) is t.
    pub step: u64,
    /// The step's number as the device knows it, F32 of shape (), if steps may have been skipped.
    pub(super) count: Option<&'a Tensor>,
    /// True as long as the device has seen no fault.
    pub(super) healthy: &'a Tensor,
}

impl Given<'_> {
    /// This step's number t as a tensor of shape (), where steps may have been skipped before: then only the device knows it.
    pub fn count(&self) -> Option<&Tensor> {
        self.count
    }

    /// An error where only the device knows t: for formulas whose numbers the host must know.
    pub(super) fn require_known_step(&self, optimizer: &'static str) -> Result<()> {
        match self.count {
            None => Ok(()),
            Some(_) => {
                let message = "its numbers depend on how many steps a GradScaler has skipped, which only the device knows; \
                               use Adam or AdamW in mixed precision";
                Err(Error::argument(optimizer, message))
            }
        }
    }

    /// 1 − βᵗ, of shape (), where only the device knows t: −(e^(t log β) − 1), which is precise for β near 1.
    pub(super) fn bias_correction(count: &Tensor, beta: f64) -> Result<Tensor> {
        count.try_mul(beta.ln())?.try_expm1()?.try_neg()
    }

    /// The new value of a state, as long as the device has seen no fault; then it stays what it was. The rest of a
    /// formula should go on with this one: everything is then computed by one kernel.
    pub fn remember(&self, state: usize, new: &Tensor) -> Result<Tensor> {
        self.healthy.try_where_cond(new, &self.states[state])
    }

    /// `state · keep + new · (1 − keep)`: a state that is a running mean.
    pub fn remember_mean(&self, state: usize, new: &Tensor, keep: f64) -> Result<Tensor> {
        self.remember(state, &running_mean(&self.states[state], new, keep)?)
    }

    /// `state · keep + new² · (1 − keep)`: a state that is a running mean of squares.
    pub fn remember_mean_square(&self, state: usize, new: &Tensor, keep: f64) -> Result<Tensor> {
        let square = new.try_mul(1.0 - keep)?.try_mul(new)?;
        self.remember(state, &self.states[state].try_mul(keep)?.try_add(square)?)
    }

    /// What a composite makes of θ, g, the states, and what only the device knows: the new θ and the new states, in this order.
    pub(super) fn update(
        &self,
        formula: &'static Composite,
        settings: &[i64],
        numbers: &[f64],
        known: &[&Tensor],
    ) -> Result<Update> {
        let operands = [self.value, self.grad].into_iter().chain(self.states).chain(known.iter().copied());
        let inputs: SmallVec<[&Tensor; 8]> = operands.collect();
        let outputs = (0..=self.states.len()).map(|_| self.value.meta().clone()).collect();
        let mut results = Tensor::composite(formula, settings, &inputs, numbers, outputs)?.into_iter();
        let value = results.next().expect("an update has the new value");
        Ok(Update { value, states: results.collect() })
    }

    /// The gradient as most rules start from it: −g to maximise, and + λ θ.
    pub fn gradient(&self, maximize: bool, weight_decay: f64) -> Result<Tensor> {
        let grad = if maximize { self.grad.try_neg()? } else { self.grad.clone() };
        match weight_decay {
            0.0 => Ok(grad),
            _ => grad.try_add(self.value.try_mul(weight_decay)?),
        }
    }
}

/// What a rule makes of it.
#[derive(Debug)]
pub struct Update {
    /// The new parameters.
    pub value: Tensor,
    /// The new states, in the same order, as [`Given::remember`] gives them.
    pub states: Vec<Tensor>,
}

/// The settings of an optimizer together with its formula; [`FirstOrder`](super::FirstOrder) makes an optimizer of it.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{FirstOrder, Given, Optimizer, Rule, Update}};
/// /// θ ← θ − lr · sign(g)
/// #[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
/// struct SignDescent { learning_rate: f64 }
///
/// impl Default for SignDescent {
///     fn default() -> Self { SignDescent { learning_rate: 0.01 } }
/// }
///
/// impl Rule for SignDescent {
///     const NAME: &'static str = "SignDescent";
///
///     fn update(&self, given: &Given) -> Result<Update> {
///         let change = given.grad.try_sign()?.try_mul(-self.learning_rate)?;
///         Ok(Update { value: given.value.try_add(change)?, states: Vec::new() })
///     }
///
///     fn learning_rate(&self) -> f64 { self.learning_rate }
///     fn set_learning_rate(&mut self, learning_rate: f64) { self.learning_rate = learning_rate; }
/// }
///
/// let w = Parameter::new(&Tensor::new([1.0, -2.0], &Device::cpu()));
/// let mut optimizer = FirstOrder::<SignDescent>::new([w.clone()], 0.5);
/// (w.get() * w.get()).sum(..).backward()?;
/// optimizer.step()?;
/// assert_eq!(w.value().to_string(), "tensor([ 0.5000, -1.5000])");
/// # Ok::<(), Error>(())
/// ```
pub trait Rule: Default + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The optimizer's name, in errors and saved states.
    const NAME: &'static str;

    /// Is the formula one of elements alone? Then it is applied to all parameters at once, joined into flat tensors;
    /// otherwise to one after the other, each in its own shape.
    const ELEMENTWISE: bool = true;

    /// Refuses settings that make no sense.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Refuses parameters that the rule is not made for.
    fn accepts(&self, parameter: &Parameter) -> Result<()> {
        let _ = parameter;
        Ok(())
    }

    /// Name and first value of everything it remembers about each element.
    fn states(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The formula.
    fn update(&self, given: &Given) -> Result<Update>;

    /// The learning rate.
    fn learning_rate(&self) -> f64;

    /// Changes the learning rate.
    fn set_learning_rate(&mut self, learning_rate: f64);

    /// The momentum (or β₁), where there is one in use.
    fn momentum(&self) -> Option<f64> {
        None
    }

    /// Changes the momentum (or β₁).
    fn set_momentum(&mut self, momentum: f64) {
        let _ = momentum;
    }
}

/// Refuses negative settings, NaN and infinity.
pub(super) fn check_not_negative(optimizer: &'static str, settings: &[(&str, f64)]) -> Result<()> {
    match settings.iter().find(|(_, value)| !value.is_finite() || *value < 0.0) {
        Some((name, value)) => {
            let must = if value.is_finite() { "must not be negative" } else { "must be finite" };
            Err(Error::argument(optimizer, format!("{name} {value} {must}")))
        }
        None => Ok(()),
    }
}

/// Refuses a step with a learning rate or momentum that would make every parameter NaN: both may be set between steps.
pub(super) fn check_step(optimizer: &'static str, rate: f64, momentum: Option<f64>) -> Result<()> {
    for (name, value) in [("learning rate", rate), ("momentum", momentum.unwrap_or(0.0))] {
        if !value.is_finite() {
            let message = format!("the {name} was set to {value}; nothing has moved, set a finite one");
            return Err(Error::argument(optimizer, message));
        }
    }
    Ok(())
}

/// Refuses a list of parameters in which one is twice: it would move twice a step.
pub(super) fn check_distinct(optimizer: &'static str, parameters: &[Parameter]) -> Result<()> {
    let mut seen = HashSet::new();
    match parameters.iter().find(|parameter| !seen.insert(parameter.id())) {
        Some(twice) => {
            let message =
                format!("{twice:?} is in the list twice; `Module::parameters` gives tied ones once");
            Err(Error::argument(optimizer, message))
        }
        None => Ok(()),
    }
}

/// Refuses decay rates outside [0, 1).
pub(super) fn check_betas(optimizer: &'static str, betas: (f64, f64)) -> Result<()> {
    match [betas.0, betas.1].into_iter().find(|beta| !(0.0..1.0).contains(beta)) {
        Some(beta) => Err(Error::argument(optimizer, format!("beta {beta} must be in [0, 1)"))),
        None => Ok(()),
    }
}

/// `old · keep + new · (1 − keep)`, a running mean.
pub(super) fn running_mean(old: &Tensor, new: &Tensor, keep: f64) -> Result<Tensor> {
    old.try_mul(keep)?.try_add(new.try_mul(1.0 - keep)?)
}
