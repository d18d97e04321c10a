//! A learning rate that goes up and down again and again (Smith, 2017).

use super::Schedule;

/// How the height of the cycles changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cycles {
    /// All are equal.
    Triangular,
    /// Each is half as high as the one before.
    Halving,
    /// After n steps they are γⁿ as high as the first.
    Decaying(f64),
}

/// A rate that rises from a base to a top and falls back, again and again; the momentum, if asked for, goes the other way.
///
/// ```
/// use flambeau::optim::scheduler::{CyclicLr, Schedule};
/// let curve = CyclicLr::new(0.1, 0.5, 4);
/// let rates: Vec<f64> = (0..9).map(|step| (curve.rate(0.1, step) * 10.0).round() / 10.0).collect();
/// assert_eq!(rates, [0.1, 0.2, 0.3, 0.4, 0.5, 0.4, 0.3, 0.2, 0.1]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CyclicLr {
    /// The lowest rate.
    pub lowest: f64,
    /// The highest rate of the first cycle.
    pub highest: f64,
    /// Steps up.
    pub steps_up: u64,
    /// Steps down.
    pub steps_down: u64,
    /// How the height of cycles changes.
    pub cycles: Cycles,
    /// The momentum at the lowest and at the highest rate, where it is set.
    pub momentum: Option<(f64, f64)>,
}

impl CyclicLr {
    /// Equal cycles with as many steps up as down, and no momentum.
    pub fn new(lowest: f64, highest: f64, steps: u64) -> CyclicLr {
        CyclicLr {
            lowest,
            highest,
            steps_up: steps,
            steps_down: steps,
            cycles: Cycles::Triangular,
            momentum: None,
        }
    }

    /// How far up it is after so many steps, from 0 to 1, and the height of the cycle.
    fn phase(&self, step: u64) -> (f64, f64) {
        let (up, down) = (self.steps_up.max(1) as f64, self.steps_down as f64);
        let length = up + down;
        let cycle = (step as f64 / length).floor();
        let within = step as f64 - cycle * length;
        let way = if within <= up { within / up } else { (length - within) / down };
        let height = match self.cycles {
            Cycles::Triangular => 1.0,
            Cycles::Halving => 0.5f64.powf(cycle),
            Cycles::Decaying(gamma) => gamma.powf(step as f64),
        };
        (way, height)
    }
}

impl Schedule for CyclicLr {
    fn rate(&self, _: f64, step: u64) -> f64 {
        let (way, height) = self.phase(step);
        self.lowest + (self.highest - self.lowest) * way * height
    }

    fn momentum(&self, step: u64) -> Option<f64> {
        let (way, height) = self.phase(step);
        self.momentum.map(|(at_lowest, at_highest)| at_lowest - (at_lowest - at_highest) * way * height)
    }
}
