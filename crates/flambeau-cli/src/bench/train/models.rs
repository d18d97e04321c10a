//! Models that users write, beyond the library's own: what `bench train` measures when they are named.

use flambeau::nn::models::{Mlp, MlpOptions};
use flambeau::nn::{
    AttentionMasks, BatchNorm2d, Conv2d, ConvLayerOptions, ConvTranspose2d, ConvTransposeLayerOptions,
    Embedding, LayerNorm, Linear, Lstm, LstmOptions, TransformerEncoder, TransformerEncoderLayer,
    TransformerLayerOptions,
};
use flambeau::prelude::*;
use flambeau::{ConvOptions, ConvTransposeOptions, TensorOptions};

/// Layers of the same width with ReLU between them, and ten classes.
pub fn deep(layers: usize, options: &TensorOptions) -> Result<Mlp> {
    let sizes: Vec<usize> = std::iter::repeat_n(256, layers).chain([10]).collect();
    Mlp::try_with_options(&sizes, MlpOptions::default(), options)
}

/// The last output of an LSTM over (B, T, 64), classified.
#[derive(Module)]
pub struct Recurrent {
    lstm: Lstm,
    head: Linear,
}

impl Recurrent {
    pub fn new(options: &TensorOptions) -> Result<Recurrent> {
        let batch_first = LstmOptions { batch_first: true, ..Default::default() };
        Ok(Recurrent {
            lstm: Lstm::try_with_options(64, 256, batch_first, options)?,
            head: Linear::try_with_options(256, 10, Default::default(), options)?,
        })
    }
}

impl Forward for Recurrent {
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let (output, _) = self.lstm.try_forward(input, None)?;
        self.head.try_forward(&output.try_select(1, -1)?)
    }
}

/// Two 3 × 3 convolutions, each with batch norm and ReLU.
#[derive(Module)]
struct Double {
    conv1: Conv2d,
    norm1: BatchNorm2d,
    conv2: Conv2d,
    norm2: BatchNorm2d,
}

fn convolution(
    inputs: usize,
    outputs: usize,
    groups: usize,
    kernel: usize,
    options: &TensorOptions,
) -> Result<Conv2d> {
    let conv = ConvOptions { groups, ..ConvOptions::default().with_padding(kernel / 2) };
    let settings = ConvLayerOptions { conv, bias: false, ..Default::default() };
    Conv2d::try_with_options(inputs, outputs, kernel, settings, options)
}

fn norm(channels: usize, options: &TensorOptions) -> Result<BatchNorm2d> {
    BatchNorm2d::try_with_options(channels, Default::default(), options)
}

impl Double {
    fn new(inputs: usize, outputs: usize, options: &TensorOptions) -> Result<Double> {
        Ok(Double {
            conv1: convolution(inputs, outputs, 1, 3, options)?,
            norm1: norm(outputs, options)?,
            conv2: convolution(outputs, outputs, 1, 3, options)?,
            norm2: norm(outputs, options)?,
        })
    }
}

impl Forward for Double {
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let x = self.norm1.try_forward(&self.conv1.try_forward(input)?)?.try_relu()?;
        self.norm2.try_forward(&self.conv2.try_forward(&x)?)?.try_relu()
    }
}

/// A U-Net 32 wide with three steps down and up again: (B, 3, S, S) → (B, 10, S, S).
#[derive(Module)]
pub struct UNet {
    down: Vec<Double>,
    bottom: Double,
    up: Vec<ConvTranspose2d>,
    merge: Vec<Double>,
    head: Conv2d,
}

impl UNet {
    pub fn new(options: &TensorOptions) -> Result<UNet> {
        let widths = [3, 32, 64, 128, 256];
        let twice: ConvTransposeLayerOptions<2> = ConvTransposeOptions::default().with_stride(2).into();
        let up = |step: usize| {
            ConvTranspose2d::try_with_options(widths[step + 1], widths[step], 2, twice, options)
        };
        Ok(UNet {
            down: (0..3)
                .map(|step| Double::new(widths[step], widths[step + 1], options))
                .collect::<Result<_>>()?,
            bottom: Double::new(128, 256, options)?,
            up: (1..4).rev().map(up).collect::<Result<_>>()?,
            merge: (1..4)
                .rev()
                .map(|step| Double::new(2 * widths[step], widths[step], options))
                .collect::<Result<_>>()?,
            head: Conv2d::try_with_options(32, 10, 1, ConvOptions::default(), options)?,
        })
    }
}

impl Forward for UNet {
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let (mut x, mut aside) = (input.clone(), Vec::new());
        for step in &self.down {
            let wide = step.try_forward(&x)?;
            x = wide.try_max_pool2d(2, &Default::default())?;
            aside.push(wide);
        }
        x = self.bottom.try_forward(&x)?;
        for ((up, merge), wide) in self.up.iter().zip(&self.merge).zip(aside.iter().rev()) {
            x = merge.try_forward(&Tensor::try_cat(&[wide, &up.try_forward(&x)?], 1)?)?;
        }
        self.head.try_forward(&x)
    }
}

/// Six blocks of a depthwise 3 × 3 and a 1 × 1 convolution over 64 channels.
#[derive(Module)]
pub struct Depthwise {
    stem: Conv2d,
    blocks: Vec<Separable>,
    head: Linear,
}

#[derive(Module)]
struct Separable {
    across: Conv2d,
    norm1: BatchNorm2d,
    mix: Conv2d,
    norm2: BatchNorm2d,
}

impl Depthwise {
    pub fn new(options: &TensorOptions) -> Result<Depthwise> {
        let block = |_| {
            Ok(Separable {
                across: convolution(64, 64, 64, 3, options)?,
                norm1: norm(64, options)?,
                mix: convolution(64, 64, 1, 1, options)?,
                norm2: norm(64, options)?,
            })
        };
        Ok(Depthwise {
            stem: convolution(3, 64, 1, 3, options)?,
            blocks: (0..6).map(block).collect::<Result<_>>()?,
            head: Linear::try_with_options(64, 10, Default::default(), options)?,
        })
    }
}

impl Forward for Depthwise {
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let mut x = self.stem.try_forward(input)?;
        for Separable { across, norm1, mix, norm2 } in &self.blocks {
            x = norm1.try_forward(&across.try_forward(&x)?)?.try_relu()?;
            x = norm2.try_forward(&mix.try_forward(&x)?)?.try_relu()?;
        }
        self.head.try_forward(&x.try_mean([2, 3])?)
    }
}

/// Four encoder layers 256 wide over 30,000 symbols, and ten classes from the mean.
#[derive(Module)]
pub struct Encoder {
    table: Embedding,
    layers: TransformerEncoder,
    head: Linear,
}

impl Encoder {
    pub fn new(options: &TensorOptions) -> Result<Encoder> {
        let settings = TransformerLayerOptions { dropout: 0.1, batch_first: true, ..Default::default() };
        let layer = |_| TransformerEncoderLayer::try_with_options(256, 4, settings, options);
        let layers = (0..4).map(layer).collect::<Result<_>>()?;
        Ok(Encoder {
            table: Embedding::try_with_options(30_000, 256, Default::default(), options)?,
            layers: TransformerEncoder::new(layers, None::<LayerNorm>),
            head: Linear::try_with_options(256, 10, Default::default(), options)?,
        })
    }
}

impl Forward for Encoder {
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let x = self.layers.try_forward(&self.table.try_forward(input)?, &AttentionMasks::default())?;
        self.head.try_forward(&x.try_mean(1)?)
    }
}
