//! Fully connected layers: of one input, and of the products of two.

use super::text::flag;
use super::{constructors, forward_of_two};
use crate::error::{Error, Result};
use crate::nn::{Forward, Module, Parameter, init};
use crate::tensor::Tensor;

/// The settings of [`Linear`] and [`Bilinear`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        let product = input.try_matmul(&self.weight.get().try_t()?)?;
        match &self.bias {
            Some(bias) => product.try_add(bias.get()),
            None => Ok(product),
        }
    }
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
