//! The models that are trained, as the peers' programs in `bench/` define them, on random data.

use super::models::{Depthwise, Encoder, Recurrent, UNet, deep};
use flambeau::autograd::autocast;
use flambeau::nn::models::{Cnn, Gpt, GptConfig, Mlp, ResNet, ResNetDepth, ResNetOptions, ResNetStem};
use flambeau::optim::{Adam, GradScaler, Sgd, SgdOptions};
use flambeau::prelude::*;
use flambeau::{TensorOptions, manual_seed};

/// Different batches, taken in turn.
pub const BATCHES: usize = 4;
const SEED: u64 = 20;
/// Classes of the images.
const CLASSES: usize = 10;

/// A model with its optimizer and its kind of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Workload {
    /// 784-128-10 with ReLU, Adam.
    Mlp,
    /// conv 32, pool, conv 64, pool, 1600-128-10 with ReLU, Adam.
    Cnn,
    /// ResNet-18 for 32 × 32 images, SGD with momentum.
    Resnet18Cifar,
    /// 6 layers, 6 heads, 384 wide, 65 symbols, 256 tokens, Adam.
    #[value(name = "gpt-10m")]
    Gpt10m,
    /// 8 layers of 256 with ReLU, Adam.
    Deep8,
    /// 32 of them.
    Deep32,
    /// 128 of them.
    Deep128,
    /// LSTM 64 → 256 over 64 steps, Adam.
    Lstm,
    /// U-Net 32 wide over 64 × 64, Adam.
    Unet,
    /// Six depthwise blocks of 64 channels over 32 × 32, Adam.
    Depthwise,
    /// Four encoder layers 256 wide over 128 of 30,000 symbols, dropout, Adam.
    Encoder,
    /// `gpt-10m` with 512 tokens.
    Gpt512,
    /// The same with dropout of 0.1.
    Gpt512Dropout,
    /// ResNet-50 for 224 × 224 images, SGD with momentum.
    Resnet50,
}

/// How large a workload's samples are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// As described.
    Full,
    /// Small enough to be computed in f64 on a CPU, where the full size is not.
    Small,
}

impl Workload {
    pub const ALL: [Workload; 4] = [Workload::Mlp, Workload::Cnn, Workload::Resnet18Cifar, Workload::Gpt10m];

    pub fn name(self) -> &'static str {
        match self {
            Workload::Mlp => "mlp",
            Workload::Cnn => "cnn",
            Workload::Resnet18Cifar => "resnet18-cifar",
            Workload::Gpt10m => "gpt-10m",
            Workload::Deep8 => "deep8",
            Workload::Deep32 => "deep32",
            Workload::Deep128 => "deep128",
            Workload::Lstm => "lstm",
            Workload::Unet => "unet",
            Workload::Depthwise => "depthwise",
            Workload::Encoder => "encoder",
            Workload::Gpt512 => "gpt512",
            Workload::Gpt512Dropout => "gpt512-dropout",
            Workload::Resnet50 => "resnet50",
        }
    }

    fn is_resnet(self) -> bool {
        matches!(self, Workload::Resnet18Cifar | Workload::Resnet50)
    }

    /// Does it have batch norm, which over few samples amplifies what rounding makes different?
    pub fn has_batch_norm(self) -> bool {
        self.is_resnet() || matches!(self, Workload::Unet | Workload::Depthwise)
    }

    pub fn optimizer_name(self) -> &'static str {
        if self.is_resnet() { "SGD" } else { "Adam" }
    }

    /// The batches that the peers are measured with.
    pub fn default_batches(self) -> &'static [usize] {
        match self {
            Workload::Mlp | Workload::Cnn => &[32, 128],
            Workload::Resnet18Cifar => &[128],
            Workload::Gpt10m | Workload::Unet | Workload::Resnet50 => &[16],
            Workload::Deep8 | Workload::Deep32 | Workload::Deep128 | Workload::Depthwise => &[64],
            Workload::Lstm | Workload::Encoder => &[32],
            Workload::Gpt512 | Workload::Gpt512Dropout => &[8],
        }
    }

    /// About the arithmetic of one small sample's step, to decide how much to run before anything was counted.
    pub fn flops_per_sample(self) -> f64 {
        match self {
            Workload::Mlp => 6e5,
            Workload::Cnn => 3e7,
            Workload::Resnet18Cifar => 3.4e9,
            Workload::Gpt10m => 1.7e10,
            Workload::Deep8 => 3e6,
            Workload::Deep32 => 1.2e7,
            Workload::Deep128 => 5e7,
            Workload::Lstm => 1.6e7,
            Workload::Unet => 1e9,
            Workload::Depthwise => 2e8,
            Workload::Encoder => 5e8,
            Workload::Gpt512 | Workload::Gpt512Dropout => 4e9,
            Workload::Resnet50 => 5e8,
        }
    }

    fn model(self, options: &TensorOptions) -> Result<Box<dyn Forward>> {
        Ok(match self {
            Workload::Mlp => {
                Box::new(Mlp::try_with_options(&[784, 128, CLASSES], Default::default(), options)?)
            }
            Workload::Cnn => Box::new(Cnn::try_with_options(CLASSES, Default::default(), options)?),
            Workload::Resnet18Cifar => {
                let settings = ResNetOptions { stem: ResNetStem::Cifar, ..Default::default() };
                Box::new(ResNet::try_with_options(ResNetDepth::Resnet18, CLASSES, settings, options)?)
            }
            Workload::Gpt10m => Box::new(Gpt::try_new(GPT, options)?),
            Workload::Deep8 => Box::new(deep(8, options)?),
            Workload::Deep32 => Box::new(deep(32, options)?),
            Workload::Deep128 => Box::new(deep(128, options)?),
            Workload::Lstm => Box::new(Recurrent::new(options)?),
            Workload::Unet => Box::new(UNet::new(options)?),
            Workload::Depthwise => Box::new(Depthwise::new(options)?),
            Workload::Encoder => Box::new(Encoder::new(options)?),
            Workload::Gpt512 => Box::new(Gpt::try_new(GptConfig { context: 512, ..GPT }, options)?),
            Workload::Gpt512Dropout => {
                Box::new(Gpt::try_new(GptConfig { context: 512, dropout: 0.1, ..GPT }, options)?)
            }
            Workload::Resnet50 => {
                Box::new(ResNet::try_with_options(ResNetDepth::Resnet50, 1000, Default::default(), options)?)
            }
        })
    }

    fn optimizer(self, parameters: Vec<Parameter>) -> Result<Box<dyn Optimizer>> {
        Ok(match self {
            Workload::Resnet18Cifar | Workload::Resnet50 => {
                // With 0.01 ResNet-50's first steps are chaotic: the last bit of a sum decides where they lead.
                let learning_rate = if self == Workload::Resnet50 { 0.001 } else { 0.01 };
                let options = SgdOptions { learning_rate, momentum: 0.9, ..Default::default() };
                Box::new(Sgd::try_with_options(parameters, options)?)
            }
            Workload::Encoder => Box::new(Adam::new(parameters, 1e-4)),
            _ => Box::new(Adam::new(parameters, 1e-3)),
        })
    }

    /// Inputs with their labels, evaluated. The numbers do not depend on device and dtype.
    fn batch(
        self,
        size: usize,
        number: usize,
        scale: Scale,
        options: &TensorOptions,
    ) -> Result<(Tensor, Tensor)> {
        let generator = Generator::new(SEED).fork(number as u64);
        let device = options.device();
        let sized = |full: usize, small: usize| if scale == Scale::Full { full } else { small };
        let classes = |shape: &[usize]| Tensor::try_randint(0, CLASSES as i64, shape, &generator, device);
        let images = |shape: &[usize]| -> Result<(Tensor, Tensor)> {
            Ok((Tensor::try_rand(shape, &generator, options)?, classes(&[size])?))
        };
        let (x, y) = match self {
            Workload::Mlp => images(&[size, 784])?,
            Workload::Cnn => images(&[size, 1, 28, 28])?,
            Workload::Resnet18Cifar | Workload::Depthwise => images(&[size, 3, 32, 32])?,
            Workload::Resnet50 => images(&[size, 3, sized(224, 64), sized(224, 64)])?,
            Workload::Deep8 | Workload::Deep32 | Workload::Deep128 => images(&[size, 256])?,
            Workload::Lstm => images(&[size, sized(64, 8), 64])?,
            Workload::Unet => {
                let side = sized(64, 32);
                let x = Tensor::try_rand([size, 3, side, side], &generator, options)?;
                (x, classes(&[size, side, side])?)
            }
            Workload::Encoder => {
                let tokens = [size, sized(128, 16)];
                (Tensor::try_randint(0, 30_000, tokens, &generator, device)?, classes(&[size])?)
            }
            Workload::Gpt10m | Workload::Gpt512 | Workload::Gpt512Dropout => {
                let tokens = if self == Workload::Gpt10m { GPT.context } else { sized(512, 64) };
                let x = Tensor::try_randint(0, GPT.vocabulary as i64, [size, tokens], &generator, device)?;
                (x.clone(), x.try_flatten(0, 1)?)
            }
        };
        eval(&[&x, &y])?;
        Ok((x, y))
    }
}

const GPT: GptConfig = GptConfig {
    vocabulary: 65,
    context: 256,
    layers: 6,
    heads: 6,
    width: 384,
    dropout: 0.0,
    bias: true,
    tied: false,
};

/// A model in training.
pub struct Training {
    model: Box<dyn Forward>,
    optimizer: Box<dyn Optimizer>,
    batches: Vec<(Tensor, Tensor)>,
    next: usize,
    /// Scales the loss in mixed precision.
    scaler: Option<GradScaler>,
}

impl Training {
    /// The model with its first values, which do not depend on device and dtype, and `count` batches.
    pub fn new(
        workload: Workload,
        batch: usize,
        count: usize,
        scale: Scale,
        options: &TensorOptions,
    ) -> Result<Training> {
        manual_seed(SEED);
        let model = workload.model(options)?;
        let optimizer = workload.optimizer(model.parameters())?;
        let batches = (0..count).map(|number| workload.batch(batch, number, scale, options));
        let batches = batches.collect::<Result<_>>()?;
        Ok(Training { model, optimizer, batches, next: 0, scaler: None })
    }

    /// In mixed precision, if it is asked for.
    pub fn with_amp(mut self, amp: bool) -> Result<Training> {
        if amp {
            let device = self.batches[0].0.device();
            self.scaler = Some(GradScaler::try_with_options(Default::default(), device)?);
        }
        Ok(self)
    }

    /// One step with the next batch: returns its loss without waiting for it.
    pub fn step(&mut self) -> Result<Tensor> {
        let (x, y) = &self.batches[self.next % self.batches.len()];
        self.next += 1;
        let loss = autocast(self.scaler.is_some(), || {
            let mut scores = self.model.try_forward(x)?;
            if scores.shape().rank() == 3 {
                scores = scores.try_flatten(0, 1)?;
            }
            scores.try_cross_entropy(y)
        })?;
        match &mut self.scaler {
            None => {
                loss.backward()?;
                self.optimizer.step()?;
            }
            Some(scaler) => {
                scaler.try_scale(&loss)?.backward()?;
                scaler.step(&mut *self.optimizer)?;
                scaler.update()?;
            }
        }
        self.optimizer.zero_grad();
        Ok(loss)
    }

    pub fn parameter_count(&self) -> usize {
        self.model.parameter_count()
    }
}
