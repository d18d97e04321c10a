//! A small convolutional network for small images, in the manner of LeNet.

use crate::error::{Error, Result, expect};
use crate::nn::{BatchNorm2d, Conv2d, ConvLayerOptions, Dropout, Forward, Linear, MaxPool2d, Module};
use crate::shape::product;
use crate::tensor::{Tensor, TensorOptions};

/// The settings of [`Cnn`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CnnOptions {
    /// Channels of the image.
    pub inputs: usize,
    /// Height and width of the image.
    pub size: [usize; 2],
    /// Channels after each convolution.
    pub channels: [usize; 2],
    /// Features between the linear layers.
    pub hidden: usize,
    /// The probability with which those features are dropped in training.
    pub dropout: f64,
    /// Are the convolutions followed by batch norms, `bn1` and `bn2`?
    pub batch_norm: bool,
}

impl Default for CnnOptions {
    /// For MNIST: 28 × 28 pixels, 32 and 64 channels, 128 features, no dropout, no batch norm.
    fn default() -> Self {
        CnnOptions {
            inputs: 1,
            size: [28, 28],
            channels: [32, 64],
            hidden: 128,
            dropout: 0.0,
            batch_norm: false,
        }
    }
}

/// Twice a convolution 3 × 3, ReLU and the maximum of 2 × 2; then two linear layers with ReLU between: `conv1`, `conv2`,
/// `fc1`, `fc2`. From (B, inputs, H, W) to (B, classes).
///
/// ```
/// use flambeau::{nn::models::Cnn, prelude::*};
/// let cnn = Cnn::new(10, &Device::cpu());
/// assert_eq!(cnn.forward(&Tensor::ones([2, 1, 28, 28], &Device::cpu())).shape().dims(), [2, 10]);
/// assert_eq!(cnn.parameter_count(), 225_034);
/// ```
#[derive(Module)]
pub struct Cnn {
    conv1: Conv2d,
    bn1: Option<BatchNorm2d>,
    conv2: Conv2d,
    bn2: Option<BatchNorm2d>,
    pool: MaxPool2d,
    fc1: Linear,
    dropout: Option<Dropout>,
    fc2: Linear,
}

/// The side of an image after a convolution and a pool.
fn shrunk(side: usize) -> usize {
    side.saturating_sub(2) / 2
}

impl Cnn {
    /// For MNIST's images.
    #[track_caller]
    pub fn new(classes: usize, options: impl Into<TensorOptions>) -> Cnn {
        Cnn::with_options(classes, CnnOptions::default(), options)
    }

    /// With all settings.
    #[track_caller]
    pub fn with_options(classes: usize, model: CnnOptions, options: impl Into<TensorOptions>) -> Cnn {
        expect(Cnn::try_with_options(classes, model, options))
    }

    /// [`with_options`](Cnn::with_options), or the error instead of a panic.
    pub fn try_with_options(
        classes: usize,
        model: CnnOptions,
        options: impl Into<TensorOptions>,
    ) -> Result<Cnn> {
        let options = options.into();
        let [first, second] = model.channels;
        let left = product(model.size.map(|side| shrunk(shrunk(side))));
        if left == 0 {
            let message = format!("images of {:?} pixels are too small for it; 10 are needed", model.size);
            return Err(Error::argument("Cnn", message));
        }
        let conv = |inputs, outputs| {
            Conv2d::try_with_options(inputs, outputs, 3, ConvLayerOptions::default(), &options)
        };
        let norm = |channels| {
            let norm = || BatchNorm2d::try_with_options(channels, Default::default(), &options);
            model.batch_norm.then(norm).transpose()
        };
        let linear =
            |inputs, outputs| Linear::try_with_options(inputs, outputs, Default::default(), &options);
        Ok(Cnn {
            conv1: conv(model.inputs, first)?,
            bn1: norm(first)?,
            conv2: conv(first, second)?,
            bn2: norm(second)?,
            pool: MaxPool2d::new(2),
            fc1: linear(product([second, left]), model.hidden)?,
            dropout: (model.dropout > 0.0).then(|| Dropout::new(model.dropout)),
            fc2: linear(model.hidden, classes)?,
        })
    }
}

impl Forward for Cnn {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let mut x = input.clone();
        for (conv, norm) in [(&self.conv1, &self.bn1), (&self.conv2, &self.bn2)] {
            x = conv.try_forward(&x)?;
            if let Some(norm) = norm {
                x = norm.try_forward(&x)?;
            }
            x = self.pool.try_forward(&x.try_relu()?)?;
        }
        x = self.fc1.try_forward(&x.try_flatten(1, -1)?)?.try_relu()?;
        if let Some(dropout) = &self.dropout {
            x = dropout.try_forward(&x)?;
        }
        self.fc2.try_forward(&x)
    }
}
