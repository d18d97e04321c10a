//! Residual networks (He et al., "Deep residual learning for image recognition"), under torchvision's names.

use crate::error::{Result, expect};
use crate::nn::init::{self, FanMode, KaimingOptions, Nonlinearity};
use crate::nn::{BatchNorm2d, Conv2d, ConvLayerOptions, Forward, Linear, MaxPool2d, Module, Stage};
use crate::settings::{Settings, words};
use crate::tensor::{ConvOptions, MaxPoolOptions, Tensor, TensorOptions};

/// Which residual network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResNetDepth {
    /// 18 layers, blocks of two convolutions.
    Resnet18,
    /// 34 layers, blocks of two convolutions.
    Resnet34,
    /// 50 layers, blocks of three convolutions.
    Resnet50,
}

impl ResNetDepth {
    /// Blocks in each of the four stages.
    fn blocks(self) -> [usize; 4] {
        match self {
            ResNetDepth::Resnet18 => [2, 2, 2, 2],
            ResNetDepth::Resnet34 | ResNetDepth::Resnet50 => [3, 4, 6, 3],
        }
    }

    /// How many times as many channels leave a block as its 3 × 3 convolution has.
    fn expansion(self) -> usize {
        if self == ResNetDepth::Resnet50 { 4 } else { 1 }
    }
}

/// How a residual network begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResNetStem {
    /// A convolution 7 × 7 with stride 2, then the maximum of 3 × 3 with stride 2: for images of about 224 pixels.
    #[default]
    ImageNet,
    /// A convolution 3 × 3: for images of 32 pixels.
    Cifar,
}

words!(ResNetStem { "imagenet" => ImageNet, "cifar" => Cifar });

/// The settings of [`ResNet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub struct ResNetOptions {
    /// Channels of the image.
    pub inputs: usize,
    /// Channels of the first stage; each later one has twice as many.
    pub width: usize,
    /// How it begins.
    pub stem: ResNetStem,
    /// Does every block begin as the identity (the weight of its last norm being 0)?
    pub zero_init_residual: bool,
}

impl Default for ResNetOptions {
    fn default() -> Self {
        ResNetOptions { inputs: 3, width: 64, stem: ResNetStem::ImageNet, zero_init_residual: false }
    }
}

/// A residual network, from images (B, inputs, H, W) to (B, classes). Names, first values and layers are torchvision's:
/// `conv1`, `bn1`, `layer1.0.conv1`, …, `layer2.0.downsample.0`, …, `fc`.
///
/// ```
/// use flambeau::{nn::models::{ResNet, ResNetDepth, ResNetOptions, ResNetStem}, prelude::*};
/// let options = ResNetOptions { width: 4, stem: ResNetStem::Cifar, ..Default::default() };
/// let net = ResNet::with_options(ResNetDepth::Resnet18, 10, options, &Device::cpu());
/// assert_eq!(net.forward(&Tensor::ones([1, 3, 32, 32], &Device::cpu())).shape().dims(), [1, 10]);
/// ```
#[derive(Module)]
pub struct ResNet {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    maxpool: Option<MaxPool2d>,
    layer1: Vec<Block>,
    layer2: Vec<Block>,
    layer3: Vec<Block>,
    layer4: Vec<Block>,
    fc: Linear,
}

/// A convolution without bias that keeps the size of the image, but for the stride.
fn convolution(
    inputs: usize,
    outputs: usize,
    kernel: usize,
    stride: usize,
    options: &TensorOptions,
) -> Result<Conv2d> {
    let conv = ConvOptions::<2>::default().with_stride(stride).with_padding(kernel / 2);
    let layer = ConvLayerOptions::<2> { bias: false, ..conv.into() };
    let conv = Conv2d::try_with_options(inputs, outputs, kernel, layer, options)?;
    let kaiming = KaimingOptions { mode: FanMode::FanOut, nonlinearity: Nonlinearity::Relu };
    init::kaiming_normal(&conv.weight, kaiming, None)?;
    Ok(conv)
}

fn batch_norm(channels: usize, options: &TensorOptions) -> Result<BatchNorm2d> {
    BatchNorm2d::try_with_options(channels, Default::default(), options)
}

/// Brings the input of a block to the shape of its output.
#[derive(Module)]
struct Downsample(Conv2d, BatchNorm2d);

/// Two convolutions 3 × 3, or 1 × 1, 3 × 3 and 1 × 1, each normalised; what comes out is added to what went in.
#[derive(Module)]
struct Block {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    conv2: Conv2d,
    bn2: BatchNorm2d,
    conv3: Option<Conv2d>,
    bn3: Option<BatchNorm2d>,
    downsample: Option<Downsample>,
}

impl Block {
    fn new(
        depth: ResNetDepth,
        inputs: usize,
        width: usize,
        stride: usize,
        options: &TensorOptions,
    ) -> Result<Block> {
        let outputs = width * depth.expansion();
        let conv = |inputs, outputs, kernel, stride| convolution(inputs, outputs, kernel, stride, options);
        let norm = |channels| batch_norm(channels, options);
        let bottleneck = depth.expansion() > 1;
        let reshaped = stride != 1 || inputs != outputs;
        // As torchvision, a bottleneck has its stride in the 3 × 3 convolution.
        let (first, second) = if bottleneck { ((1, 1), stride) } else { ((3, stride), 1) };
        Ok(Block {
            conv1: conv(inputs, width, first.0, first.1)?,
            bn1: norm(width)?,
            conv2: conv(width, width, 3, second)?,
            bn2: norm(width)?,
            conv3: bottleneck.then(|| conv(width, outputs, 1, 1)).transpose()?,
            bn3: bottleneck.then(|| norm(outputs)).transpose()?,
            downsample: match reshaped {
                true => Some(Downsample(conv(inputs, outputs, 1, stride)?, norm(outputs)?)),
                false => None,
            },
        })
    }
}

impl Forward for Block {
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let mut x = self.bn1.try_forward(&self.conv1.try_forward(input)?)?.try_relu()?;
        x = self.bn2.try_forward(&self.conv2.try_forward(&x)?)?;
        if let (Some(conv), Some(norm)) = (&self.conv3, &self.bn3) {
            x = norm.try_forward(&conv.try_forward(&x.try_relu()?)?)?;
        }
        let straight = match &self.downsample {
            Some(Downsample(conv, norm)) => norm.try_forward(&conv.try_forward(input)?)?,
            None => input.clone(),
        };
        x.try_add(&straight)?.try_relu()
    }
}

impl ResNet {
    /// For images of three channels and about 224 pixels.
    #[track_caller]
    pub fn new(depth: ResNetDepth, classes: usize, options: impl Into<TensorOptions>) -> ResNet {
        ResNet::with_options(depth, classes, ResNetOptions::default(), options)
    }

    /// With all settings.
    #[track_caller]
    pub fn with_options(
        depth: ResNetDepth,
        classes: usize,
        model: ResNetOptions,
        options: impl Into<TensorOptions>,
    ) -> ResNet {
        expect(ResNet::try_with_options(depth, classes, model, options))
    }

    /// [`with_options`](ResNet::with_options), or the error instead of a panic.
    pub fn try_with_options(
        depth: ResNetDepth,
        classes: usize,
        model: ResNetOptions,
        options: impl Into<TensorOptions>,
    ) -> Result<ResNet> {
        let options = options.into();
        let stage = |number: usize| -> Result<Vec<Block>> {
            let width = model.width << number;
            let block = |k: usize| {
                let (before, stride) = match (number, k) {
                    (0, 0) => (model.width, 1),
                    (_, 0) => (width / 2 * depth.expansion(), 2),
                    _ => (width * depth.expansion(), 1),
                };
                Block::new(depth, before, width, stride, &options)
            };
            (0..depth.blocks()[number]).map(block).collect()
        };
        let (kernel, stride) = if model.stem == ResNetStem::ImageNet { (7, 2) } else { (3, 1) };
        let features = (model.width << 3) * depth.expansion();
        let pool = MaxPool2d::with_options(3, MaxPoolOptions::default().with_stride(2).with_padding(1));
        let net = ResNet {
            conv1: convolution(model.inputs, model.width, kernel, stride, &options)?,
            bn1: batch_norm(model.width, &options)?,
            maxpool: (model.stem == ResNetStem::ImageNet).then_some(pool),
            layer1: stage(0)?,
            layer2: stage(1)?,
            layer3: stage(2)?,
            layer4: stage(3)?,
            fc: Linear::try_with_options(features, classes, Default::default(), &options)?,
        };
        if model.zero_init_residual {
            for block in net.blocks() {
                let last = block.bn3.as_ref().unwrap_or(&block.bn2);
                last.weight.iter().try_for_each(init::zeros)?;
            }
        }
        Ok(net)
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        [&self.layer1, &self.layer2, &self.layer3, &self.layer4].into_iter().flatten()
    }

    fn stem(&self, input: &Tensor) -> Result<Tensor> {
        let x = self.bn1.try_forward(&self.conv1.try_forward(input)?)?.try_relu()?;
        self.maxpool.iter().try_fold(x, |x, pool| pool.try_forward(&x))
    }

    fn head(&self, x: &Tensor) -> Result<Tensor> {
        self.fc.try_forward(&x.try_mean([2, 3])?)
    }
}

impl Forward for ResNet {
    /// The stem, each block, and the last layer.
    fn stages(&self) -> Vec<Stage<'_>> {
        let stem = Stage::new(&[&self.conv1, &self.bn1], |input| self.stem(input));
        let head = Stage::new(&[&self.fc], |x| self.head(x));
        std::iter::once(stem).chain(self.blocks().map(Stage::of)).chain([head]).collect()
    }

    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let x = self.blocks().try_fold(self.stem(input)?, |x, block| block.try_forward(&x))?;
        self.head(&x)
    }
}
