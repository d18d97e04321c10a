//! Trains a small network to tell two interleaved spirals apart: a classic that no straight line can solve.

use crate::picture;
use flambeau::nn::Parameter;
use flambeau::optim::{Adam, Optimizer};
use flambeau::prelude::*;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// The accuracy that counts as solved.
const GOAL: f64 = 0.99;
/// Side of the picture, in pixels, and of the square it shows.
const PICTURE: usize = 56;
const SIDE: f64 = 1.1;

/// What can be chosen on the command line.
#[derive(clap::Args)]
pub struct Options {
    /// Training steps.
    #[arg(long, default_value_t = 2000)]
    steps: usize,
    /// Points per spiral.
    #[arg(long, default_value_t = 500)]
    points: usize,
    /// Width of the two hidden layers.
    #[arg(long, default_value_t = 64)]
    hidden: usize,
    /// Adam's learning rate.
    #[arg(long, default_value_t = 0.01)]
    learning_rate: f64,
    /// Seed of data and weights: the same seed gives the same run on every device.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write a picture of what was learned to this SVG file.
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options { steps: 2000, points: 500, hidden: 64, learning_rate: 0.01, seed: 1, picture: None }
    }
}

/// A fully connected layer: y = x·W + b.
struct Layer {
    weight: Parameter,
    bias: Parameter,
}

impl Layer {
    /// Uniform weights within ±1/√inputs, as PyTorch's `Linear` starts.
    fn new(inputs: usize, outputs: usize, generator: &Generator, device: &Device) -> Layer {
        let bound = 1.0 / (inputs as f64).sqrt();
        let uniform = |shape: &[usize]| (Tensor::rand(shape, generator, device) * 2.0 - 1.0) * bound;
        Layer {
            weight: Parameter::new(&uniform(&[inputs, outputs])),
            bias: Parameter::new(&uniform(&[outputs])),
        }
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.try_matmul(&self.weight.get())?.try_add(self.bias.get())
    }
}

/// 2 → hidden → hidden → 1, with tanh; the output is the logit of the second spiral.
struct Net {
    layers: [Layer; 3],
}

impl Net {
    fn new(hidden: usize, generator: &Generator, device: &Device) -> Net {
        let layer = |inputs, outputs| Layer::new(inputs, outputs, generator, device);
        Net { layers: [layer(2, hidden), layer(hidden, hidden), layer(hidden, 1)] }
    }

    fn parameters(&self) -> impl Iterator<Item = Parameter> {
        self.layers.iter().flat_map(|layer| [layer.weight.clone(), layer.bias.clone()])
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let [first, second, last] = &self.layers;
        last.forward(&second.forward(&first.forward(x)?.try_tanh()?)?.try_tanh()?)
    }
}

/// Points of two spirals, `[2·points, 2]`, and their class, `[2·points, 1]`.
fn spirals(points: usize, noise: f64, generator: &Generator, device: &Device) -> (Tensor, Tensor) {
    let n = 2 * points;
    let class = Tensor::arange(0, n as i64, 1, (DType::F32, device)).remainder(2.0).reshape([n, 1]);
    let along = Tensor::rand([n, 1], generator, device).sqrt();
    let angle = &along * (3.0 * std::f64::consts::PI) + &class * std::f64::consts::PI;
    let x = Tensor::cat(&[&(&along * angle.cos()), &(&along * angle.sin())], 1);
    (x + Tensor::randn([n, 2], generator, device) * noise, class)
}

/// The share of points on the right side.
async fn accuracy(net: &Net, x: &Tensor, class: &Tensor) -> Result<f64> {
    let right = no_grad(|| {
        net.forward(x).map(|logits| logits.gt(0.0).eq(class.gt(0.5)).to_dtype(DType::F32).mean(..))
    });
    right?.item().await
}

/// Trains, shows, and says how it went.
pub async fn train(device: &Device, options: &Options, json: bool) -> Result<ExitCode> {
    let generator = Generator::new(options.seed);
    let (x, class) = spirals(options.points, 0.01, &generator, device);
    let (test_x, test_class) = spirals(options.points, 0.01, &generator, device);
    eval(&[&x, &class, &test_x, &test_class])?;
    let net = Net::new(options.hidden, &generator, device);
    let mut optimizer = Adam::new(net.parameters(), options.learning_rate);
    if !json {
        println!("flambeau: two spirals, {} points, on {}: {}", 2 * options.points, device, device.name());
    }
    let style = "{spinner} {bar:40.yellow/blue} {pos}/{len} steps  {msg}  {elapsed}";
    let bar = if json { ProgressBar::hidden() } else { ProgressBar::new(options.steps as u64) };
    bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut start = Instant::now();
    for step in 0..options.steps {
        if step == 2 {
            // Plans and shaders are made in the first steps.
            start = Instant::now();
        }
        let logits = net.forward(&x)?;
        // Binary cross entropy of logits z and classes t: softplus(z) − z·t.
        let loss = (logits.softplus() - &logits * &class).mean(..);
        drop(logits);
        loss.backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        if step % 50 == 0 {
            bar.set_message(format!("loss {:.4}", loss.item().await?));
        }
        bar.inc(1);
        device.throttle().await?;
    }
    let (train, test) = (accuracy(&net, &x, &class).await?, accuracy(&net, &test_x, &test_class).await?);
    bar.finish_and_clear();
    let seconds = start.elapsed().as_secs_f64();
    let per_step = seconds / options.steps.saturating_sub(2).max(1) as f64;
    if json {
        println!(
            r#"{{"device":{:?},"steps":{},"seconds":{seconds:.3},"train_accuracy":{train},"test_accuracy":{test}}}"#,
            device.name(),
            options.steps
        );
    } else {
        if std::io::stdout().is_terminal() {
            println!("{}", picture::decision_map(&map(&net, device).await?, PICTURE));
        }
        println!("accuracy: {:.2}% on the training points, {:.2}% on new ones", 100.0 * train, 100.0 * test);
        println!(
            "speed: {} steps in {seconds:.2} s, {:.0} µs a step, {:.0} samples/s",
            options.steps,
            1e6 * per_step,
            (2 * options.points) as f64 / per_step
        );
        let stats = device.plan_stats();
        println!("plans: {} runs, {} from the cache", stats.runs, stats.hits);
        if let (Some(gpu), Some(memory)) = (device.gpu_stats(), device.memory()) {
            println!(
                "gpu: {} submissions, {} kernels, peak memory {:.1} MB",
                gpu.submits,
                gpu.dispatches,
                memory.peak as f64 / 1e6
            );
        }
    }
    if let Some(path) = &options.picture {
        let read = flambeau::read_many(&[&x, &class]).await?;
        let points: Vec<[f64; 3]> =
            read[0].chunks(2).zip(&read[1]).map(|(at, &class)| [at[0], at[1], class]).collect();
        let svg = picture::svg(&map(&net, device).await?, PICTURE, &points, SIDE);
        std::fs::write(path, svg)
            .map_err(|error| Error::Io { path: path.display().to_string(), message: error.to_string() })?;
    }
    if train.min(test) < GOAL {
        eprintln!("the accuracy is below {:.0}%: try more --steps", 100.0 * GOAL);
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// The probability of the second spiral over the square [−SIDE, SIDE]².
async fn map(net: &Net, device: &Device) -> Result<Vec<f64>> {
    let axis = Tensor::linspace(-SIDE, SIDE, PICTURE, device);
    let x = axis.reshape([1, PICTURE, 1]).expand([PICTURE, PICTURE, 1]);
    let y = (-&axis).reshape([PICTURE, 1, 1]).expand([PICTURE, PICTURE, 1]);
    let grid = Tensor::cat(&[&x, &y], 2).reshape([PICTURE * PICTURE, 2]);
    no_grad(|| net.forward(&grid).map(|logits| logits.sigmoid()))?.to_f64_vec().await
}
