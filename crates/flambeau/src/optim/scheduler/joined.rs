//! Schedules made of others.

use super::{LinearLr, Schedule};
use crate::error::{Error, Result, expect};

/// One schedule after the other; each counts from its own first step.
///
/// ```
/// use flambeau::optim::scheduler::{ConstantLr, ExponentialLr, Schedule, SequentialLr};
/// let curve = SequentialLr::new(vec![Box::new(ConstantLr::new(0.1, 5)), Box::new(ExponentialLr::new(0.5))], vec![5]);
/// assert_eq!((curve.rate(1.0, 4), curve.rate(1.0, 5), curve.rate(1.0, 7)), (0.1, 1.0, 0.25));
/// ```
pub struct SequentialLr {
    schedules: Vec<Box<dyn Schedule>>,
    milestones: Vec<u64>,
}

impl SequentialLr {
    /// Schedules, and the steps at which each but the first takes over.
    #[track_caller]
    pub fn new(schedules: Vec<Box<dyn Schedule>>, milestones: Vec<u64>) -> SequentialLr {
        expect(SequentialLr::try_new(schedules, milestones))
    }

    /// [`new`](SequentialLr::new), or the error instead of a panic.
    pub fn try_new(schedules: Vec<Box<dyn Schedule>>, milestones: Vec<u64>) -> Result<SequentialLr> {
        if milestones.len() + 1 != schedules.len() {
            let message = format!(
                "{} schedules need one milestone less, {} were given",
                schedules.len(),
                milestones.len()
            );
            return Err(Error::argument("SequentialLr", message));
        }
        if !milestones.is_sorted() {
            return Err(Error::argument("SequentialLr", format!("milestones {milestones:?} must rise")));
        }
        Ok(SequentialLr { schedules, milestones })
    }

    /// The schedule in force, and its own count of steps.
    fn at(&self, step: u64) -> (&dyn Schedule, u64) {
        let index = self.milestones.iter().take_while(|&&milestone| milestone <= step).count();
        let start = if index == 0 { 0 } else { self.milestones[index - 1] };
        (&*self.schedules[index], step - start)
    }
}

impl Schedule for SequentialLr {
    fn rate(&self, base: f64, step: u64) -> f64 {
        let (schedule, step) = self.at(step);
        schedule.rate(base, step)
    }

    fn momentum(&self, step: u64) -> Option<f64> {
        let (schedule, step) = self.at(step);
        schedule.momentum(step)
    }
}

/// A straight line from a small rate to the base rate, and then another schedule from its beginning.
///
/// ```
/// use flambeau::optim::scheduler::{CosineAnnealingLr, Schedule, WarmUp};
/// let curve = WarmUp::new(10, 0.1, CosineAnnealingLr::new(90, 0.0));
/// assert_eq!((curve.rate(1.0, 0), curve.rate(1.0, 10), curve.rate(1.0, 100)), (0.1, 1.0, 0.0));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WarmUp<S> {
    line: LinearLr,
    then: S,
}

impl<S: Schedule> WarmUp<S> {
    /// From `start` times the base rate, in `steps` steps.
    pub fn new(steps: u64, start: f64, then: S) -> WarmUp<S> {
        WarmUp { line: LinearLr::new(start, 1.0, steps), then }
    }
}

impl<S: Schedule> Schedule for WarmUp<S> {
    fn rate(&self, base: f64, step: u64) -> f64 {
        match step.checked_sub(self.line.steps) {
            Some(after) => self.then.rate(base, after),
            None => self.line.rate(base, step),
        }
    }

    fn momentum(&self, step: u64) -> Option<f64> {
        self.then.momentum(step.saturating_sub(self.line.steps))
    }
}
