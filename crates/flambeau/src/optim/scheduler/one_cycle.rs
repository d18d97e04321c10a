//! The one-cycle policy: the rate rises and falls once, the momentum does the opposite.

use super::Schedule;
use super::curves::cosine;
use crate::settings::{Settings, words};

/// The way from one rate to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Annealing {
    /// Half a cosine.
    Cosine,
    /// A straight line.
    Linear,
}

words!(Annealing { "cos" => Cosine, "linear" => Linear });

/// One cycle of `total_steps` steps: from `highest / start_divisor` up to `highest`, then down to the first rate divided
/// by `end_divisor`. Base rates do not matter. The momentum (or β₁), of groups that use one, falls and rises the other
/// way round. After the cycle everything stays.
///
/// ```
/// use flambeau::optim::scheduler::{OneCycleLr, Schedule};
/// let curve = OneCycleLr::new(1.0, 101);
/// assert!((curve.rate(0.0, 0) - 0.04).abs() < 1e-12);
/// assert!(curve.rate(0.0, 30) > 0.99 && curve.rate(0.0, 100) < 1e-5);
/// assert!(curve.momentum(0) > curve.momentum(30));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Settings)]
pub struct OneCycleLr {
    /// The highest rate.
    #[setting(skip)]
    pub highest: f64,
    /// The cycle's length.
    #[setting(skip)]
    pub total_steps: u64,
    /// The share of the cycle in which the rate rises.
    pub rising_share: f64,
    /// The way between the rates.
    pub annealing: Annealing,
    /// Lowest and highest momentum; none leaves the momentum alone.
    pub momentum: Option<(f64, f64)>,
    /// The first rate is the highest divided by this.
    pub start_divisor: f64,
    /// The last rate is the first divided by this.
    pub end_divisor: f64,
    /// Falls to the first rate in as many steps as it rose, and only then to the last.
    pub three_phases: bool,
}

impl OneCycleLr {
    /// PyTorch's defaults but for the highest rate and the cycle's length.
    pub fn new(highest: f64, total_steps: u64) -> OneCycleLr {
        OneCycleLr {
            highest,
            total_steps,
            rising_share: 0.3,
            annealing: Annealing::Cosine,
            momentum: Some((0.85, 0.95)),
            start_divisor: 25.0,
            end_divisor: 1e4,
            three_phases: false,
        }
    }

    /// The value at a step of something that goes through `first`, `peak` and `last`.
    fn at(&self, step: u64, first: f64, peak: f64, last: f64) -> f64 {
        let total = self.total_steps as f64;
        let (rise, end) = (self.rising_share * total - 1.0, total - 1.0);
        let fall = 2.0 * self.rising_share * total - 2.0;
        let phases = match self.three_phases {
            true => vec![(rise, first, peak), (fall, peak, first), (end, first, last)],
            false => vec![(rise, first, peak), (end, peak, last)],
        };
        let (step, mut start) = (step as f64, 0.0);
        for (end, from, to) in phases {
            if step <= end {
                let share = (step - start) / (end - start);
                return match self.annealing {
                    Annealing::Cosine => cosine(from, to, share),
                    Annealing::Linear => from + (to - from) * share,
                };
            }
            start = end;
        }
        last
    }
}

impl Schedule for OneCycleLr {
    fn rate(&self, _base: f64, step: u64) -> f64 {
        let first = self.highest / self.start_divisor;
        self.at(step, first, self.highest, first / self.end_divisor)
    }

    fn momentum(&self, step: u64) -> Option<f64> {
        self.momentum.map(|(lowest, highest)| self.at(step, highest, lowest, highest))
    }
}
