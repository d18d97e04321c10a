//! What everything around the kernels costs: building a graph, finding its plan, submitting, waiting.

use super::{median, time};
use crate::output::Output;
use flambeau::nn::models::Mlp;
use flambeau::optim::{Adam, Sgd};
use flambeau::prelude::*;
use serde_json::{Value, json};
use std::time::Instant;

const RUNS: usize = 7;
const REPEATS: usize = 100;
/// Nodes of the graph that is built and looked up.
const NODES: usize = 200;
/// Products that depend on each other, in one submission.
const CHAIN: usize = 33;
/// The side of the matrices in it.
const SIDE: usize = 16;

pub async fn run(device: &Device, output: Output) -> Result<Value> {
    output.say(format!("overhead on {}", device.name()));
    let mut results = Vec::new();
    let mut record = |what: &str, seconds: f64| {
        output.say(format!("{what:<60} {:>10}", time(seconds)));
        results.push(json!({ "what": what, "microseconds": seconds * 1e6 }));
    };
    record("building a node", building(device)?);
    record("finding and running a cached plan, host, per node", lookup(device).await?);
    record("an evaluation of one kernel, host", evaluation(device).await?.0);
    record("an evaluation of one kernel, one after the other", evaluation(device).await?.1);
    record("a + b of 1,000 numbers, one after the other", addition(device).await?);
    record("item() of a sum of 1,000 numbers", summed(device).await?);
    let (single, chain) = (products(device, 1).await?, products(device, CHAIN).await?);
    record("a kernel more in a submission", (chain - single).max(0.0) / (CHAIN - 1) as f64);
    record("an evaluation with a wait", waited(device).await?);
    record("reading one value that is there", readback(device).await?);
    let (host, step) = empty_step(device).await?;
    record("a training step of one number, host", host);
    record("a training step of one number", step);
    record("a training step of an MLP, batch 128", held_step(device, |_, _| Vec::new()).await?);
    let detached = |_: &Tensor, loss: &Tensor| vec![loss.detach()];
    record("the same while its detached loss is held", held_step(device, detached).await?);
    let logits = |logits: &Tensor, _: &Tensor| vec![logits.detach()];
    record("the same while its logits are held", held_step(device, logits).await?);
    let right = |logits: &Tensor, _: &Tensor| vec![logits.detach().argmax(1).eq(0).sum(..)];
    record("the same while a count of its right answers is held", held_step(device, right).await?);
    Ok(Value::Array(results))
}

fn start(device: &Device) -> Result<Tensor> {
    let x = Tensor::try_rand([64], &Generator::new(1), device)?;
    x.eval()?;
    Ok(x)
}

/// A chain of ops, half of them with a number that changes.
fn chain(x: &Tensor, number: usize) -> Result<Tensor> {
    let mut y = x.clone();
    for node in 0..NODES / 2 {
        y = y.try_add((number + node) as f64)?.try_tanh()?;
    }
    Ok(y)
}

/// Seconds to make a node, and to drop it.
fn building(device: &Device) -> Result<f64> {
    let x = start(device)?;
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        for number in 0..REPEATS {
            drop(chain(&x, number)?);
        }
        runs.push(start.elapsed().as_secs_f64() / (REPEATS * NODES) as f64);
    }
    Ok(median(runs))
}

/// Seconds of the call that evaluates a graph whose plan is known, per node.
async fn lookup(device: &Device) -> Result<f64> {
    let x = start(device)?;
    chain(&x, 0)?.eval()?;
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let mut seconds = 0.0;
        for number in 0..REPEATS {
            let y = chain(&x, number)?;
            let call = Instant::now();
            y.eval()?;
            seconds += call.elapsed().as_secs_f64();
            device.throttle().await?;
        }
        runs.push(seconds / (REPEATS * NODES) as f64);
    }
    Ok(median(runs))
}

/// Seconds on the host, and from one to the next, of evaluations that depend on each other.
async fn evaluation(device: &Device) -> Result<(f64, f64)> {
    let (mut host, mut all) = (Vec::new(), Vec::new());
    let mut x = start(device)?;
    for _ in 0..=RUNS {
        let (start, mut calls) = (Instant::now(), 0.0);
        for _ in 0..REPEATS {
            let call = Instant::now();
            x = x.try_mul(0.5)?;
            x.eval()?;
            calls += call.elapsed().as_secs_f64();
            device.throttle().await?;
        }
        x.try_narrow(0, 0, 1)?.item().await?;
        host.push(calls / REPEATS as f64);
        all.push(start.elapsed().as_secs_f64() / REPEATS as f64);
    }
    // The first compiles.
    Ok((median(host.split_off(1)), median(all.split_off(1))))
}

fn thousand(device: &Device) -> Result<Tensor> {
    let x = Tensor::try_rand([1000], &Generator::new(1), device)?;
    x.eval()?;
    Ok(x)
}

/// Seconds from one to the next of evaluations that do not depend on each other.
async fn addition(device: &Device) -> Result<f64> {
    let (a, b) = (thousand(device)?, thousand(device)?);
    let mut runs = Vec::new();
    for _ in 0..=RUNS {
        let start = Instant::now();
        let mut last = a.clone();
        for _ in 0..REPEATS {
            last = a.try_add(&b)?;
            last.eval()?;
            device.throttle().await?;
        }
        last.try_narrow(0, 0, 1)?.item().await?;
        runs.push(start.elapsed().as_secs_f64() / REPEATS as f64);
    }
    Ok(median(runs.split_off(1)))
}

/// Seconds of a sum that is read.
async fn summed(device: &Device) -> Result<f64> {
    let x = thousand(device)?;
    let mut runs = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        x.try_sum(..)?.item().await?;
        runs.push(start.elapsed().as_secs_f64());
    }
    Ok(median(runs))
}

/// Seconds of an evaluation of so many products, each of which needs the one before; one after the other.
async fn products(device: &Device, count: usize) -> Result<f64> {
    let b = Tensor::try_rand([SIDE, SIDE], &Generator::new(1), device)?.try_mul(2.0 / SIDE as f64)?;
    let mut x = b.try_neg()?;
    eval(&[&b, &x])?;
    let mut runs = Vec::new();
    for _ in 0..=RUNS {
        let start = Instant::now();
        for _ in 0..REPEATS {
            for _ in 0..count {
                x = x.try_matmul(&b)?;
            }
            x.eval()?;
            device.throttle().await?;
        }
        x.try_narrow(0, 0, 1)?.try_narrow(1, 0, 1)?.item().await?;
        runs.push(start.elapsed().as_secs_f64() / REPEATS as f64);
    }
    Ok(median(runs.split_off(1)))
}

/// Seconds of an evaluation that is waited for, by reading its value.
async fn waited(device: &Device) -> Result<f64> {
    let x = start(device)?.try_narrow(0, 0, 1)?;
    let mut runs = Vec::new();
    for number in 0..REPEATS {
        let start = Instant::now();
        x.try_mul(number as f64)?.item().await?;
        runs.push(start.elapsed().as_secs_f64());
    }
    Ok(median(runs))
}

/// Seconds to read a value that has been computed.
async fn readback(device: &Device) -> Result<f64> {
    let x = start(device)?.try_sum(..)?;
    x.item().await?;
    let mut runs = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        x.item().await?;
        runs.push(start.elapsed().as_secs_f64());
    }
    Ok(median(runs))
}

/// Seconds on the host, and from one to the next, of training steps with one parameter of one number.
async fn empty_step(device: &Device) -> Result<(f64, f64)> {
    let w = Parameter::try_new(&Tensor::try_rand([1], &Generator::new(1), device)?)?;
    let mut optimizer = Sgd::new([w.clone()], 1e-3);
    let (mut host, mut all) = (Vec::new(), Vec::new());
    for _ in 0..=RUNS {
        let (start, mut calls) = (Instant::now(), 0.0);
        for _ in 0..REPEATS {
            let call = Instant::now();
            w.get().try_mul(w.get())?.try_sum(..)?.backward()?;
            optimizer.step()?;
            optimizer.zero_grad();
            calls += call.elapsed().as_secs_f64();
            device.throttle().await?;
        }
        w.value().item().await?;
        host.push(calls / REPEATS as f64);
        all.push(start.elapsed().as_secs_f64() / REPEATS as f64);
    }
    Ok((median(host.split_off(1)), median(all.split_off(1))))
}

/// Seconds from one to the next of training steps of an MLP, of which something is held that nobody has asked for yet.
async fn held_step(device: &Device, hold: impl Fn(&Tensor, &Tensor) -> Vec<Tensor>) -> Result<f64> {
    let model = Mlp::new(&[784, 128, 10], device);
    let mut optimizer = Adam::new(model.parameters(), 1e-3);
    let x = Tensor::try_rand([128, 784], &Generator::new(1), device)?;
    let y = Tensor::zeros([128], (DType::I32, device));
    eval(&[&x, &y])?;
    let (mut runs, mut held) = (Vec::new(), Vec::new());
    for _ in 0..=RUNS {
        let start = Instant::now();
        for _ in 0..REPEATS {
            let logits = model.try_forward(&x)?;
            let loss = logits.try_cross_entropy(&y)?;
            loss.backward()?;
            held = hold(&logits, &loss);
            drop((logits, loss));
            optimizer.step()?;
            optimizer.zero_grad();
            device.throttle().await?;
        }
        model.parameters()[0].value().try_sum(..)?.item().await?;
        runs.push(start.elapsed().as_secs_f64() / REPEATS as f64);
    }
    drop(held);
    // The first two compile: kernels for all sizes, then those for these.
    Ok(median(runs.split_off(2)))
}
