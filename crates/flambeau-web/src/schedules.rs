//! The learning rate schedules that scripts can make, one entry each.

use crate::catalogue::catalogue;
use crate::handles::argument;
use flambeau::Result;
use flambeau::optim::scheduler::*;
use flambeau::settings::{Argument, Setting, SettingKind, SettingMap};
use serde_json::Value;

/// A schedule within a schedule, or a list of them, as it is given.
pub struct Inner(Value);
/// Several.
pub struct Inners(Value);

macro_rules! inner {
    ($($type:ident $name:literal;)*) => {$(
        impl Setting for $type {
            fn set(&mut self, given: &Value) -> std::result::Result<(), &'static str> {
                self.0 = given.clone();
                Ok(())
            }

            fn kind() -> SettingKind {
                SettingKind::Foreign($name)
            }

            fn value(&self) -> Value {
                self.0.clone()
            }
        }

        impl Argument for $type {
            fn blank() -> Self {
                $type(Value::Null)
            }
        }
    )*};
}
inner! { Inner "Schedule"; Inners "readonly Schedule[]"; }

/// Makes a schedule of an object: its `kind` and what that takes.
pub fn schedule(value: Value) -> Result<Box<dyn Schedule>> {
    let mut given = SettingMap::new("schedule", value)?;
    match given.take("kind") {
        Some(Value::String(kind)) => by_name(&kind, &mut given),
        _ => Err(argument("schedule", "kind is missing")),
    }
}

catalogue! {
    fn by_name(kind, given) -> Box<dyn Schedule> {
        else Err(argument("schedule", format!("there is no schedule {kind}")))
    }
    entries;

    step: Schedule = StepLr(size: u64, gamma: f64 = 0.1) { Ok(StepLr::new(size, gamma)) }
    multi_step: Schedule = MultiStepLr(milestones: Vec<u64>, gamma: f64 = 0.1) { Ok(MultiStepLr::new(milestones, gamma)) }
    exponential: Schedule = ExponentialLr(gamma: f64) { Ok(ExponentialLr::new(gamma)) }
    cosine: Schedule = CosineAnnealingLr(period: u64, lowest: f64 = 0.0) { Ok(CosineAnnealingLr::new(period, lowest)) }
    cosine_restarts: Schedule = CosineAnnealingWarmRestarts(period: u64, factor: u64 = 1, lowest: f64 = 0.0) {
        Ok(CosineAnnealingWarmRestarts::new(period, factor, lowest))
    }
    linear: Schedule = LinearLr(start: f64 = 1.0 / 3.0, end: f64 = 1.0, steps: u64 = 5) { Ok(LinearLr::new(start, end, steps)) }
    constant: Schedule = ConstantLr(factor: f64 = 1.0 / 3.0, steps: u64 = 5) { Ok(ConstantLr::new(factor, steps)) }
    polynomial: Schedule = PolynomialLr(steps: u64 = 5, power: f64 = 1.0) { Ok(PolynomialLr::new(steps, power)) }
    one_cycle: Schedule = OneCycleLr(highest: f64, steps: u64, cycle_momentum: bool = true;
        options: OneCycleLr = OneCycleLr::new(highest, steps))
    {
        Ok(OneCycleLr { momentum: options.momentum.filter(|_| cycle_momentum), ..options })
    }
    warm_up: Schedule = WarmUp(steps: u64, start: f64 = 0.0, then: Inner) { Ok(WarmUp::new(steps, start, schedule(then.0)?)) }
    sequential: Schedule = SequentialLr(schedules: Inners, milestones: Vec<u64>) {
        let Value::Array(schedules) = schedules.0 else {
            return Err(argument("sequential", "`schedules` must be a list"));
        };
        let schedules = schedules.into_iter().map(schedule).collect::<Result<Vec<_>>>()?;
        SequentialLr::try_new(schedules, milestones)
    }
}
