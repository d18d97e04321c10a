//! The models that can be trained: what a model file says about the model in it, and how it is built from that.

use flambeau::data::augment::{Augment, Normalize};
use flambeau::nn::models::{
    Cnn, CnnOptions, Gpt, GptConfig, Mlp, MlpActivation, MlpOptions, ResNet, ResNetDepth, ResNetOptions,
    ResNetStem,
};
use flambeau::nn::{Part, Stage};
use flambeau::prelude::*;
use serde::{Deserialize, Serialize};

/// A model with all its settings, as it is written into model files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Architecture {
    /// Linear layers of these sizes, with ReLU or tanh between.
    Mlp { sizes: Vec<usize>, tanh: bool },
    /// Two convolutions and two linear layers.
    Cnn {
        inputs: usize,
        size: [usize; 2],
        channels: [usize; 2],
        hidden: usize,
        dropout: f64,
        batch_norm: bool,
        classes: usize,
    },
    /// A residual network of 18 layers for small pictures, which it normalises where it has learned from such.
    Resnet18 {
        inputs: usize,
        width: usize,
        classes: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        normalise: Option<Normalisation>,
    },
    /// A transformer over characters.
    Gpt { vocabulary: usize, context: usize, layers: usize, heads: usize, width: usize, dropout: f64 },
}

/// The mean and the standard deviation of each channel of the pictures that a model has learned from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Normalisation {
    pub mean: Vec<f64>,
    pub deviation: Vec<f64>,
}

/// A model of normalised pictures that takes pictures as they are: whoever uses it cannot forget to normalise. Its parts are the
/// model's own, under their names.
struct Normalised {
    normalize: Normalize,
    model: Box<dyn Forward>,
}

impl Module for Normalised {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
        self.model.parts(visit);
    }

    fn type_name(&self) -> Option<&str> {
        self.model.type_name()
    }

    fn describe(&self) -> String {
        self.model.describe()
    }
}

impl Forward for Normalised {
    fn stages(&self) -> Vec<Stage<'_>> {
        let normalize = Stage::new(&[], |pictures| self.normalize.apply(pictures, &Generator::new(0)));
        std::iter::once(normalize).chain(self.model.stages()).collect()
    }

    fn try_forward(&self, pictures: &Tensor) -> Result<Tensor> {
        // Nothing is drawn from the generator.
        self.model.try_forward(&self.normalize.apply(pictures, &Generator::new(0))?)
    }
}

impl Architecture {
    /// The model, with first values from the default generator.
    pub fn build(&self, device: &Device) -> Result<Box<dyn Forward>> {
        self.build_apart(device, device)
    }

    /// The same with its parameters on a device of their own, apart from the one where it takes its inputs.
    pub fn build_apart(&self, device: &Device, inputs: &Device) -> Result<Box<dyn Forward>> {
        Ok(match self {
            Architecture::Mlp { sizes, tanh } => {
                let activation = if *tanh { MlpActivation::Tanh } else { MlpActivation::Relu };
                Box::new(Mlp::try_with_options(sizes, MlpOptions { activation, dropout: 0.0 }, device)?)
            }
            &Architecture::Cnn { inputs, size, channels, hidden, dropout, batch_norm, classes } => {
                let options = CnnOptions { inputs, size, channels, hidden, dropout, batch_norm };
                Box::new(Cnn::try_with_options(classes, options, device)?)
            }
            &Architecture::Resnet18 { inputs: channels, width, classes, ref normalise } => {
                let options = ResNetOptions {
                    inputs: channels,
                    width,
                    stem: ResNetStem::Cifar,
                    zero_init_residual: false,
                };
                let model = ResNet::try_with_options(ResNetDepth::Resnet18, classes, options, device)?;
                match normalise {
                    None => Box::new(model),
                    Some(Normalisation { mean, deviation }) => Box::new(Normalised {
                        normalize: Normalize::new(mean, deviation, inputs)?,
                        model: Box::new(model),
                    }),
                }
            }
            Architecture::Gpt { .. } => {
                Box::new(Gpt::try_new(self.gpt_config().expect("it is a GPT"), device)?)
            }
        })
    }

    /// The same with another probability of dropout; None if it has no dropout.
    pub fn with_dropout(mut self, probability: f64) -> Option<Architecture> {
        match &mut self {
            Architecture::Cnn { dropout, .. } | Architecture::Gpt { dropout, .. } => *dropout = probability,
            Architecture::Mlp { .. } | Architecture::Resnet18 { .. } => return None,
        }
        Some(self)
    }

    /// The scores it gives: for each class, or each character.
    pub fn outputs(&self) -> usize {
        match self {
            Architecture::Mlp { sizes, .. } => sizes.last().copied().unwrap_or(0),
            Architecture::Cnn { classes, .. } | Architecture::Resnet18 { classes, .. } => *classes,
            Architecture::Gpt { vocabulary, .. } => *vocabulary,
        }
    }

    /// A number of parameters that it has at least: what is known without building it.
    pub fn least_parameters(&self) -> usize {
        let product =
            |sizes: &[usize]| sizes.iter().fold(1usize, |product, &size| product.saturating_mul(size.max(1)));
        match self {
            Architecture::Mlp { sizes, .. } => {
                sizes.windows(2).fold(0, |sum: usize, pair| sum.saturating_add(product(pair)))
            }
            &Architecture::Cnn { inputs, channels: [first, second], hidden, classes, .. } => {
                product(&[inputs, first])
                    .max(product(&[first, second]))
                    .max(product(&[hidden, classes.max(second)]))
            }
            &Architecture::Resnet18 { inputs, width, classes, .. } => {
                product(&[width, width, 9]).max(product(&[inputs, width])).max(product(&[width, classes]))
            }
            &Architecture::Gpt { vocabulary, context, layers, width, .. } => product(&[vocabulary, width])
                .max(product(&[context, width]))
                .max(product(&[layers, width, width])),
        }
    }

    /// The settings of a GPT, if it is one.
    pub fn gpt_config(&self) -> Option<GptConfig> {
        match *self {
            Architecture::Gpt { vocabulary, context, layers, heads, width, dropout } => {
                Some(GptConfig { vocabulary, context, layers, heads, width, dropout, ..GptConfig::default() })
            }
            _ => None,
        }
    }
}
