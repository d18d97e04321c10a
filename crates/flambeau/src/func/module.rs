//! Modules as functions of their parameters.

use super::tensors::Outcome;
use crate::error::{Error, Result, expect};
use crate::io::StateDict;
use crate::nn::{Module, Substitute};
use crate::tensor::Tensor;
use std::collections::HashSet;

/// The parameters of a module by their names, without history: what [`functional_call`] takes.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::parameters;
/// let layer = flambeau::nn::Linear::new(3, 2, &Device::cpu());
/// assert_eq!(parameters(&layer).names().collect::<Vec<_>>(), ["weight", "bias"]);
/// ```
pub fn parameters(module: &dyn Module) -> StateDict {
    let mut found = StateDict::new();
    for (name, parameter) in module.named_parameters() {
        found.insert(name, parameter.value());
    }
    found
}

/// Calls a module with other parameters and buffers than its own: `f(&module)` sees these, with their history, wherever the module
/// reads the ones of the same names. Afterwards the module is as it was: what the call wrote into buffers (running statistics) is
/// gone.
///
/// A module so becomes a function of its parameters, which [`grad`](super::grad), [`vmap`](super::vmap) and the others take. Names
/// that `values` leaves out keep their values. Meanwhile no other thread may use the module.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::{functional_call, grad, parameters};
/// let device = Device::cpu();
/// let (layer, x) = (flambeau::nn::Linear::new(2, 1, &device), Tensor::new([[3.0, 4.0]], &device));
/// let loss = |p: &flambeau::io::StateDict| functional_call(&layer, p, |layer| layer.forward(&x)).sum(..);
/// let gradient = grad(loss)(&parameters(&layer));
/// assert_eq!(gradient.get("weight").unwrap().to_string(), "tensor([[3., 4.]])");
/// ```
#[track_caller]
pub fn functional_call<M, R>(module: &M, values: &StateDict, f: impl FnOnce(&M) -> R) -> R::Tensors
where
    M: Module,
    R: Outcome,
{
    expect(try_functional_call(module, values, f))
}

/// [`functional_call`], or the error instead of a panic.
pub fn try_functional_call<M, R>(
    module: &M,
    values: &StateDict,
    f: impl FnOnce(&M) -> R,
) -> Result<R::Tensors>
where
    M: Module,
    R: Outcome,
{
    let (parameters, buffers) = (module.named_parameters(), module.named_buffers());
    let known = |name: &str| {
        parameters.iter().any(|(known, _)| known == name) || buffers.iter().any(|(known, _)| known == name)
    };
    if let Some(name) = values.names().find(|name| !known(name)) {
        let message = format!("the module has no parameter or buffer `{name}`");
        return Err(Error::argument("functional_call", message));
    }
    // A slot with two names has the value of the first.
    let (mut seen, mut substitutes) = (HashSet::new(), Vec::new());
    for (name, parameter) in &parameters {
        if let Some(value) = values.get(name)
            && seen.insert(parameter.id())
        {
            substitutes.push(Substitute::of_parameter("functional_call", parameter, value)?);
        }
    }
    for (name, buffer) in &buffers {
        if seen.insert(buffer.id()) {
            let own = buffer.get();
            let value = values.get(name).unwrap_or(&own);
            substitutes.push(Substitute::of_buffer("functional_call", buffer, value)?);
        }
    }
    let result = f(module).into_result();
    drop(substitutes);
    result
}

/// The parameters and buffers of several modules of one architecture, stacked along a new first dimension: with
/// [`functional_call`] and [`vmap`](super::vmap), an ensemble that runs as one.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::{functional_call, stack_states, vmap};
/// use flambeau::io::StateDict;
/// let device = Device::cpu();
/// let models: Vec<_> = (0..4).map(|_| flambeau::nn::Linear::new(3, 2, &device)).collect();
/// let states = stack_states(&models);
/// let x = Tensor::ones([5, 3], &device);
/// let outputs = vmap(|p: &StateDict| functional_call(&models[0], p, |m| m.forward(&x)))(&states);
/// assert_eq!(outputs.shape().dims(), [4, 5, 2]);
/// ```
#[track_caller]
pub fn stack_states<M: Module>(modules: &[M]) -> StateDict {
    expect(try_stack_states(modules))
}

/// [`stack_states`], or the error instead of a panic.
pub fn try_stack_states<M: Module>(modules: &[M]) -> Result<StateDict> {
    let states: Vec<StateDict> = modules.iter().map(Module::state_dict).collect();
    let Some(first) = states.first() else {
        return Err(Error::argument("stack_states", "at least one module is needed"));
    };
    let mut stacked = StateDict::new();
    for (name, _) in first.iter() {
        let missing = || Error::argument("stack_states", format!("a module has no `{name}`"));
        let values = states.iter().map(|state| state.get(name).ok_or_else(missing));
        stacked.insert(name, Tensor::try_stack(&values.collect::<Result<Vec<_>>>()?, 0)?);
    }
    Ok(stacked)
}
