//! The models that can be trained: what a model file says about the model in it, and how it is built from that.

use flambeau::nn::models::{
    Cnn, CnnOptions, Gpt, GptConfig, Mlp, MlpActivation, MlpOptions, ResNet, ResNetDepth, ResNetOptions,
    ResNetStem,
};
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
    /// A residual network of 18 layers for small pictures.
    Resnet18 { inputs: usize, width: usize, classes: usize },
    /// A transformer over characters.
    Gpt { vocabulary: usize, context: usize, layers: usize, heads: usize, width: usize, dropout: f64 },
}

impl Architecture {
    /// The model, with first values from the default generator.
    pub fn build(&self, device: &Device) -> Result<Box<dyn Forward>> {
        Ok(match self {
            Architecture::Mlp { sizes, tanh } => {
                let activation = if *tanh { MlpActivation::Tanh } else { MlpActivation::Relu };
                Box::new(Mlp::try_with_options(sizes, MlpOptions { activation, dropout: 0.0 }, device)?)
            }
            &Architecture::Cnn { inputs, size, channels, hidden, dropout, batch_norm, classes } => {
                let options = CnnOptions { inputs, size, channels, hidden, dropout, batch_norm };
                Box::new(Cnn::try_with_options(classes, options, device)?)
            }
            &Architecture::Resnet18 { inputs, width, classes } => {
                let options =
                    ResNetOptions { inputs, width, stem: ResNetStem::Cifar, zero_init_residual: false };
                Box::new(ResNet::try_with_options(ResNetDepth::Resnet18, classes, options, device)?)
            }
            Architecture::Gpt { .. } => {
                Box::new(Gpt::try_new(self.gpt_config().expect("it is a GPT"), device)?)
            }
        })
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
