//! The models that are trained, as the peers' programs in `bench/` define them, on random data.

use flambeau::nn::models::{Cnn, Gpt, GptConfig, Mlp, ResNet, ResNetDepth, ResNetOptions, ResNetStem};
use flambeau::optim::{Adam, Sgd, SgdOptions};
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
}

impl Workload {
    pub const ALL: [Workload; 4] = [Workload::Mlp, Workload::Cnn, Workload::Resnet18Cifar, Workload::Gpt10m];

    pub fn name(self) -> &'static str {
        match self {
            Workload::Mlp => "mlp",
            Workload::Cnn => "cnn",
            Workload::Resnet18Cifar => "resnet18-cifar",
            Workload::Gpt10m => "gpt-10m",
        }
    }

    pub fn optimizer_name(self) -> &'static str {
        if self == Workload::Resnet18Cifar { "SGD" } else { "Adam" }
    }

    /// The batches that the peers are measured with.
    pub fn default_batches(self) -> &'static [usize] {
        match self {
            Workload::Mlp | Workload::Cnn => &[32, 128],
            Workload::Resnet18Cifar => &[128],
            Workload::Gpt10m => &[16],
        }
    }

    /// About the arithmetic of one sample's step, to decide how much to run before anything was counted.
    pub fn flops_per_sample(self) -> f64 {
        match self {
            Workload::Mlp => 6e5,
            Workload::Cnn => 3e7,
            Workload::Resnet18Cifar => 3.4e9,
            Workload::Gpt10m => 1.7e10,
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
        })
    }

    fn optimizer(self, parameters: Vec<Parameter>) -> Result<Box<dyn Optimizer>> {
        Ok(match self {
            Workload::Resnet18Cifar => {
                let options = SgdOptions { learning_rate: 0.01, momentum: 0.9, ..Default::default() };
                Box::new(Sgd::try_with_options(parameters, options)?)
            }
            _ => Box::new(Adam::new(parameters, 1e-3)),
        })
    }

    /// Inputs with their labels, evaluated. The numbers do not depend on device and dtype.
    fn batch(self, size: usize, number: usize, options: &TensorOptions) -> Result<(Tensor, Tensor)> {
        let generator = Generator::new(SEED).fork(number as u64);
        let device = options.device();
        let images = |shape: &[usize]| -> Result<(Tensor, Tensor)> {
            let x = Tensor::try_rand(shape, &generator, options)?;
            let y = Tensor::try_randint(0, CLASSES as i64, [size], &generator, device)?;
            Ok((x, y))
        };
        let (x, y) = match self {
            Workload::Mlp => images(&[size, 784])?,
            Workload::Cnn => images(&[size, 1, 28, 28])?,
            Workload::Resnet18Cifar => images(&[size, 3, 32, 32])?,
            Workload::Gpt10m => {
                let (symbols, tokens) = (GPT.vocabulary as i64, GPT.context);
                let x = Tensor::try_randint(0, symbols, [size, tokens], &generator, device)?;
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
}

impl Training {
    /// The model with its first values, which do not depend on device and dtype, and `count` batches.
    pub fn new(workload: Workload, batch: usize, count: usize, options: &TensorOptions) -> Result<Training> {
        manual_seed(SEED);
        let model = workload.model(options)?;
        let optimizer = workload.optimizer(model.parameters())?;
        let batches = (0..count).map(|number| workload.batch(batch, number, options));
        Ok(Training { model, optimizer, batches: batches.collect::<Result<_>>()?, next: 0 })
    }

    /// One step with the next batch: returns its loss without waiting for it.
    pub fn step(&mut self) -> Result<Tensor> {
        let (x, y) = &self.batches[self.next % self.batches.len()];
        self.next += 1;
        let mut scores = self.model.try_forward(x)?;
        if scores.shape().rank() == 3 {
            scores = scores.try_flatten(0, 1)?;
        }
        let loss = scores.try_cross_entropy(y)?;
        loss.backward()?;
        self.optimizer.step()?;
        self.optimizer.zero_grad();
        Ok(loss)
    }

    pub fn parameter_count(&self) -> usize {
        self.model.parameter_count()
    }
}
