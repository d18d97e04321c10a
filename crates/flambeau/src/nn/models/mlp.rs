//! The multilayer perceptron.

use crate::error::{Error, Result, expect};
use crate::nn::{Dropout, Forward, Linear, Module, Part, Stage};
use crate::tensor::{Tensor, TensorOptions};

/// The function between the layers of an [`Mlp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MlpActivation {
    /// max(x, 0).
    #[default]
    Relu,
    /// x Φ(x).
    Gelu,
    /// The hyperbolic tangent.
    Tanh,
}

/// The settings of [`Mlp`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MlpOptions {
    /// The function between the layers.
    pub activation: MlpActivation,
    /// The probability with which hidden values are dropped in training.
    pub dropout: f64,
}

/// Linear layers named `fc1`, `fc2`, …, with a function between them. An input (B, …) is flattened to (B, features).
///
/// ```
/// use flambeau::{nn::models::Mlp, prelude::*};
/// let mlp = Mlp::new(&[784, 128, 10], &Device::cpu());
/// assert_eq!(mlp.forward(&Tensor::ones([5, 1, 28, 28], &Device::cpu())).shape().dims(), [5, 10]);
/// assert_eq!(mlp.state_dict().names().collect::<Vec<_>>(), ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]);
/// ```
pub struct Mlp {
    layers: Vec<Linear>,
    activation: MlpActivation,
    dropout: Dropout,
}

impl Module for Mlp {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
        let layers = self.layers.iter().enumerate();
        layers.for_each(|(k, layer)| visit(&format!("fc{}", k + 1), Part::Module(layer)));
        if self.dropout.p > 0.0 {
            visit("dropout", Part::Module(&self.dropout));
        }
    }

    fn type_name(&self) -> Option<&str> {
        Some("Mlp")
    }
}

impl Mlp {
    /// From the first size to the last, with ReLU between.
    #[track_caller]
    pub fn new(sizes: &[usize], options: impl Into<TensorOptions>) -> Mlp {
        Mlp::with_options(sizes, MlpOptions::default(), options)
    }

    /// With all settings.
    #[track_caller]
    pub fn with_options(sizes: &[usize], model: MlpOptions, options: impl Into<TensorOptions>) -> Mlp {
        expect(Mlp::try_with_options(sizes, model, options))
    }

    /// [`with_options`](Mlp::with_options), or the error instead of a panic.
    pub fn try_with_options(
        sizes: &[usize],
        model: MlpOptions,
        options: impl Into<TensorOptions>,
    ) -> Result<Mlp> {
        if sizes.len() < 2 {
            let message = format!("sizes {sizes:?}; at least those of input and output are needed");
            return Err(Error::argument("Mlp", message));
        }
        let options = options.into();
        let layer = |pair: &[usize]| Linear::try_with_options(pair[0], pair[1], Default::default(), &options);
        let layers = sizes.windows(2).map(layer).collect::<Result<_>>()?;
        Ok(Mlp { layers, activation: model.activation, dropout: Dropout::new(model.dropout) })
    }
}

impl Mlp {
    /// One layer, after the activation of the one before.
    #[track_caller]
    fn layer(&self, number: usize, x: &Tensor) -> Result<Tensor> {
        let layer = &self.layers[number];
        if number == 0 {
            return if x.rank() > 2 {
                layer.try_forward(&x.try_flatten(1, -1)?)
            } else {
                layer.try_forward(x)
            };
        }
        let x = match self.activation {
            MlpActivation::Relu => x.try_relu()?,
            MlpActivation::Gelu => x.try_gelu()?,
            MlpActivation::Tanh => x.try_tanh()?,
        };
        layer.try_forward(&self.dropout.try_forward(&x)?)
    }
}

impl Forward for Mlp {
    fn stages(&self) -> Vec<Stage<'_>> {
        let stage = |(number, layer)| Stage::new(&[layer as &dyn Module], move |x| self.layer(number, x));
        self.layers.iter().enumerate().map(stage).collect()
    }

    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        (0..self.layers.len()).try_fold(input.clone(), |x, number| self.layer(number, &x))
    }
}
