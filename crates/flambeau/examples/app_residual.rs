//! Preset “Residual”, 10 steps: a run of Flambeau's app as a program.
//!
//! In a crate that depends on `flambeau`: `cargo run --release -- data/mnist`
//! The data: the four idx files of MNIST in data/mnist, or in the folder that is the first argument.
//! Weights, batches and chance are those of the run; its losses are met up to rounding.

use flambeau::data::{HostRandom, Images, Mnist};
use flambeau::nn::{self, Sequential};
use flambeau::optim;
use flambeau::prelude::*;

/// relu(x + f(x)), f two convolutions of 3 × 3 with batch norm; where the shape changes, x goes through one of 1 × 1.
#[derive(Module)]
struct ResidualBlock {
    conv1: nn::Conv2d,
    bn1: nn::BatchNorm2d,
    conv2: nn::Conv2d,
    bn2: nn::BatchNorm2d,
    shortcut: Sequential,
}

impl ResidualBlock {
    fn new(channels: usize, out: usize, stride: usize, device: &Device) -> ResidualBlock {
        let conv = |channels, kernel, stride, padding: usize| {
            let windows = Conv2dOptions::default().with_stride(stride).with_padding(padding);
            let options = nn::ConvLayerOptions { bias: false, ..windows.into() };
            nn::Conv2d::with_options(channels, out, kernel, options, device)
        };
        let (conv1, conv2) = (conv(channels, 3, stride, 1), conv(out, 3, 1, 1));
        let [bn1, bn2] = [out, out].map(|out| nn::BatchNorm2d::new(out, device));
        let mut shortcut = Sequential::new();
        if channels != out || stride != 1 {
            shortcut = shortcut.with(conv(channels, 1, stride, 0)).with(nn::BatchNorm2d::new(out, device));
        }
        ResidualBlock { conv1, bn1, conv2, bn2, shortcut }
    }
}

impl Forward for ResidualBlock {
    fn try_forward(&self, x: &Tensor) -> Result<Tensor> {
        let inner = self.bn1.try_forward(&self.conv1.try_forward(x)?)?.relu();
        let inner = self.bn2.try_forward(&self.conv2.try_forward(&inner)?)?;
        Ok((inner + self.shortcut.try_forward(x)?).relu())
    }
}

/// (B, 1, n, n) matrices that resample rows of n pixels: shifted, zoomed and mirrored by chance, picture by picture.
fn resampling(batch: usize, size: usize, mirror: bool, device: &Device) -> Tensor {
    let generator = Generator::default_generator();
    let draw = || Tensor::rand([batch, 1, 1, 1], &generator, device) * 2.0 - 1.0;
    let middle = (size as f64 - 1.0) / 2.0;
    let mut scale = draw() * 0.1 + 1.0;
    if mirror {
        scale *= draw().sign();
    }
    let pixels = Tensor::arange(0.0, size as f64, 1.0, device);
    let from = (pixels.reshape([1, 1, size, 1]) - middle) * scale + middle + draw() * 2.0;
    ((from - pixels.reshape([1, 1, 1, size])).abs().neg() + 1.0).relu()
}

/// The pictures (B, C, H, W), changed by chance.
fn augment(pictures: &Tensor) -> Tensor {
    let device = pictures.device();
    let [batch, channels, height, width] = [0, 1, 2, 3].map(|dim| pictures.size(dim));
    let rows = resampling(batch, height, false, device).expand([batch, channels, height, height]);
    let columns = resampling(batch, width, false, device).expand([batch, channels, width, width]);
    rows.matmul(pictures).matmul(&columns.transpose(2, 3))
}

/// Items as the network takes them.
fn input(items: &Tensor) -> Tensor {
    items.to_dtype(DType::F32) / 255.0
}

/// The cross entropy, and how many answers are right.
fn outcome(outputs: &Tensor, labels: &Tensor) -> (Tensor, Tensor) {
    (outputs.cross_entropy(labels), outputs.argmax(1).eq(labels).sum(..))
}

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let device = Device::named("cpu").await?;
    let place = std::env::args().nth(1).unwrap_or_else(|| "data/mnist".into());
    let set = Mnist::open(&place)?;
    let tensors = |images: &Images| -> Result<(Tensor, Tensor)> {
        let labels = Tensor::from_slice(images.labels(), [images.labels().len()], &device);
        Ok((images.pixels().to_tensor(&device)?, labels))
    };
    let (train, test) = (tensors(&set.train)?, tensors(&set.test)?);

    flambeau::manual_seed(1);
    let model = Sequential::new()
        .with(nn::Conv2d::with_options(1, 16, 3, Conv2dOptions::default().with_padding(1), &device))
        .with(nn::BatchNorm2d::new(16, &device))
        .with(nn::Relu)
        .with(ResidualBlock::new(16, 16, 1, &device))
        .with(ResidualBlock::new(16, 32, 2, &device))
        .with(ResidualBlock::new(32, 64, 2, &device))
        .with(Sequential::new().with(nn::AdaptiveAvgPool2d::new(1)).with(nn::Flatten::default()))
        .with(nn::Linear::new(64, 10, &device));
    let options = optim::AdamOptions { learning_rate: 0.001, ..Default::default() };
    let mut optimizer = optim::Adam::with_options(model.parameters(), options);

    let (count, batch, epochs) = (train.1.size(0), 16, 3);
    let steps = (epochs * count.div_ceil(batch)).min(10);
    let mut random = HostRandom::new(&Generator::new(1));
    let (mut step, mut sums, mut seen) = (0, [0.0, 0.0], 0);
    while step < steps {
        let order: Vec<i32> = random.permutation(count).into_iter().map(|place| place as i32).collect();
        for places in order.chunks(batch).take(steps - step) {
            let rows = Tensor::from_slice(places, [places.len()], &device);
            let x = input(&train.0.index_select(0, &rows));
            let x = augment(&x);
            let labels = train.1.index_select(0, &rows);
            let (loss, right) = outcome(&model.forward(&x), &labels);
            loss.backward()?;
            optimizer.step()?;
            optimizer.zero_grad();
            sums = [sums[0] + loss.item().await? * places.len() as f64, sums[1] + right.item().await?];
            (step, seen) = (step + 1, seen + places.len());
            if step % 10 == 0 || step == steps {
                let [loss, accuracy] = sums.map(|sum| sum / seen as f64);
                println!("step {step}: loss {loss}, accuracy {accuracy}");
                (sums, seen) = ([0.0, 0.0], 0);
            }
        }
    }

    model.eval();
    let (count, mut sums) = (test.1.size(0), [0.0, 0.0]);
    for start in (0..count).step_by(500) {
        let size = 500.min(count - start);
        let part = |all: &Tensor| all.narrow(0, start, size);
        let (loss, right) = no_grad(|| outcome(&model.forward(&input(&part(&test.0))), &part(&test.1)));
        sums = [sums[0] + loss.item().await? * size as f64, sums[1] + right.item().await?];
    }
    let [loss, accuracy] = sums.map(|sum| sum / count as f64);
    println!("test: loss {loss}, accuracy {accuracy}");
    Ok(())
}
