//! Fully connected layers.

use crate::error::{Error, Result, expect};
use crate::nn::{Forward, Module, Parameter, init};
use crate::tensor::{Tensor, TensorOptions};

/// The settings of [`Linear`].
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
#[derive(Module)]
#[module(describe = Linear::describe)]
pub struct Linear {
    /// W, of shape (out, in).
    pub weight: Parameter,
    /// b, of shape (out).
    pub bias: Option<Parameter>,
}

impl Linear {
    /// With a bias.
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, options: impl Into<TensorOptions>) -> Linear {
        Linear::with_options(inputs, outputs, LinearOptions::default(), options)
    }

    /// With all settings.
    #[track_caller]
    pub fn with_options(
        inputs: usize,
        outputs: usize,
        layer: LinearOptions,
        options: impl Into<TensorOptions>,
    ) -> Linear {
        expect(Linear::try_with_options(inputs, outputs, layer, options))
    }

    /// [`with_options`](Linear::with_options), or the error instead of a panic.
    pub fn try_with_options(
        inputs: usize,
        outputs: usize,
        layer: LinearOptions,
        options: impl Into<TensorOptions>,
    ) -> Result<Linear> {
        let options = options.into();
        let bound = 1.0 / (inputs.max(1) as f64).sqrt();
        let weight = init::uniform_parameter([outputs, inputs], bound, &options)?;
        let bias = layer.bias.then(|| init::uniform_parameter([outputs], bound, &options)).transpose()?;
        Ok(Linear { weight, bias })
    }

    fn describe(&self) -> String {
        let [outputs, inputs] = *self.weight.shape().dims() else { return String::new() };
        let bias = if self.bias.is_some() { "True" } else { "False" };
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
