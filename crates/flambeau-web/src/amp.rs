//! Mixed precision for JavaScript: the scope in which ops choose their dtypes, and scalers of losses.

use crate::device::current;
use crate::handles::{self, argument};
use crate::optim::with_optimizer;
use crate::slab::Slab;
use flambeau::autograd::{self, AutocastGuard};
use flambeau::io::Stateful;
use flambeau::optim::{GradScaler, GradScalerOptions};
use flambeau::settings::{SettingMap, Settings};
use flambeau::{Result as Fallible, Tensor};
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

thread_local! {
    static SCOPES: RefCell<Vec<AutocastGuard>> = const { RefCell::new(Vec::new()) };
    static SCALERS: Slab<RefCell<GradScaler>> = const { Slab::new("GradScaler") };
}

/// What a scaler's state is made of.
const NAMES: [&str; 2] = ["scale", "growth_tracker"];

/// Turns mixed precision on or off until [`autocast_leave`].
#[wasm_bindgen]
pub fn autocast_enter(enabled: bool) {
    let guard = autograd::set_autocast_enabled(enabled);
    SCOPES.with_borrow_mut(|scopes| scopes.push(guard));
}

/// Goes back to the mode before the last [`autocast_enter`].
#[wasm_bindgen]
pub fn autocast_leave() {
    drop(SCOPES.with_borrow_mut(Vec::pop));
}

/// Is mixed precision on?
#[wasm_bindgen]
pub fn autocast_enabled() -> bool {
    autograd::is_autocast_enabled()
}

fn with_scaler<T>(number: u32, body: impl FnOnce(&mut GradScaler) -> Fallible<T>) -> Fallible<T> {
    let scaler = SCALERS.with(|scalers| scalers.get(number))?;
    body(&mut scaler.borrow_mut())
}

/// Makes a scaler, of options as JSON.
#[wasm_bindgen]
pub fn scaler_new(options: &str) -> Result<u32, JsError> {
    let (mut given, mut options) = (SettingMap::parse("GradScaler", options)?, GradScalerOptions::default());
    options.fill(&mut given);
    given.done()?;
    let scaler = GradScaler::try_with_options(options, &current()?)?;
    Ok(SCALERS.with(|scalers| scalers.add(RefCell::new(scaler))))
}

/// The loss times the scale. The loss itself is then evaluated with the next step, as if `backward` had been called on it.
#[wasm_bindgen]
pub fn scaler_scale(number: u32, loss: u32) -> Result<u32, JsError> {
    handles::keep(loss)?;
    let loss = handles::get(loss)?;
    Ok(handles::hold(with_scaler(number, |scaler| scaler.try_scale(&loss))?))
}

/// Divides the gradients of the optimizer's parameters by the scale.
#[wasm_bindgen]
pub fn scaler_unscale(number: u32, optimizer: u32) -> Result<(), JsError> {
    Ok(with_scaler(number, |scaler| with_optimizer(optimizer, |optimizer| scaler.unscale(optimizer)))?)
}

/// Moves the parameters by gradients that are divided by the scale, unless one is not finite: one plan, with every result that is
/// held.
#[wasm_bindgen]
pub fn scaler_step(number: u32, optimizer: u32) -> Result<(), JsError> {
    let step = || with_scaler(number, |scaler| with_optimizer(optimizer, |optimizer| scaler.step(optimizer)));
    Ok(handles::step(step)?)
}

/// Puts the next scale in place: the one that the steps have found, or this one.
#[wasm_bindgen]
pub fn scaler_update(number: u32, scale: Option<f64>) -> Result<(), JsError> {
    Ok(with_scaler(number, |scaler| match scale {
        Some(scale) => scaler.set_scale(scale),
        None => scaler.update(),
    })?)
}

/// The scale, and how many good steps there were in a row.
#[wasm_bindgen]
pub async fn scaler_read(number: u32) -> Result<Vec<f64>, JsError> {
    let (state, enabled) = with_scaler(number, |scaler| Ok((scaler.state(), scaler.options().enabled)))?;
    let tensors: Vec<&Tensor> = NAMES.iter().filter_map(|name| state.tensors.get(name)).collect();
    let mut values = flambeau::read_later(&tensors)?.values().await?.concat();
    if let Some(scale) = values.first_mut().filter(|_| !enabled) {
        *scale = 1.0;
    }
    Ok(values)
}

/// Goes on with this scale after so many good steps in a row.
#[wasm_bindgen]
pub fn scaler_load(number: u32, scale: f64, good_steps: i32) -> Result<(), JsError> {
    Ok(with_scaler(number, |scaler| {
        scaler.set_scale(scale)?;
        let mut state = scaler.state();
        let [name_of_scale, name_of_steps] = NAMES;
        let tensors = state.tensors.get(name_of_scale).map(|scale| {
            let steps = Tensor::try_from_slice(&[good_steps], (), scale.device())?;
            Ok([(name_of_scale, scale.clone()), (name_of_steps, steps)])
        });
        let tensors = tensors.unwrap_or_else(|| Err(argument("GradScaler", "it has no scale")))?;
        state.tensors = tensors.map(|(name, tensor)| (name.to_string(), tensor)).into_iter().collect();
        scaler.load_state(&state)
    })?)
}

/// Lets go of a scaler.
#[wasm_bindgen]
pub fn scaler_release(number: u32) {
    SCALERS.with(|scalers| scalers.remove(number));
}
