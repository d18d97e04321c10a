//! Optimizers and schedules for JavaScript.

use crate::handles::{self, argument};
use crate::layers::parameter;
use crate::schedules::schedule;
use crate::slab::Slab;
use flambeau::bindings::optimizers;
use flambeau::optim::scheduler::{PlateauOptions, ReduceLrOnPlateau, Schedule, Scheduler};
use flambeau::optim::{Lbfgs, LbfgsOptions, Optimizer};
use flambeau::settings::{SettingMap, Settings};
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
    let optimizer = optimizers::by_name(kind, groups)?;
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
    let (mut given, mut options) = (SettingMap::parse("lbfgs", options)?, LbfgsOptions::default());
    options.fill(&mut given);
    given.done()?;
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

/// A schedule that lowers the rate when a metric no longer improves.
#[wasm_bindgen]
pub fn plateau_new(json: &str) -> Result<u32, JsError> {
    let (mut given, mut options) = (SettingMap::parse("plateau", json)?, PlateauOptions::default());
    options.fill(&mut given);
    given.done()?;
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
