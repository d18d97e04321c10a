//! Times a training step of an MLP 784-128-10 with Adam on random data, and checks that the loss falls.
//!
//! `cargo run --release --example mlp_step -- [device] [batch]`

use flambeau::nn::Parameter;
use flambeau::optim::{Adam, Optimizer};
use flambeau::prelude::*;
use std::time::Instant;

const WARM_UP: usize = 50;
const STEPS: usize = 500;

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let device = match arguments.next() {
        Some(name) => Device::named(&name).await?,
        None => Device::best().await,
    };
    let batch = arguments.next().and_then(|batch| batch.parse().ok()).unwrap_or(32);
    let generator = Generator::new(1);
    let layer = |inputs: usize, outputs: usize| {
        let bound = 1.0 / (inputs as f64).sqrt();
        let uniform = |shape: [usize; 2]| (Tensor::rand(shape, &generator, &device) * 2.0 - 1.0) * bound;
        (Parameter::new(&uniform([inputs, outputs])), Parameter::new(&uniform([1, outputs])))
    };
    let ((w1, b1), (w2, b2)) = (layer(784, 128), layer(128, 10));
    let mut optimizer = Adam::new([&w1, &b1, &w2, &b2].map(Parameter::clone), 1e-3);
    let x = Tensor::rand([batch, 784], &generator, &device);
    let y = Tensor::randint(0, 10, [batch, 1], &generator, &device);
    eval(&[&x, &y])?;
    let mut step = || -> Result<Tensor> {
        let hidden = (x.matmul(&w1.get()) + b1.get()).relu();
        let logits = hidden.matmul(&w2.get()) + b2.get();
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
    let before = (device.gpu_stats(), device.plan_stats());
    let (start, mut host) = (Instant::now(), 0.0);
    let mut last = None;
    for _ in 0..STEPS {
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
    let micros = |seconds: f64| 1e6 * seconds / STEPS as f64;
    println!("{}: MLP 784-128-10, batch {batch}, Adam: {:.0} µs a step", device.name(), micros(seconds));
    println!(
        "  {:.0} µs of it building, planning and submitting; loss {first:.3} to {last:.3}",
        micros(host)
    );
    if let (Some(before), Some(after)) = (before.0, device.gpu_stats()) {
        let each = |after: u64, before: u64| (after - before) as f64 / STEPS as f64;
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
