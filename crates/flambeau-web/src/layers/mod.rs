//! Layers for JavaScript: made by name from JSON settings, called with tensors.

mod called;
pub mod catalogue;

use crate::args::args;
use crate::handles::{self, argument};
use crate::slab::Slab;
use crate::tensor::hold_all;
use called::Called;
use flambeau::calls::Args;
use flambeau::nn::{Buffer, Forward, Module, Parameter};
use flambeau::{Result as Fallible, Tensor};
use wasm_bindgen::prelude::*;

/// A layer, by how it is called.
pub enum Layer {
    /// One tensor in, one out.
    Plain(Box<dyn Forward>),
    /// Anything else.
    Special(Box<dyn Called>),
}

impl Layer {
    fn module(&self) -> &dyn Module {
        match self {
            Layer::Plain(layer) => layer,
            Layer::Special(layer) => &**layer,
        }
    }

    /// The output for these arguments; which they are is the matching method of the package's class.
    fn call(&self, args: &mut Args) -> Fallible<Vec<Tensor>> {
        match self {
            Layer::Plain(layer) => Ok(vec![layer.try_forward(&args.take()?)?]),
            Layer::Special(layer) => layer.call(args),
        }
    }
}

/// A parameter or a buffer.
#[derive(Clone)]
pub enum Slot {
    Parameter(Parameter),
    Buffer(Buffer),
}

thread_local! {
    static LAYERS: Slab<Layer> = const { Slab::new("layer") };
    static SLOTS: Slab<Slot> = const { Slab::new("parameter") };
}

fn layer(number: u32) -> Fallible<std::rc::Rc<Layer>> {
    LAYERS.with(|layers| layers.get(number))
}

/// The parameter or the buffer with this number.
pub fn slot(number: u32) -> Fallible<std::rc::Rc<Slot>> {
    SLOTS.with(|slots| slots.get(number))
}

/// The parameter with this number.
pub fn parameter(number: u32) -> Fallible<Parameter> {
    match &*slot(number)? {
        Slot::Parameter(parameter) => Ok(parameter.clone()),
        Slot::Buffer(_) => Err(argument("parameter", "a buffer is not trained")),
    }
}

/// Makes a layer.
#[wasm_bindgen]
pub fn layer_new(kind: &str, options: &str) -> Result<u32, JsError> {
    let layer = catalogue::layer(kind, options)?;
    Ok(LAYERS.with(|layers| layers.add(layer)))
}

/// Calls layers of one input one after the other.
#[wasm_bindgen]
pub fn layer_chain(layers: &[u32], input: u32) -> Result<u32, JsError> {
    let mut x = handles::operand(input)?;
    for &number in layers {
        x = match &*layer(number)? {
            Layer::Plain(layer) => layer.try_forward(&x)?,
            _ => return Err(JsError::new("sequential: a layer takes more than one input")),
        };
    }
    Ok(handles::hold(x))
}

/// Calls a layer.
#[wasm_bindgen]
pub fn layer_call(number: u32, tensors: &[u32], numbers: &[f64]) -> Result<Vec<u32>, JsError> {
    Ok(hold_all(layer(number)?.call(&mut args(tensors, numbers))?))
}

/// The names of a layer's parameters (first) and buffers; the latter begin with a colon.
#[wasm_bindgen]
pub fn layer_slot_names(number: u32) -> Result<Vec<String>, JsError> {
    let layer = layer(number)?;
    let module = layer.module();
    let parameters = module.named_parameters().into_iter().map(|(name, _)| name);
    let buffers = module.named_buffers().into_iter().map(|(name, _)| format!(":{name}"));
    Ok(parameters.chain(buffers).collect())
}

/// Their numbers, in the same order.
#[wasm_bindgen]
pub fn layer_slots(number: u32) -> Result<Vec<u32>, JsError> {
    let layer = layer(number)?;
    let module = layer.module();
    let parameters = module.named_parameters().into_iter().map(|(_, parameter)| Slot::Parameter(parameter));
    let buffers = module.named_buffers().into_iter().map(|(_, buffer)| Slot::Buffer(buffer));
    Ok(SLOTS.with(|slots| parameters.chain(buffers).map(|slot| slots.add(slot)).collect()))
}

/// Switches between training and evaluation.
#[wasm_bindgen]
pub fn layer_train(number: u32, training: bool) -> Result<(), JsError> {
    let layer = layer(number)?;
    if training {
        layer.module().train()
    } else {
        layer.module().eval()
    }
    Ok(())
}

/// The layer as PyTorch prints it.
#[wasm_bindgen]
pub fn layer_text(number: u32) -> Result<String, JsError> {
    let summary = layer(number)?.module().summary();
    let lines: Vec<&str> = summary.lines().collect();
    // The last line counts the parameters.
    Ok(lines[..lines.len().saturating_sub(1)].join("\n"))
}

/// Lets go of a layer.
#[wasm_bindgen]
pub fn layer_release(number: u32) {
    LAYERS.with(|layers| layers.remove(number));
}

/// A parameter (or a buffer) with this value.
#[wasm_bindgen]
pub fn slot_new(value: u32, trained: bool) -> Result<u32, JsError> {
    let value = handles::operand(value)?;
    let slot = match trained {
        true => Slot::Parameter(Parameter::try_new(&value)?),
        false => Slot::Buffer(Buffer::new(&value)),
    };
    Ok(SLOTS.with(|slots| slots.add(slot)))
}

/// A number that no other slot has; the same slot has the same.
#[wasm_bindgen]
pub fn slot_key(number: u32) -> Result<f64, JsError> {
    Ok(match &*slot(number)? {
        Slot::Parameter(parameter) => parameter.id() as f64,
        Slot::Buffer(buffer) => buffer.id() as f64,
    })
}

/// The value now; `tracked` for use in a model.
#[wasm_bindgen]
pub fn slot_get(number: u32, tracked: bool) -> Result<u32, JsError> {
    Ok(handles::hold(match &*slot(number)? {
        Slot::Parameter(parameter) if tracked => parameter.get(),
        Slot::Parameter(parameter) => parameter.value(),
        Slot::Buffer(buffer) => buffer.get(),
    }))
}

/// Puts in a new value.
#[wasm_bindgen]
pub fn slot_set(number: u32, value: u32) -> Result<(), JsError> {
    let value = handles::operand(value)?;
    match &*slot(number)? {
        Slot::Parameter(parameter) => parameter.try_set(&value)?,
        Slot::Buffer(buffer) => buffer.try_set(&value)?,
    }
    Ok(())
}

/// The gradient, or 0.
#[wasm_bindgen]
pub fn slot_grad(number: u32) -> Result<u32, JsError> {
    Ok(parameter(number)?.grad().map_or(0, handles::hold))
}

/// Sets the gradient; 0 forgets it.
#[wasm_bindgen]
pub fn slot_set_grad(number: u32, grad: u32) -> Result<(), JsError> {
    let grad = if grad == 0 { None } else { Some(handles::operand(grad)?) };
    Ok(parameter(number)?.set_grad(grad.as_ref())?)
}

/// Is it trained at present?
#[wasm_bindgen]
pub fn slot_requires_grad(number: u32) -> Result<bool, JsError> {
    Ok(parameter(number)?.requires_grad())
}

/// Freezes or thaws it.
#[wasm_bindgen]
pub fn slot_set_requires_grad(number: u32, requires_grad: bool) -> Result<(), JsError> {
    parameter(number)?.set_requires_grad(requires_grad);
    Ok(())
}

/// Gives it a name, which errors will use.
#[wasm_bindgen]
pub fn slot_set_name(number: u32, name: &str) -> Result<(), JsError> {
    match &*slot(number)? {
        Slot::Parameter(parameter) => parameter.set_name(name),
        Slot::Buffer(buffer) => buffer.set_name(name),
    }
    Ok(())
}

/// Lets go of it.
#[wasm_bindgen]
pub fn slot_release(number: u32) {
    SLOTS.with(|slots| slots.remove(number));
}

/// Scales gradients down to a norm; returns the norm before that.
#[wasm_bindgen]
pub fn clip_grad_norm(slots: &[u32], max_norm: f64, norm_type: f64) -> Result<u32, JsError> {
    let parameters = slots.iter().map(|&number| parameter(number)).collect::<Fallible<Vec<_>>>()?;
    Ok(handles::hold(flambeau::nn::utils::clip_grad_norm(&parameters, max_norm, norm_type)?))
}

/// Brings gradients into [−max, max].
#[wasm_bindgen]
pub fn clip_grad_value(slots: &[u32], max: f64) -> Result<(), JsError> {
    let parameters = slots.iter().map(|&number| parameter(number)).collect::<Fallible<Vec<_>>>()?;
    Ok(flambeau::nn::utils::clip_grad_value(&parameters, max)?)
}
