//! Burn doing the work of `flambeau bench`: f32, Vulkan, with fusion and autotuning. Prints one JSON object.

use burn::backend::{Autodiff, Vulkan};
use burn::module::Module;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams, Optimizer};
use burn::prelude::*;
use burn::tensor::activation::relu;
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{Distribution, Int};
use std::time::Instant;

const CLASSES: usize = 10;
const STEPS: usize = 100;
/// Repetitions that are counted; one before them is not.
const REPETITIONS: usize = 5;

#[derive(Module, Debug)]
struct Mlp<B: Backend> {
    fc1: Linear<B>,
    fc2: Linear<B>,
}

impl<B: Backend> Mlp<B> {
    fn new(device: &B::Device) -> Self {
        Self {
            fc1: LinearConfig::new(784, 128).init(device),
            fc2: LinearConfig::new(128, CLASSES).init(device),
        }
    }

    fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        self.fc2.forward(relu(self.fc1.forward(x)))
    }
}

#[derive(Module, Debug)]
struct Cnn<B: Backend> {
    conv1: Conv2d<B>,
    conv2: Conv2d<B>,
    pool: MaxPool2d,
    fc1: Linear<B>,
    fc2: Linear<B>,
}

impl<B: Backend> Cnn<B> {
    fn new(device: &B::Device) -> Self {
        Self {
            conv1: Conv2dConfig::new([1, 32], [3, 3]).init(device),
            conv2: Conv2dConfig::new([32, 64], [3, 3]).init(device),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            fc1: LinearConfig::new(1600, 128).init(device),
            fc2: LinearConfig::new(128, CLASSES).init(device),
        }
    }

    fn forward(&self, x: Tensor<B, 4>) -> Tensor<B, 2> {
        let x = self.pool.forward(relu(self.conv1.forward(x)));
        let x = self.pool.forward(relu(self.conv2.forward(x)));
        self.fc2.forward(relu(self.fc1.forward(x.flatten::<2>(1, 3))))
    }
}

/// The median of the seconds of `work`, which must wait for the device.
fn median(mut work: impl FnMut()) -> f64 {
    work();
    let mut seconds: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[REPETITIONS / 2]
}

fn matmul<B: Backend>(device: &B::Device, figures: &mut Vec<(String, f64)>) {
    for size in [256, 512, 1000, 1023, 1024, 2048, 4096] {
        let random = || Tensor::<B, 2>::random([size, size], Distribution::Default, device);
        let (a, b) = (random(), random());
        let repeats = if size >= 4096 { 10 } else { 50 };
        let seconds = median(|| {
            for _ in 0..repeats {
                drop(a.clone().matmul(b.clone()));
            }
            B::sync(device).unwrap();
        });
        let flops = repeats as f64 * 2.0 * (size as f64).powi(3);
        figures.push((format!("matmul {size}"), flops / seconds / 1e12));
    }
}

/// Microseconds of a training step.
fn train<B: AutodiffBackend, M: burn::module::AutodiffModule<B>, const D: usize>(
    device: &B::Device,
    model: M,
    shape: [usize; D],
    forward: impl Fn(&M, Tensor<B, D>) -> Tensor<B, 2>,
) -> f64 {
    let mut optimizer = AdamConfig::new().init();
    let x = Tensor::<B, D>::random(shape, Distribution::Default, device);
    let y = Tensor::<B, 1, Int>::random([shape[0]], Distribution::Uniform(0.0, 9.0), device);
    let loss = CrossEntropyLossConfig::new().init(device);
    let mut model = Some(model);
    let seconds = median(|| {
        for _ in 0..STEPS {
            let current = model.take().expect("it is put back after every step");
            let loss = loss.forward(forward(&current, x.clone()), y.clone());
            let grads = GradientsParams::from_grads(loss.backward(), &current);
            model = Some(optimizer.step(1e-3, current, grads));
        }
        B::sync(device).unwrap();
    });
    seconds / STEPS as f64 * 1e6
}

fn main() {
    type Graph = Autodiff<Vulkan>;
    let device = Default::default();
    let mut figures = Vec::new();
    matmul::<Vulkan>(&device, &mut figures);
    for batch in [32, 128] {
        let step = train(&device, Mlp::<Graph>::new(&device), [batch, 784], |m, x| m.forward(x));
        figures.push((format!("mlp b{batch}"), step));
    }
    for batch in [32, 128] {
        let step = train(&device, Cnn::<Graph>::new(&device), [batch, 1, 28, 28], |m, x| m.forward(x));
        figures.push((format!("cnn b{batch}"), step));
    }
    let figures: Vec<String> = figures.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    println!(
        "{{\"version\": \"0.21.0\", \"device\": \"Vulkan\", \"columns\": {{\"Vulkan\": {{{}}}}}}}",
        figures.join(", ")
    );
}
