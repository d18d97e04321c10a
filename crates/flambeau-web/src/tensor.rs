//! Tensors for JavaScript: making, calling, reading, derivatives.

use crate::args::{args, generator, new_generator};
use crate::arrays;
use crate::device::{current, device};
use crate::handles::{self, argument};
use crate::methods;
use flambeau::autograd::{self, BackwardOptions};
use flambeau::bindings::{self, elementwise_count};
use flambeau::calls;
use flambeau::data::HostRandom;
use flambeau::{Operand, Tensor};
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

/// Several new tensors.
pub fn hold_all(tensors: Vec<Tensor>) -> Vec<u32> {
    tensors.into_iter().map(handles::hold).collect()
}

/// Calls the op or method with this number; returns the first tensor it gives.
#[wasm_bindgen]
pub fn call(number: usize, tensors: &[u32], numbers: &[f64]) -> Result<u32, JsError> {
    if number < elementwise_count() {
        return Ok(elementwise(number, tensors, numbers)?);
    }
    let first = run(number, tensors, numbers)?.into_iter().next();
    first.map(handles::hold).ok_or_else(|| JsError::new("the call gave no tensor"))
}

/// [`call`] for methods that give several tensors.
#[wasm_bindgen]
pub fn call_many(number: usize, tensors: &[u32], numbers: &[f64]) -> Result<Vec<u32>, JsError> {
    Ok(hold_all(run(number, tensors, numbers)?))
}

fn run(number: usize, tensors: &[u32], numbers: &[f64]) -> flambeau::Result<Vec<Tensor>> {
    let call = match number {
        0..arrays::GROUP => number.checked_sub(elementwise_count()).and_then(methods::call),
        _ => arrays::call(number),
    };
    let call = call.ok_or_else(|| argument("call", format!("there is no method {number}")))?;
    let mut output = Vec::new();
    call(&mut args(tensors, numbers), &mut output)?;
    Ok(output)
}

fn elementwise(number: usize, tensors: &[u32], numbers: &[f64]) -> flambeau::Result<u32> {
    let mut args = args(tensors, numbers);
    let first: Tensor = args.take()?;
    let others = bindings::elementwise_arity(number) - 1;
    let others = (0..others).map(|_| args.take::<Operand>()).collect::<flambeau::Result<Vec<_>>>()?;
    bindings::elementwise(number, &first, others).map(handles::hold)
}

/// A tensor of these bytes, little-endian.
#[wasm_bindgen]
pub fn tensor_new(bytes: &[u8], shape: &[u32], dtype: u8) -> Result<u32, JsError> {
    let shape: Vec<usize> = shape.iter().map(|&size| size as usize).collect();
    let tensor = bindings::from_bytes(bytes, &shape, calls::dtype(dtype)?, &current()?)?;
    Ok(handles::hold(tensor))
}

/// Another handle of the same tensor.
#[wasm_bindgen]
pub fn tensor_clone(handle: u32) -> Result<u32, JsError> {
    Ok(handles::hold(handles::get(handle)?))
}

/// The sizes of the dimensions.
#[wasm_bindgen]
pub fn tensor_shape(handle: u32) -> Result<Vec<u32>, JsError> {
    Ok(handles::get(handle)?.shape().dims().iter().map(|&size| size as u32).collect())
}

/// The number of the dtype.
#[wasm_bindgen]
pub fn tensor_dtype(handle: u32) -> Result<u8, JsError> {
    Ok(calls::dtype_code(handles::get(handle)?.dtype()))
}

/// The values' bytes.
#[wasm_bindgen]
pub async fn tensor_bytes(handle: u32) -> Result<Vec<u8>, JsError> {
    let tensor = handles::get(handle)?;
    Ok(handles::read(handle, tensor.to_bytes().await)?)
}

/// The only value.
#[wasm_bindgen]
pub async fn tensor_item(handle: u32) -> Result<f64, JsError> {
    let tensor = handles::get(handle)?;
    Ok(handles::read(handle, tensor.item().await)?)
}

/// The only values of several tensors, read in one wait. They are evaluated at once.
#[wasm_bindgen]
pub async fn tensor_items(handles: Vec<u32>) -> Result<Vec<f64>, JsError> {
    let tensors = handles.iter().map(|&handle| handles::get(handle)).collect::<flambeau::Result<Vec<_>>>()?;
    let read = async { flambeau::read_later(&tensors.iter().collect::<Vec<_>>())?.values().await };
    let values = read.await;
    let values = handles.into_iter().fold(values, |values, handle| handles::read(handle, values))?;
    Ok(values.into_iter().map(|values| values.first().copied().unwrap_or(f64::NAN)).collect())
}

/// The tensor as PyTorch prints it.
#[wasm_bindgen]
pub async fn tensor_text(handle: u32) -> Result<String, JsError> {
    let tensor = handles::get(handle)?;
    Ok(handles::read(handle, tensor.to_text().await)?)
}

/// The plan that would compute it.
#[wasm_bindgen]
pub fn tensor_explain(handle: u32) -> Result<String, JsError> {
    Ok(handles::get(handle)?.explain())
}

/// Evaluates several tensors in one plan.
#[wasm_bindgen]
pub fn tensor_eval(handles: &[u32]) -> Result<(), JsError> {
    let tensors = handles.iter().map(|&handle| handles::get(handle)).collect::<flambeau::Result<Vec<_>>>()?;
    let tensors: Vec<&Tensor> = tensors.iter().collect();
    Ok(flambeau::eval(&tensors)?)
}

/// The same values on another device.
#[wasm_bindgen]
pub async fn tensor_to(handle: u32, to: u32) -> Result<u32, JsError> {
    let (tensor, device) = (handles::get(handle)?, device(to)?);
    Ok(handles::hold(tensor.to(&device).await?))
}

/// Elements where a mask is true.
#[wasm_bindgen]
pub async fn tensor_masked_select(handle: u32, mask: u32) -> Result<u32, JsError> {
    let (tensor, mask) = (handles::get(handle)?, handles::get(mask)?);
    Ok(handles::hold(tensor.masked_select(&mask).await?))
}

/// Positions of elements that are not zero.
#[wasm_bindgen]
pub async fn tensor_nonzero(handle: u32) -> Result<u32, JsError> {
    let tensor = handles::get(handle)?;
    Ok(handles::hold(tensor.nonzero().await?))
}

/// The distinct values in order, where each element went, and how often each occurs.
#[wasm_bindgen]
pub async fn tensor_unique(handle: u32) -> Result<Vec<u32>, JsError> {
    let tensor = handles::get(handle)?;
    let unique = tensor.unique().await?;
    Ok(hold_all(vec![unique.values, unique.inverse, unique.counts]))
}

/// Lets go of a handle.
#[wasm_bindgen]
pub fn tensor_release(handle: u32) {
    handles::release(handle);
}

/// Would the next optimizer step evaluate it for its own sake?
#[wasm_bindgen]
pub fn tensor_counts(handle: u32) -> bool {
    handles::counts(handle)
}

/// Evaluates it with the next step, and lets it live on after that.
#[wasm_bindgen]
pub fn tensor_keep(handle: u32) -> Result<(), JsError> {
    Ok(handles::keep(handle)?)
}

/// A leaf that collects its gradient.
#[wasm_bindgen]
pub fn tensor_requires_grad(handle: u32) -> Result<u32, JsError> {
    Ok(handles::hold(handles::operand(handle)?.try_requires_grad()?))
}

/// Does the tensor take part in derivatives?
#[wasm_bindgen]
pub fn tensor_is_tracked(handle: u32) -> Result<bool, JsError> {
    Ok(handles::get(handle)?.is_tracked())
}

/// The gradient, or 0.
#[wasm_bindgen]
pub fn tensor_grad(handle: u32) -> Result<u32, JsError> {
    Ok(handles::get(handle)?.grad().map_or(0, handles::hold))
}

/// Forgets the gradient.
#[wasm_bindgen]
pub fn tensor_zero_grad(handle: u32) -> Result<(), JsError> {
    handles::get(handle)?.zero_grad();
    Ok(())
}

/// Keeps the gradient of a tensor that is no leaf.
#[wasm_bindgen]
pub fn tensor_retain_grad(handle: u32) -> Result<(), JsError> {
    Ok(handles::get(handle)?.try_retain_grad()?)
}

fn options(create_graph: bool, retain_graph: bool) -> BackwardOptions {
    BackwardOptions { create_graph, retain_graph: retain_graph || create_graph }
}

/// Adds gradients to the leaves. The tensor is then evaluated with the next step.
#[wasm_bindgen]
pub fn tensor_backward(
    handle: u32,
    grad: u32,
    create_graph: bool,
    retain_graph: bool,
) -> Result<(), JsError> {
    handles::keep(handle)?;
    let tensor = handles::get(handle)?;
    let grad = if grad == 0 { None } else { Some(handles::operand(grad)?) };
    Ok(tensor.backward_options(grad.as_ref(), options(create_graph, retain_graph))?)
}

/// Gradients of outputs with respect to inputs; 0 where there is none.
#[wasm_bindgen]
pub fn autograd_grad(
    outputs: &[u32],
    inputs: &[u32],
    create_graph: bool,
    retain_graph: bool,
) -> Result<Vec<u32>, JsError> {
    let all = |handles: &[u32]| {
        handles.iter().map(|&handle| handles::operand(handle)).collect::<flambeau::Result<Vec<_>>>()
    };
    let grads = autograd::grad(&all(outputs)?, &all(inputs)?, options(create_graph, retain_graph))?;
    Ok(grads.into_iter().map(|grad| grad.map_or(0, handles::hold)).collect())
}

thread_local! {
    static MODES: RefCell<Vec<autograd::GradModeGuard>> = const { RefCell::new(Vec::new()) };
}

/// Turns recording on or off until [`autograd_leave`].
#[wasm_bindgen]
pub fn autograd_enter(enabled: bool) {
    let guard = autograd::set_grad_enabled(enabled);
    MODES.with_borrow_mut(|modes| modes.push(guard));
}

/// Goes back to the mode before the last [`autograd_enter`].
#[wasm_bindgen]
pub fn autograd_leave() {
    drop(MODES.with_borrow_mut(Vec::pop));
}

/// Is recording on?
#[wasm_bindgen]
pub fn autograd_enabled() -> bool {
    autograd::is_grad_enabled()
}

/// In-place methods: gives the handle the value of another tensor of the same shape.
#[wasm_bindgen]
pub fn tensor_assign(handle: u32, value: u32) -> Result<(), JsError> {
    let mut tensor = handles::get(handle)?;
    tensor.try_copy_(&handles::operand(value)?)?;
    Ok(handles::rebind(handle, tensor)?)
}

/// Seeds the default generator.
#[wasm_bindgen]
pub fn manual_seed(seed: f64) {
    flambeau::manual_seed(seed as u64);
}

/// A generator of its own; returns its number.
#[wasm_bindgen]
pub fn generator_new(seed: f64) -> u32 {
    new_generator(seed as u64)
}

/// The numbers below `count` in a random order, drawn on the host: the same as a native loader's.
#[wasm_bindgen]
pub fn generator_permutation(number: u32, count: usize) -> Result<Vec<u32>, JsError> {
    let mut random = HostRandom::new(&generator(number)?);
    Ok(random.permutation(count).into_iter().map(|place| place as u32).collect())
}

/// Random numbers drawn so far.
#[wasm_bindgen]
pub fn generator_counter(number: u32) -> Result<f64, JsError> {
    Ok(generator(number)?.counter() as f64)
}

/// Moves a generator to where another run left it.
#[wasm_bindgen]
pub fn generator_set_counter(number: u32, counter: f64) -> Result<(), JsError> {
    generator(number)?.set_counter(counter as u64);
    Ok(())
}
