//! Learning rate schedules.
//!
//! A [`Schedule`] is a function of a group's base rate and the number of steps so far, and nothing else; a
//! [`LrScheduler`] counts the steps and sets the rates of an optimizer's groups. [`ReduceLrOnPlateau`] looks at a
//! metric instead.
//!
//! As in PyTorch, a scheduler is stepped after the optimizer, once per epoch or once per batch.

mod curves;
mod cyclic;
mod joined;
mod one_cycle;
mod plateau;

pub use curves::{
    ConstantLr, CosineAnnealingLr, CosineAnnealingWarmRestarts, ExponentialLr, LambdaLr, LinearLr,
    MultiStepLr, PolynomialLr, StepLr,
};
pub use cyclic::{Cycles, CyclicLr};
pub use joined::{SequentialLr, WarmUp};
pub use one_cycle::{Annealing, OneCycleLr};
pub use plateau::{Goal, PlateauOptions, ReduceLrOnPlateau, Threshold};

use super::Optimizer;
use crate::error::Result;
use crate::io::{State, Stateful};

/// A learning rate as a function of the number of steps.
pub trait Schedule: Send + Sync {
    /// The rate after `step` steps of a group that started with `base`.
    fn rate(&self, base: f64, step: u64) -> f64;

    /// The momentum (or β₁) after `step` steps, where the schedule sets one.
    fn momentum(&self, step: u64) -> Option<f64> {
        let _ = step;
        None
    }
}

impl<S: Schedule + ?Sized> Schedule for Box<S> {
    fn rate(&self, base: f64, step: u64) -> f64 {
        (**self).rate(base, step)
    }

    fn momentum(&self, step: u64) -> Option<f64> {
        (**self).momentum(step)
    }
}

/// What changes an optimizer's learning rates from step to step.
pub trait Scheduler: Stateful {
    /// Tells it how training goes, for those that care; call it before [`step`](Scheduler::step).
    fn observe(&mut self, metric: f64) {
        let _ = metric;
    }

    /// Sets the rates of the next step or epoch.
    fn step(&mut self, optimizer: &mut dyn Optimizer);
}

/// Moves the learning rates of an optimizer's groups, each from its own base rate, along a [`Schedule`].
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Adam, LrScheduler, Optimizer, Scheduler, scheduler::StepLr}};
/// let w = Parameter::new(&Tensor::ones([2], &Device::cpu()));
/// let mut adam = Adam::new([w], 0.1);
/// let mut scheduler = LrScheduler::new(&mut adam, StepLr::new(2, 0.5));
/// let mut rates = Vec::new();
/// for _epoch in 0..5 {
///     rates.push(adam.learning_rate());
///     // … train …
///     scheduler.step(&mut adam);
/// }
/// assert_eq!(rates, [0.1, 0.1, 0.05, 0.05, 0.025]);
/// ```
#[derive(Debug, Clone)]
pub struct LrScheduler<S> {
    schedule: S,
    bases: Vec<f64>,
    steps: u64,
}

impl<S: Schedule> LrScheduler<S> {
    /// Takes the optimizer's present rates as the base rates, and sets those of the first step.
    pub fn new(optimizer: &mut dyn Optimizer, schedule: S) -> LrScheduler<S> {
        let mut scheduler = LrScheduler { schedule, bases: Vec::new(), steps: 0 };
        scheduler.set_rates(optimizer);
        scheduler
    }

    /// The number of steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    fn set_rates(&mut self, optimizer: &mut dyn Optimizer) {
        // Groups may have been added since.
        let new =
            (self.bases.len()..optimizer.group_count()).map(|group| optimizer.group_learning_rate(group));
        self.bases.extend(new.collect::<Vec<_>>());
        for (group, &base) in self.bases.iter().enumerate() {
            optimizer.set_group_learning_rate(group, self.schedule.rate(base, self.steps));
            if let Some(momentum) = self.schedule.momentum(self.steps)
                && optimizer.group_momentum(group).is_some()
            {
                optimizer.set_group_momentum(group, momentum);
            }
        }
    }
}

impl<S: Schedule> Scheduler for LrScheduler<S> {
    fn step(&mut self, optimizer: &mut dyn Optimizer) {
        self.steps += 1;
        self.set_rates(optimizer);
    }
}

/// The schedule itself is not saved; the rates in force are the optimizer's.
impl<S: Schedule> Stateful for LrScheduler<S> {
    fn state(&self) -> State {
        let mut state = State::default();
        state.set("steps", self.steps);
        state.set("bases", self.bases.clone());
        state
    }

    fn load_state(&mut self, state: &State) -> Result<()> {
        (self.steps, self.bases) = (state.value("steps")?, state.value("bases")?);
        Ok(())
    }
}
