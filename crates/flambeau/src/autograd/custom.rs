//! Functions with a derivative given by the user.

use super::function::{Edge, Function, Rule};
use super::{is_grad_enabled, no_grad};
use crate::error::{Error, Result};
use crate::op::{Grads, Saves, Vjp};
use crate::tensor::Tensor;
use crate::tensor::node::Value;
use std::sync::Arc;

/// What a custom function remembers between forward and backward.
pub struct Context {
    saved: Vec<Tensor>,
    needs: Vec<bool>,
}

impl Context {
    /// Keeps a tensor for backward. Inputs and outputs keep their history there, so that a backward made of
    /// differentiable ops can itself be differentiated; other tensors are constants there.
    pub fn save(&mut self, tensor: &Tensor) {
        self.saved.push(tensor.clone());
    }

    /// The saved tensors, in the order they were saved.
    pub fn saved(&self) -> &[Tensor] {
        &self.saved
    }

    /// Does input `index` need a gradient? Backward may return `None` for those that do not.
    pub fn needs_grad(&self, index: usize) -> bool {
        self.needs.get(index).copied().unwrap_or(false)
    }
}

/// A function with a derivative of its own.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::autograd::{Context, CustomFunction};
/// /// x², with the derivative clamped to at most 1.
/// struct Gentle;
/// impl CustomFunction for Gentle {
///     fn forward(&self, context: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
///         context.save(&inputs[0]);
///         Ok(vec![&inputs[0] * &inputs[0]])
///     }
///     fn backward(&self, context: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
///         let slope = &context.saved()[0] * 2.0;
///         Ok(vec![Some(&grads[0] * slope.gt(1.0).where_cond(1.0, &slope))])
///     }
/// }
/// let x = Tensor::new([0.25, 3.0], &Device::cpu()).requires_grad();
/// Gentle.apply(&[&x])?[0].sum(..).backward()?;
/// assert_eq!(x.grad().unwrap().to_string(), "tensor([0.5000, 1.0000])");
/// # Ok::<(), Error>(())
/// ```
pub trait CustomFunction: Send + Sync + 'static {
    /// The name errors use.
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    /// The outputs. Runs without recording; `context.save` keeps what backward reads.
    fn forward(&self, context: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>>;

    /// The gradient of every input, given those of the outputs (zeros where none flowed). `None` stands for zero.
    fn backward(&self, context: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>>;

    /// Applies the function and records it.
    fn apply(self, inputs: &[&Tensor]) -> Result<Vec<Tensor>>
    where
        Self: Sized,
    {
        apply(self, inputs)
    }
}

/// Where a saved tensor is found when backward runs. Saved tensors that are neither inputs nor outputs are added to
/// the recorded function as further inputs, without history.
#[derive(Clone, Copy)]
enum Place {
    Input(usize),
    Output(usize),
}

fn apply<F: CustomFunction>(function: F, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
    let needs: Vec<bool> = inputs.iter().map(|input| input.is_tracked()).collect();
    let recorded = is_grad_enabled() && needs.contains(&true);
    let mut context = Context { saved: Vec::new(), needs };
    let plain: Vec<Tensor> = inputs.iter().map(|input| input.detach()).collect();
    let outputs = no_grad(|| function.forward(&mut context, &plain))?;
    let outputs: Vec<Tensor> = outputs.iter().map(Tensor::detach).collect();
    if !recorded || outputs.is_empty() {
        return Ok(outputs);
    }
    let mut remembered = plain;
    let mut saves = Saves::NOTHING;
    let mut places = Vec::with_capacity(context.saved.len());
    for saved in context.saved {
        let same = |other: &Tensor| is_same(other.value(), saved.value());
        if let (None, Some(output)) = (remembered.iter().position(same), outputs.iter().position(same)) {
            saves.outputs = true;
            places.push(Place::Output(output));
            continue;
        }
        let input = remembered.iter().position(same).unwrap_or_else(|| {
            remembered.push(saved.detach());
            remembered.len() - 1
        });
        saves.inputs |= 1 << input.min(31);
        places.push(Place::Input(input));
    }
    let further = &remembered[inputs.len()..];
    let all: Vec<&Tensor> = inputs.iter().copied().chain(further).collect();
    let name = function.name();
    let count = inputs.len();
    let rule = Rule::Custom(Arc::new(move |v: &Vjp| backward(&function, &places, count, v)));
    let values: Vec<Value> = outputs.iter().map(|output| output.value().clone()).collect();
    let node = Function::new(name, rule, saves, &all, &values);
    let tracked = |(index, value): (usize, Value)| {
        let edge = value.meta().dtype.is_float().then(|| Edge::Function(node.clone(), index as u32));
        Tensor::from_parts(value, edge)
    };
    Ok(values.into_iter().enumerate().map(tracked).collect())
}

fn is_same(a: &Value, b: &Value) -> bool {
    Arc::ptr_eq(&a.node, &b.node) && a.output == b.output
}

fn backward<F: CustomFunction>(function: &F, places: &[Place], inputs: usize, v: &Vjp) -> Result<Grads> {
    let find = |place: &Place| match *place {
        Place::Input(index) => v.inputs[index].clone(),
        Place::Output(index) => v.outputs[index].clone(),
    };
    let context = Context { saved: places.iter().map(find).collect(), needs: v.needs[..inputs].to_vec() };
    let flowed = v.grads.iter().zip(v.outputs);
    let grads: Vec<Tensor> =
        flowed.map(|(grad, output)| grad.clone().unwrap_or_else(|| output.zeros_like())).collect();
    let mut found = function.backward(&context, &grads)?;
    if found.len() != inputs {
        let message = format!("{}: backward gave {} gradients for {inputs} inputs", v.name, found.len());
        return Err(Error::Autograd(message));
    }
    for (index, (grad, input)) in found.iter().zip(v.inputs).enumerate() {
        if let Some(grad) = grad
            && grad.shape() != input.shape()
        {
            return Err(Error::Autograd(format!(
                "{}: backward gave a gradient of shape {} for input {index} of shape {}",
                v.name,
                grad.shape(),
                input.shape()
            )));
        }
    }
    found.resize(v.inputs.len(), None);
    Ok(found)
}
