//! Times a training step of a CNN for 28 × 28 images with Adam on random data, and checks that the loss falls:
//! conv 1→32 3×3, relu, max-pool 2, conv 32→64 3×3, relu, max-pool 2, linear 1600→128, relu, linear 128→10.
//!
//! `cargo run --release --example cnn_step -- [device] [batch] [steps]`

use flambeau::nn::Parameter;
use flambeau::optim::{Adam, Optimizer};
use flambeau::prelude::*;
use std::time::Instant;

const WARM_UP: usize = 10;

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let device = match arguments.next() {
        Some(name) => Device::named(&name).await?,
        None => Device::best().await,
    };
    let mut number = |default: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (batch, steps) = (number(32), number(100));
    let generator = Generator::new(1);
    let layer = |weight: &[usize], fan_in: usize, bias: &[usize]| {
        let bound = 1.0 / (fan_in as f64).sqrt();
        let uniform = |shape: &[usize]| (Tensor::rand(shape, &generator, &device) * 2.0 - 1.0) * bound;
        (Parameter::new(&uniform(weight)), Parameter::new(&uniform(bias)))
    };
    let (w1, b1) = layer(&[32, 1, 3, 3], 9, &[32]);
    let (w2, b2) = layer(&[64, 32, 3, 3], 288, &[64]);
    let (w3, b3) = layer(&[1600, 128], 1600, &[1, 128]);
    let (w4, b4) = layer(&[128, 10], 128, &[1, 10]);
    let parameters = [&w1, &b1, &w2, &b2, &w3, &b3, &w4, &b4];
    let mut optimizer = Adam::new(parameters.map(Parameter::clone), 1e-3);
    let x = Tensor::rand([batch, 1, 28, 28], &generator, &device);
    let y = Tensor::randint(0, 10, [batch, 1], &generator, &device);
    eval(&[&x, &y])?;
    let mut step = || -> Result<Tensor> {
        let (conv, pool) = (Conv2dOptions::default(), MaxPool2dOptions::default());
        let h = x.conv2d(&w1.get(), Some(&b1.get()), &conv).relu().max_pool2d(2, &pool);
        let h = h.conv2d(&w2.get(), Some(&b2.get()), &conv).relu().max_pool2d(2, &pool);
        let h = (h.flatten(1, -1).matmul(&w3.get()) + b3.get()).relu();
        let logits = h.matmul(&w4.get()) + b4.get();
        let loss = -logits.log_softmax(1).gather(1, &y).mean(..);
        loss.backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        Ok(loss)
    };
    let first = step()?.item().await?;
    for _ in 0..WARM_UP {
        step()?;
        device.throttle().await?;
    }
    w1.value().sum(..).item().await?;
    let before = device.gpu_stats();
    let (start, mut host, mut last) = (Instant::now(), 0.0, None);
    for _ in 0..steps {
        let building = Instant::now();
        last = Some(step()?);
        host += building.elapsed().as_secs_f64();
        device.throttle().await?;
    }
    let last = match last {
        Some(loss) => loss.item().await?,
        None => first,
    };
    let seconds = start.elapsed().as_secs_f64();
    assert!(last < first, "the loss rose from {first} to {last}");
    let millis = |seconds: f64| 1e3 * seconds / steps as f64;
    println!("{}: CNN, batch {batch}, Adam: {:.2} ms a step", device.name(), millis(seconds));
    println!("  {:.2} ms of it in the step's call; loss {first:.3} to {last:.3}", millis(host));
    if let (Some(before), Some(after)) = (before, device.gpu_stats()) {
        let each = |after: u64, before: u64| (after - before) as f64 / steps as f64;
        println!(
            "  {:.2} submissions and {:.1} kernels a step; {} new pipelines, {} new buffers",
            each(after.submits, before.submits),
            each(after.dispatches, before.dispatches),
            after.pipelines_created - before.pipelines_created,
            after.buffers_created - before.buffers_created,
        );
    }
    Ok(())
}
