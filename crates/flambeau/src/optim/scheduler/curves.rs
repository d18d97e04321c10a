//! Schedules that are one formula.

use super::Schedule;
use std::f64::consts::PI;

/// A struct of settings with its formula.
macro_rules! curve {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? } ($self:ident, $base:ident, $step:ident) $rate:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type),* }

        impl $name {
            /// With these settings, in the order of the fields.
            pub fn new($($field: $type),*) -> $name {
                $name { $($field),* }
            }
        }

        impl Schedule for $name {
            fn rate(&$self, $base: f64, $step: u64) -> f64 {
                $rate
            }
        }
    };
}

curve! {
    /// base · γ^⌊n / size⌋: falls by γ every `size` steps.
    ///
    /// ```
    /// use flambeau::optim::scheduler::{Schedule, StepLr};
    /// assert_eq!(StepLr::new(10, 0.5).rate(1.0, 25), 0.25);
    /// ```
    StepLr {
        /// Steps between falls; 0 counts as 1.
        step_size: u64,
        /// γ.
        gamma: f64,
    }
    (self, base, step) base * self.gamma.powf((step / self.step_size.max(1)) as f64)
}

curve! {
    /// base · γ^(milestones reached): falls by γ at each of them.
    ///
    /// ```
    /// use flambeau::optim::scheduler::{MultiStepLr, Schedule};
    /// assert_eq!(MultiStepLr::new(vec![10, 20], 0.5).rate(1.0, 15), 0.5);
    /// ```
    MultiStepLr {
        /// When it falls.
        milestones: Vec<u64>,
        /// γ.
        gamma: f64,
    }
    (self, base, step) {
        let reached = self.milestones.iter().filter(|&&milestone| milestone <= step).count();
        base * self.gamma.powf(reached as f64)
    }
}

curve! {
    /// base · γⁿ.
    ///
    /// ```
    /// use flambeau::optim::scheduler::{ExponentialLr, Schedule};
    /// assert_eq!(ExponentialLr::new(0.5).rate(1.0, 3), 0.125);
    /// ```
    ExponentialLr {
        /// γ.
        gamma: f64,
    }
    (self, base, step) base * self.gamma.powf(step as f64)
}

curve! {
    /// Half a cosine from the base rate to the lowest in `period` steps (PyTorch's `T_max`), and back in as many.
    ///
    /// ```
    /// use flambeau::optim::scheduler::{CosineAnnealingLr, Schedule};
    /// let curve = CosineAnnealingLr::new(10, 0.0);
    /// assert_eq!((curve.rate(1.0, 0), curve.rate(1.0, 10)), (1.0, 0.0));
    /// ```
    CosineAnnealingLr {
        /// Steps from the base rate to the lowest; 0 counts as 1.
        period: u64,
        /// The lowest rate.
        lowest: f64,
    }
    (self, base, step) cosine(base, self.lowest, step as f64 / self.period.max(1) as f64)
}

curve! {
    /// Half a cosine from the base rate to the lowest, again and again; each takes `factor` times as long as the one
    /// before.
    ///
    /// ```
    /// use flambeau::optim::scheduler::{CosineAnnealingWarmRestarts, Schedule};
    /// let curve = CosineAnnealingWarmRestarts::new(10, 2, 0.0);
    /// assert_eq!((curve.rate(1.0, 10), curve.rate(1.0, 20), curve.rate(1.0, 30)), (1.0, 0.5, 1.0));
    /// ```
    CosineAnnealingWarmRestarts {
        /// Steps of the first fall; 0 counts as 1.
        period: u64,
        /// How much longer every fall takes; 0 counts as 1.
        factor: u64,
        /// The lowest rate.
        lowest: f64,
    }
    (self, base, step) {
        let (mut since, mut period) = (step, self.period.max(1));
        if self.factor <= 1 {
            since %= period;
        }
        while since >= period {
            since -= period;
            period *= self.factor;
        }
        cosine(base, self.lowest, since as f64 / period as f64)
    }
}

curve! {
    /// base times a factor that goes from `start` to `end` in a straight line, in `steps` steps.
    ///
    /// ```
    /// use flambeau::optim::scheduler::{LinearLr, Schedule};
    /// assert_eq!(LinearLr::new(0.5, 1.0, 10).rate(1.0, 5), 0.75);
    /// ```
    LinearLr {
        /// The first factor.
        start: f64,
        /// The last factor.
        end: f64,
        /// Steps between them; 0 counts as 1.
        steps: u64,
    }
    (self, base, step) {
        let share = step.min(self.steps.max(1)) as f64 / self.steps.max(1) as f64;
        base * (self.start + (self.end - self.start) * share)
    }
}

curve! {
    /// base · factor for a number of steps, then base.
    ///
    /// ```
    /// use flambeau::optim::scheduler::{ConstantLr, Schedule};
    /// let curve = ConstantLr::new(0.25, 5);
    /// assert_eq!((curve.rate(1.0, 4), curve.rate(1.0, 5)), (0.25, 1.0));
    /// ```
    ConstantLr {
        /// The factor.
        factor: f64,
        /// For how many steps.
        steps: u64,
    }
    (self, base, step) if step < self.steps { base * self.factor } else { base }
}

curve! {
    /// base · (1 − n / steps)^power, then 0.
    ///
    /// ```
    /// use flambeau::optim::scheduler::{PolynomialLr, Schedule};
    /// assert_eq!(PolynomialLr::new(10, 2.0).rate(1.0, 5), 0.25);
    /// ```
    PolynomialLr {
        /// Steps to 0; 0 counts as 1.
        steps: u64,
        /// The power.
        power: f64,
    }
    (self, base, step) {
        let share = step.min(self.steps.max(1)) as f64 / self.steps.max(1) as f64;
        base * (1.0 - share).powf(self.power)
    }
}

/// base times what a function makes of the number of steps.
///
/// ```
/// use flambeau::optim::scheduler::{LambdaLr, Schedule};
/// assert_eq!(LambdaLr::new(|step| 1.0 / (1 + step) as f64).rate(1.0, 3), 0.25);
/// ```
#[derive(Debug, Clone)]
pub struct LambdaLr<F>(F);

impl<F: Fn(u64) -> f64 + Send + Sync> LambdaLr<F> {
    /// With this factor.
    pub fn new(factor: F) -> LambdaLr<F> {
        LambdaLr(factor)
    }
}

impl<F: Fn(u64) -> f64 + Send + Sync> Schedule for LambdaLr<F> {
    fn rate(&self, base: f64, step: u64) -> f64 {
        base * (self.0)(step)
    }
}

/// Half a cosine from `start` (share 0) to `end` (share 1).
pub(super) fn cosine(start: f64, end: f64, share: f64) -> f64 {
    end + (start - end) * (1.0 + (PI * share).cos()) / 2.0
}
