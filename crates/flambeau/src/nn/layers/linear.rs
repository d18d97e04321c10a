//! Fully connected layers: of one input, and of the products of two.

use super::text::flag;
use super::{constructors, forward_of_two};
use crate::autograd::{Autocast, Saves};
use crate::error::{Error, Result};
use crate::nn::{Forward, Module, Parameter, init};
use crate::settings::Settings;
use crate::tensor::{Composite, Meta, Results, Tensor};
use smallvec::{SmallVec, smallvec};

/// The settings of [`Linear`] and [`Bilinear`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub struct LinearOptions {
    /// Is a bias added?
    pub bias: bool,
}

impl Default for LinearOptions {
    fn default() -> Self {
        LinearOptions { bias: true }
    }
}

/// y = x Wᵀ + b, from (…, in) to (…, out). W (out, in) and b (out) begin in U(−1/√in, 1/√in).
///
/// ```
/// use flambeau::{nn::Linear, prelude::*};
/// let layer = Linear::new(3, 2, &Device::cpu());
/// assert_eq!(layer.forward(&Tensor::ones([5, 3], &Device::cpu())).shape().dims(), [5, 2]);
/// assert_eq!(layer.summary(), "Linear(in_features=3, out_features=2, bias=True)\n8 parameters");
/// ```
#[derive(Module, Debug)]
#[module(describe = Linear::describe)]
pub struct Linear {
    /// W, of shape (out, in).
    pub weight: Parameter,
    /// b, of shape (out).
    pub bias: Option<Parameter>,
}

impl Linear {
    constructors! {
        (inputs: usize, outputs: usize; layer: LinearOptions; options)
        {
            let bound = 1.0 / (inputs.max(1) as f64).sqrt();
            let weight = init::uniform_parameter([outputs, inputs], bound, &options)?;
            let bias = layer.bias.then(|| init::uniform_parameter([outputs], bound, &options)).transpose()?;
            Ok(Linear { weight, bias })
        }
    }

    fn describe(&self) -> String {
        let [outputs, inputs] = *self.weight.shape().dims() else { return String::new() };
        let bias = flag(self.bias.is_some());
        format!("in_features={inputs}, out_features={outputs}, bias={bias}")
    }
}

impl Forward for Linear {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let inputs = self.weight.shape().dims()[1];
        if input.shape().dims().last() != Some(&inputs) {
            let message = format!("input {} must end in {inputs} features", input.shape());
            return Err(Error::shape("Linear", message));
        }
        let (weight, bias) = (self.weight.get(), self.bias.as_ref().map(Parameter::get));
        let entered = LINEAR.autocast.enter([input, &weight])?;
        let [input, weight] = entered.inputs([input, &weight]);
        let bias = entered.optional(bias.as_ref())?;
        let mut operands: SmallVec<[&Tensor; 3]> = smallvec![input, weight];
        operands.extend(&bias);
        if operands.iter().any(|operand| operand.dtype() != input.dtype()) || !input.dtype().is_float() {
            return affine(&operands).map(|mut results| results.remove(0));
        }
        let outputs = weight.shape().dims()[0];
        let shape = input.shape().with(input.rank() - 1, outputs);
        Tensor::composed(&LINEAR, &[], &operands, Meta::new(shape, input.dtype()))
    }
}

/// x Wᵀ + b of x, W and, if there is one, b. Derivatives: g W, gᵀ x and the sum of g's rows.
static LINEAR: Composite = Composite::with_rule(
    "linear",
    |of| affine(&of.inputs.iter().collect::<SmallVec<[&Tensor; 3]>>()),
    Saves::inputs(0b11),
    |v, _| {
        let g = v.grad();
        let (x, weight) = (v.input(0), v.input(1));
        let part = |operand: usize, kind, operands: &[&Tensor]| match v.needs.get(operand) {
            Some(true) => Tensor::composed(kind, &[], operands, v.input(operand).meta().clone()).map(Some),
            _ => Ok(None),
        };
        let mut grads = vec![part(0, &INPUT_GRADIENT, &[g, weight])?, part(1, &WEIGHT_GRADIENT, &[g, x])?];
        if v.needs.len() == 3 {
            grads.push(part(2, &BIAS_GRADIENT, &[g])?);
        }
        Ok(grads)
    },
)
.with_autocast(Autocast::Lower);

static INPUT_GRADIENT: Composite =
    Composite::plain("linear_input_gradient", |of| Ok(smallvec![of.inputs[0].try_matmul(&of.inputs[1])?]));

static WEIGHT_GRADIENT: Composite = Composite::plain("linear_weight_gradient", |of| {
    let [g, x] = [0, 1].map(|input| rows(&of.inputs[input]));
    Ok(smallvec![g?.try_t()?.try_matmul(&x?)?])
});

static BIAS_GRADIENT: Composite =
    Composite::plain("linear_bias_gradient", |of| Ok(smallvec![rows(&of.inputs[0])?.try_sum(0)?]));

fn affine(operands: &[&Tensor]) -> Result<Results> {
    let product = operands[0].try_matmul(&operands[1].try_t()?)?;
    Ok(smallvec![match operands.get(2) {
        Some(&bias) => product.try_add(bias)?,
        None => product,
    }])
}

/// (…, n) as a matrix of n columns.
fn rows(x: &Tensor) -> Result<Tensor> {
    if x.rank() == 1 { x.try_unsqueeze(0) } else { x.try_flatten(0, -2) }
}

/// yₖ = x₁ᵀ Wₖ x₂ + bₖ, from (…, in1) and (…, in2) to (…, out). W (out, in1, in2) and b (out) begin in
/// U(−1/√in1, 1/√in1).
///
/// ```
/// use flambeau::{nn::Bilinear, prelude::*};
/// let device = Device::cpu();
/// let layer = Bilinear::new(3, 4, 2, &device);
/// let y = layer.forward(&Tensor::ones([5, 3], &device), &Tensor::ones([5, 4], &device));
/// assert_eq!(y.shape().dims(), [5, 2]);
/// ```
#[derive(Module, Debug)]
#[module(describe = Bilinear::describe)]
pub struct Bilinear {
    /// W, of shape (out, in1, in2).
    pub weight: Parameter,
    /// b, of shape (out).
    pub bias: Option<Parameter>,
}

impl Bilinear {
    constructors! {
        (first_inputs: usize, second_inputs: usize, outputs: usize; layer: LinearOptions; options)
        {
            let bound = 1.0 / (first_inputs.max(1) as f64).sqrt();
            let weight = init::uniform_parameter([outputs, first_inputs, second_inputs], bound, &options)?;
            let bias = layer.bias.then(|| init::uniform_parameter([outputs], bound, &options)).transpose()?;
            Ok(Bilinear { weight, bias })
        }
    }

    forward_of_two! {
        (self, first, second)
        {
            let bias = self.bias.as_ref().map(Parameter::get);
            first.try_bilinear(second, &self.weight.get(), bias.as_ref())
        }
    }

    fn describe(&self) -> String {
        let [outputs, first, second] = *self.weight.shape().dims() else { return String::new() };
        let bias = flag(self.bias.is_some());
        format!("in1_features={first}, in2_features={second}, out_features={outputs}, bias={bias}")
    }
}
