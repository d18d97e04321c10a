//! Transforms of functions that are JavaScript's. A function is called with the numbers of its tensors, and gives the numbers of its
//! results; structures of tensors, and arguments that nothing is done with, are the package's business (`func.ts`).

use crate::handles::{self, argument};
use crate::layers::{Slot, slot};
use crate::tensor::hold_all;
use flambeau::func::{
    Randomness, VmapOptions, try_functional_call, try_grad_and_value, try_hessian, try_jacfwd, try_jacrev,
    try_jvp, try_linearize, try_vjp, try_vmap_with,
};
use flambeau::io::StateDict;
use flambeau::nn::{Module, Part};
use flambeau::{Result as Fallible, Tensor};
use js_sys::{Function, Uint32Array};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// A function of JavaScript's, and what it threw.
#[derive(Clone)]
struct Callback {
    function: Function,
    thrown: Rc<RefCell<Option<JsValue>>>,
}

impl Callback {
    fn new(function: &Function) -> Callback {
        Callback { function: function.clone(), thrown: Rc::default() }
    }

    fn call(&self, inputs: &[Tensor]) -> Fallible<Vec<Tensor>> {
        let given = Uint32Array::from(&hold_all(inputs.to_vec())[..]);
        let called = self.function.call1(&JsValue::NULL, &given).map_err(|thrown| {
            self.thrown.replace(Some(thrown));
            argument("func", "the function threw an error")
        })?;
        tensors(&Uint32Array::new(&called).to_vec())
    }

    /// The function as one that gives one tensor.
    fn one(&self, op: &'static str, inputs: &[Tensor]) -> Fallible<Tensor> {
        let mut outputs = self.call(inputs)?;
        match (outputs.pop(), outputs.len()) {
            (Some(only), 0) => Ok(only),
            (_, more) => Err(argument(op, format!("the function must return one tensor, not {}", more + 1))),
        }
    }

    /// What became of a transform: an error that the function threw goes on as it is.
    fn finish<T>(&self, result: Fallible<T>) -> Result<T, JsValue> {
        result.map_err(|error| self.thrown.take().unwrap_or_else(|| JsError::from(error).into()))
    }
}

fn tensors(handles: &[u32]) -> Fallible<Vec<Tensor>> {
    handles.iter().map(|&handle| handles::operand(handle)).collect()
}

/// Runs a transform of a function. What it gives, one after the other: the gradients and the value (`grad`), the value and its
/// derivative along `along` (`jvp`), for each output the derivatives by each input (`jacrev`, `jacfwd`, `hessian`), the
/// outputs for all samples (`vmap_` and what random numbers are drawn).
#[wasm_bindgen]
pub fn func_transform(
    kind: &str,
    function: &Function,
    inputs: &[u32],
    along: &[u32],
) -> Result<Vec<u32>, JsValue> {
    let callback = Callback::new(function);
    Ok(hold_all(callback.finish(transformed(kind, &callback, inputs, along))?))
}

fn transformed(kind: &str, callback: &Callback, inputs: &[u32], along: &[u32]) -> Fallible<Vec<Tensor>> {
    let x = tensors(inputs)?;
    let f = |x: &Vec<Tensor>| callback.call(x);
    let vmapped = |randomness| try_vmap_with(f, VmapOptions { randomness, ..VmapOptions::default() })(&x);
    match kind {
        "grad" => {
            let (mut gradients, value) = try_grad_and_value(|x: &Vec<Tensor>| callback.one("grad", x))(&x)?;
            gradients.push(value);
            Ok(gradients)
        }
        "jvp" => {
            let (mut value, mut moved) = try_jvp(f, &x, &tensors(along)?)?;
            value.append(&mut moved);
            Ok(value)
        }
        "jacrev" => Ok(try_jacrev(f)(&x)?.concat()),
        "jacfwd" => Ok(try_jacfwd(f)(&x)?.concat()),
        "hessian" => Ok(try_hessian(|x: &Vec<Tensor>| callback.one("hessian", x))(&x)?.concat()),
        "vmap_different" => vmapped(Randomness::Different),
        "vmap_same" => vmapped(Randomness::Same),
        "vmap_error" => vmapped(Randomness::Error),
        other => Err(argument("func", format!("there is no transform {other}"))),
    }
}

/// A function of tensors.
type Linear = dyn Fn(&Vec<Tensor>) -> Fallible<Vec<Tensor>>;

/// The derivative of a function at a place, as a linear function.
#[wasm_bindgen]
pub struct Derivative {
    value: Vec<Tensor>,
    multiplied: Box<Linear>,
}

#[wasm_bindgen]
impl Derivative {
    /// Calls the function once. Backward, the derivative is multiplied from the left, as `vjp` does it; else from the right.
    #[wasm_bindgen(constructor)]
    pub fn new(function: &Function, inputs: &[u32], backward: bool) -> Result<Derivative, JsValue> {
        let callback = Callback::new(function);
        callback.finish(Derivative::at(callback.clone(), inputs, backward))
    }

    /// The function's value.
    pub fn value(&self) -> Vec<u32> {
        hold_all(self.value.clone())
    }

    /// The derivative times a vector.
    pub fn times(&self, vector: &[u32]) -> Result<Vec<u32>, JsError> {
        Ok(hold_all((self.multiplied)(&tensors(vector)?)?))
    }
}

impl Derivative {
    fn at(callback: Callback, inputs: &[u32], backward: bool) -> Fallible<Derivative> {
        let x = tensors(inputs)?;
        let f = move |x: &Vec<Tensor>| callback.call(x);
        Ok(match backward {
            true => {
                let (value, multiplied) = try_vjp(f, &x)?;
                Derivative { value, multiplied: Box::new(multiplied) }
            }
            false => {
                let (value, multiplied) = try_linearize(f, &x)?;
                Derivative { value, multiplied: Box::new(multiplied) }
            }
        })
    }
}

/// Parameters and buffers of a module of JavaScript's, each under its place as a name.
struct Slots(Vec<Slot>);

impl Module for Slots {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
        for (place, slot) in self.0.iter().enumerate() {
            let part = match slot {
                Slot::Parameter(parameter) => Part::Parameter(parameter),
                Slot::Buffer(buffer) => Part::Buffer(buffer),
            };
            visit(&place.to_string(), part);
        }
    }
}

/// Calls a function while slots have other values, or their own where the value's number is 0. Afterwards all are as they were.
#[wasm_bindgen]
pub fn func_call(function: &Function, slots: &[u32], values: &[u32]) -> Result<Vec<u32>, JsValue> {
    let callback = Callback::new(function);
    Ok(hold_all(callback.finish(called_with(&callback, slots, values))?))
}

fn called_with(callback: &Callback, slots: &[u32], values: &[u32]) -> Fallible<Vec<Tensor>> {
    let slots = slots.iter().map(|&number| Ok((*slot(number)?).clone()));
    let slots = Slots(slots.collect::<Fallible<_>>()?);
    let mut state = StateDict::new();
    for (place, &value) in values.iter().enumerate().filter(|(_, value)| **value != 0) {
        state.insert(place.to_string(), handles::operand(value)?);
    }
    try_functional_call(&slots, &state, |_| callback.call(&[]))
}
