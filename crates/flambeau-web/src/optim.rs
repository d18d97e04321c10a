//! Optimizers and schedules for JavaScript.

use crate::handles::{self, argument};
use crate::layers::parameter;
use crate::options::Options;
use crate::slab::Slab;
use flambeau::nn::Parameter;
use flambeau::optim::scheduler::*;
use flambeau::optim::*;
use flambeau::{Result as Fallible, Tensor};
use serde_json::Value;
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

thread_local! {
    static OPTIMIZERS: Slab<RefCell<Box<dyn Optimizer>>> = const { Slab::new("optimizer") };
    static SCHEDULES: Slab<Box<dyn Schedule>> = const { Slab::new("schedule") };
    static PLATEAUS: Slab<RefCell<ReduceLrOnPlateau>> = const { Slab::new("schedule") };
    static LBFGS: Slab<RefCell<Option<Lbfgs>>> = const { Slab::new("lbfgs") };
}

/// The optimizer with this number.
pub fn with_optimizer<T>(number: u32, body: impl FnOnce(&mut dyn Optimizer) -> Fallible<T>) -> Fallible<T> {
    let optimizer = OPTIMIZERS.with(|optimizers| optimizers.get(number))?;
    body(&mut **optimizer.borrow_mut())
}

fn build<R: Rule>(groups: Vec<(Vec<Parameter>, Value)>) -> Fallible<Box<dyn Optimizer>> {
    let groups = groups.into_iter().map(|(parameters, given)| {
        let defaults =
            serde_json::to_value(R::default()).map_err(|error| argument(R::NAME, error.to_string()))?;
        let mut options = Options::from_value(R::NAME, defaults)?.rest();
        for (name, value) in Options::from_value(R::NAME, given)?.rest() {
            match options.get_mut(&name) {
                Some(place) => *place = value,
                None => return Err(argument(R::NAME, format!("there is no option {name}"))),
            }
        }
        let options = serde_json::from_value(Value::Object(options))
            .map_err(|error| argument(R::NAME, format!("bad options: {error}")))?;
        Ok(Group::new(parameters, options))
    });
    let groups = groups.collect::<Fallible<Vec<Group<R>>>>()?;
    Ok(Box::new(FirstOrder::try_with_groups(groups)?))
}

/// Makes an optimizer. `slots` are the parameters of all groups, `sizes` how many each has; `options` is a JSON list of
/// one object per group.
#[wasm_bindgen]
pub fn optimizer_new(kind: &str, slots: &[u32], sizes: &[u32], options: &str) -> Result<u32, JsError> {
    let options: Vec<Value> = serde_json::from_str(options)?;
    let mut slots = slots.iter();
    let mut groups = Vec::new();
    for (&size, options) in sizes.iter().zip(options) {
        let parameters = slots.by_ref().take(size as usize).map(|&number| parameter(number));
        groups.push((parameters.collect::<Fallible<Vec<_>>>()?, options));
    }
    let optimizer = match kind {
        "sgd" => build::<SgdOptions>(groups)?,
        "adam" => build::<AdamOptions>(groups)?,
        "adamw" => build::<AdamWOptions>(groups)?,
        "adadelta" => build::<AdadeltaOptions>(groups)?,
        "adagrad" => build::<AdagradOptions>(groups)?,
        "adamax" => build::<AdamaxOptions>(groups)?,
        "lion" => build::<LionOptions>(groups)?,
        "muon" => build::<MuonOptions>(groups)?,
        "nadam" => build::<NAdamOptions>(groups)?,
        "radam" => build::<RAdamOptions>(groups)?,
        "rmsprop" => build::<RmsPropOptions>(groups)?,
        other => return Err(JsError::new(&format!("there is no optimizer {other}"))),
    };
    Ok(OPTIMIZERS.with(|optimizers| optimizers.add(RefCell::new(optimizer))))
}

/// Moves the parameters: one plan, with every result that is held.
#[wasm_bindgen]
pub fn optimizer_step(number: u32) -> Result<(), JsError> {
    Ok(handles::step(|| with_optimizer(number, |optimizer| optimizer.step()))?)
}

/// Forgets the gradients.
#[wasm_bindgen]
pub fn optimizer_zero_grad(number: u32) -> Result<(), JsError> {
    Ok(with_optimizer(number, |optimizer| {
        optimizer.zero_grad();
        Ok(())
    })?)
}

/// Does a step refuse numbers that are not finite?
#[wasm_bindgen]
pub fn optimizer_require_finite(number: u32, required: bool) -> Result<(), JsError> {
    Ok(with_optimizer(number, |optimizer| {
        optimizer.require_finite(required);
        Ok(())
    })?)
}

/// The learning rates of the groups.
#[wasm_bindgen]
pub fn optimizer_rates(number: u32) -> Result<Vec<f64>, JsError> {
    Ok(with_optimizer(number, |optimizer| {
        Ok((0..optimizer.group_count()).map(|group| optimizer.group_learning_rate(group)).collect())
    })?)
}

/// Changes the learning rates of the groups.
#[wasm_bindgen]
pub fn optimizer_set_rates(number: u32, rates: &[f64]) -> Result<(), JsError> {
    Ok(with_optimizer(number, |optimizer| {
        if rates.len() != optimizer.group_count() {
            return Err(argument(
                "optimizer",
                format!("{} rates for {} groups", rates.len(), optimizer.group_count()),
            ));
        }
        rates.iter().enumerate().for_each(|(group, &rate)| optimizer.set_group_learning_rate(group, rate));
        Ok(())
    })?)
}

/// Changes the momentum of the groups that have one.
#[wasm_bindgen]
pub fn optimizer_set_momentum(number: u32, momentum: f64) -> Result<(), JsError> {
    Ok(with_optimizer(number, |optimizer| {
        for group in 0..optimizer.group_count() {
            if optimizer.group_momentum(group).is_some() {
                optimizer.set_group_momentum(group, momentum);
            }
        }
        Ok(())
    })?)
}

/// Lets go of an optimizer.
#[wasm_bindgen]
pub fn optimizer_release(number: u32) {
    OPTIMIZERS.with(|optimizers| optimizers.remove(number));
}

/// L-BFGS, whose step needs the loss again and again.
#[wasm_bindgen]
pub fn lbfgs_new(slots: &[u32], options: &str) -> Result<u32, JsError> {
    let parameters = slots.iter().map(|&number| parameter(number)).collect::<Fallible<Vec<_>>>()?;
    let mut o = Options::parse("lbfgs", options)?;
    let default = LbfgsOptions::default();
    let options = LbfgsOptions {
        learning_rate: o.number("learning_rate", default.learning_rate)?,
        max_iterations: o.size_or("max_iterations", default.max_iterations)?,
        max_evaluations: o.maybe_size("max_evaluations")?,
        gradient_tolerance: o.number("gradient_tolerance", default.gradient_tolerance)?,
        change_tolerance: o.number("change_tolerance", default.change_tolerance)?,
        history: o.size_or("history", default.history)?,
        line_search: match o.word("line_search", "none")?.as_str() {
            "strong_wolfe" => LineSearch::StrongWolfe,
            _ => LineSearch::None,
        },
    };
    o.done()?;
    let lbfgs = Lbfgs::try_with_options(parameters, options)?;
    Ok(LBFGS.with(|all| all.add(RefCell::new(Some(lbfgs)))))
}

/// One step; `closure` zeroes the gradients, makes the loss, runs backward, and returns the loss's handle.
#[wasm_bindgen]
pub async fn lbfgs_step(number: u32, closure: js_sys::Function) -> Result<f64, JsValue> {
    let place = LBFGS.with(|all| all.get(number)).map_err(JsError::from)?;
    let mut lbfgs = place.take().ok_or_else(|| JsError::new("lbfgs: a step is under way already"))?;
    let loss = || -> Fallible<Tensor> {
        let handle =
            closure.call0(&JsValue::NULL).map_err(|error| argument("lbfgs", format!("{error:?}")))?;
        handles::get(handle.as_f64().unwrap_or(0.0) as u32)
    };
    let result = lbfgs.step(loss).await;
    place.replace(Some(lbfgs));
    result.map_err(|error| JsError::from(error).into())
}

/// A schedule, from JSON: `{"kind": "step", …}`.
#[wasm_bindgen]
pub fn schedule_new(json: &str) -> Result<u32, JsError> {
    let schedule = schedule(serde_json::from_str(json)?)?;
    Ok(SCHEDULES.with(|schedules| schedules.add(schedule)))
}

/// The rate after so many steps, and the momentum (NaN if the schedule sets none).
#[wasm_bindgen]
pub fn schedule_at(number: u32, base: f64, step: f64) -> Result<Vec<f64>, JsError> {
    let schedule = SCHEDULES.with(|schedules| schedules.get(number))?;
    Ok(vec![schedule.rate(base, step as u64), schedule.momentum(step as u64).unwrap_or(f64::NAN)])
}

fn schedule(value: Value) -> Fallible<Box<dyn Schedule>> {
    let mut o = Options::from_value("schedule", value)?;
    let steps = |o: &mut Options, name: &str, default: u64| Ok(o.number(name, default as f64)? as u64);
    let schedule: Box<dyn Schedule> = match o.word("kind", "")?.as_str() {
        "step" => Box::new(StepLr::new(steps(&mut o, "size", 1)?, o.number("gamma", 0.1)?)),
        "multi_step" => {
            let milestones = o.numbers("milestones")?.into_iter().map(|step| step as u64).collect();
            Box::new(MultiStepLr::new(milestones, o.number("gamma", 0.1)?))
        }
        "exponential" => Box::new(ExponentialLr::new(o.number("gamma", 0.9)?)),
        "cosine" => Box::new(CosineAnnealingLr::new(steps(&mut o, "period", 1)?, o.number("lowest", 0.0)?)),
        "cosine_restarts" => Box::new(CosineAnnealingWarmRestarts::new(
            steps(&mut o, "period", 1)?,
            steps(&mut o, "factor", 1)?,
            o.number("lowest", 0.0)?,
        )),
        "linear" => {
            let (start, end) = (o.number("start", 1.0 / 3.0)?, o.number("end", 1.0)?);
            Box::new(LinearLr::new(start, end, steps(&mut o, "steps", 5)?))
        }
        "constant" => Box::new(ConstantLr::new(o.number("factor", 1.0 / 3.0)?, steps(&mut o, "steps", 5)?)),
        "polynomial" => Box::new(PolynomialLr::new(steps(&mut o, "steps", 5)?, o.number("power", 1.0)?)),
        "one_cycle" => {
            let total = steps(&mut o, "steps", 1)?;
            let mut cycle = OneCycleLr::new(o.number("highest", 1e-2)?, total);
            cycle.rising_share = o.number("rising_share", cycle.rising_share)?;
            cycle.start_divisor = o.number("start_divisor", cycle.start_divisor)?;
            cycle.end_divisor = o.number("end_divisor", cycle.end_divisor)?;
            cycle.three_phases = o.flag("three_phases", cycle.three_phases)?;
            if !o.flag("cycle_momentum", true)? {
                cycle.momentum = None;
            }
            Box::new(cycle)
        }
        "warm_up" => {
            let (count, start) = (steps(&mut o, "steps", 1)?, o.number("start", 0.0)?);
            let then = o.take("then").ok_or_else(|| argument("warm_up", "`then` is missing"))?;
            Box::new(WarmUp::new(count, start, schedule(then)?))
        }
        "sequential" => {
            let milestones = o.numbers("milestones")?.into_iter().map(|step| step as u64).collect();
            let Some(Value::Array(schedules)) = o.take("schedules") else {
                return Err(argument("sequential", "`schedules` must be a list"));
            };
            let schedules = schedules.into_iter().map(schedule).collect::<Fallible<Vec<_>>>()?;
            Box::new(SequentialLr::try_new(schedules, milestones)?)
        }
        other => return Err(argument("schedule", format!("there is no schedule {other}"))),
    };
    o.done()?;
    Ok(schedule)
}

/// A schedule that lowers the rate when a metric no longer improves.
#[wasm_bindgen]
pub fn plateau_new(json: &str) -> Result<u32, JsError> {
    let mut o = Options::parse("plateau", json)?;
    let default = PlateauOptions::default();
    let options = PlateauOptions {
        goal: if o.word("goal", "min")? == "max" { Goal::Highest } else { Goal::Lowest },
        factor: o.number("factor", default.factor)?,
        patience: o.number("patience", default.patience as f64)? as u64,
        cool_down: o.number("cool_down", default.cool_down as f64)? as u64,
        lowest: o.number("lowest", default.lowest)?,
        ..default
    };
    o.done()?;
    let plateau = RefCell::new(ReduceLrOnPlateau::new(options));
    Ok(PLATEAUS.with(|plateaus| plateaus.add(plateau)))
}

/// Tells it the metric, and sets the optimizer's rates.
#[wasm_bindgen]
pub fn plateau_step(number: u32, optimizer: u32, metric: f64) -> Result<(), JsError> {
    let plateau = PLATEAUS.with(|plateaus| plateaus.get(number))?;
    Ok(with_optimizer(optimizer, |optimizer| {
        let mut plateau = plateau.borrow_mut();
        plateau.observe(metric);
        plateau.step(optimizer);
        Ok(())
    })?)
}
