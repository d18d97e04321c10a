//! A schedule that looks at how training goes.

use super::Scheduler;
use crate::error::Result;
use crate::io::{State, Stateful};
use crate::optim::Optimizer;
use crate::settings::{Settings, words};

/// Which metrics are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Smaller ones, such as losses.
    Lowest,
    /// Larger ones, such as accuracies.
    Highest,
}

words!(Goal { "min" => Lowest, "max" => Highest });

/// By how much a metric must beat the best so far to count as better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// By this share of the best.
    Relative(f64),
    /// By this much.
    Absolute(f64),
}

/// The settings of [`ReduceLrOnPlateau`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Settings)]
pub struct PlateauOptions {
    /// Which metrics are better.
    pub goal: Goal,
    /// What rates are multiplied with.
    pub factor: f64,
    /// Steps without improvement that are still fine.
    pub patience: u64,
    /// What counts as improvement.
    #[setting(skip)]
    pub threshold: Threshold,
    /// Steps after a fall in which nothing is counted.
    pub cool_down: u64,
    /// Rates do not fall below this.
    pub lowest: f64,
    /// Falls smaller than this are left out.
    pub eps: f64,
}

impl Default for PlateauOptions {
    fn default() -> Self {
        PlateauOptions {
            goal: Goal::Lowest,
            factor: 0.1,
            patience: 10,
            threshold: Threshold::Relative(1e-4),
            cool_down: 0,
            lowest: 0.0,
            eps: 1e-8,
        }
    }
}

/// Lowers the learning rates by a factor when a metric has not become better for more than `patience` steps.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Optimizer, Scheduler, Sgd}};
/// use flambeau::optim::scheduler::{PlateauOptions, ReduceLrOnPlateau};
/// let mut sgd = Sgd::new([Parameter::new(&Tensor::ones([1], &Device::cpu()))], 1.0);
/// let mut scheduler = ReduceLrOnPlateau::new(PlateauOptions { patience: 1, ..Default::default() });
/// for loss in [3.0, 2.0, 2.0, 2.0, 2.0] {
///     scheduler.observe(loss);
///     scheduler.step(&mut sgd);
/// }
/// assert_eq!(sgd.learning_rate(), 0.1);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReduceLrOnPlateau {
    options: PlateauOptions,
    progress: Progress,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Progress {
    metric: Option<f64>,
    best: Option<f64>,
    bad_steps: u64,
    cooling: u64,
}

impl ReduceLrOnPlateau {
    /// With these settings; it has seen nothing yet.
    pub fn new(options: PlateauOptions) -> ReduceLrOnPlateau {
        ReduceLrOnPlateau { options, progress: Progress::default() }
    }

    fn is_better(&self, metric: f64) -> bool {
        let Some(best) = self.progress.best else { return !metric.is_nan() };
        match (self.options.goal, self.options.threshold) {
            (Goal::Lowest, Threshold::Relative(share)) => metric < best * (1.0 - share),
            (Goal::Lowest, Threshold::Absolute(margin)) => metric < best - margin,
            (Goal::Highest, Threshold::Relative(share)) => metric > best * (1.0 + share),
            (Goal::Highest, Threshold::Absolute(margin)) => metric > best + margin,
        }
    }
}

impl Scheduler for ReduceLrOnPlateau {
    fn observe(&mut self, metric: f64) {
        self.progress.metric = Some(metric);
    }

    /// Does nothing if no metric has been observed since the last time.
    fn step(&mut self, optimizer: &mut dyn Optimizer) {
        let Some(metric) = self.progress.metric.take() else { return };
        if self.is_better(metric) {
            self.progress.best = Some(metric);
            self.progress.bad_steps = 0;
        } else {
            self.progress.bad_steps += 1;
        }
        if self.progress.cooling > 0 {
            self.progress.cooling -= 1;
            self.progress.bad_steps = 0;
        }
        if self.progress.bad_steps > self.options.patience {
            for group in 0..optimizer.group_count() {
                let rate = optimizer.group_learning_rate(group);
                let lower = (rate * self.options.factor).max(self.options.lowest);
                if rate - lower > self.options.eps {
                    optimizer.set_group_learning_rate(group, lower);
                }
            }
            self.progress.cooling = self.options.cool_down;
            self.progress.bad_steps = 0;
        }
    }
}

/// The settings are not saved; the rates in force are the optimizer's.
impl Stateful for ReduceLrOnPlateau {
    fn state(&self) -> State {
        let mut state = State::default();
        state.set("best", self.progress.best);
        state.set("bad_steps", self.progress.bad_steps);
        state.set("cooling", self.progress.cooling);
        state
    }

    fn load_state(&mut self, state: &State) -> Result<()> {
        let (best, bad_steps, cooling) =
            (state.value("best")?, state.value("bad_steps")?, state.value("cooling")?);
        self.progress = Progress { metric: None, best, bad_steps, cooling };
        Ok(())
    }
}
