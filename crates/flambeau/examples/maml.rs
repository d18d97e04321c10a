//! Learning to learn (MAML, Finn et al. 2017): weights from which one gradient step on ten points of a sine wave, of any height and
//! phase, fits the wave. The step is `grad`, all tasks of a batch run at once by `vmap`, and the meta-gradient goes through both.
//!
//! `cargo run --release --example maml -- [steps]`

use flambeau::func::{functional_call, grad, parameters, vmap};
use flambeau::io::StateDict;
use flambeau::nn::{Linear, Sequential, Tanh};
use flambeau::optim::Adam;
use flambeau::prelude::*;
use std::f64::consts::PI;

const INNER_RATE: f64 = 0.05;

/// Points to learn from and points to be judged by: (tasks, 10, 1) each.
type Tasks = (Tensor, Tensor, Tensor, Tensor);

fn tasks(count: usize, generator: &Generator, device: &Device) -> Tasks {
    let uniform = |shape: [usize; 3]| Tensor::rand(shape, generator, device);
    let (height, phase) = (uniform([count, 1, 1]) * 4.0 + 1.0, uniform([count, 1, 1]) * PI);
    let wave = |x: &Tensor| (x - &phase).sin() * &height;
    let (x, later) = (uniform([count, 10, 1]) * 10.0 - 5.0, uniform([count, 10, 1]) * 10.0 - 5.0);
    (x.clone(), wave(&x), later.clone(), wave(&later))
}

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let steps: usize = std::env::args().nth(1).map_or(500, |steps| steps.parse().expect("a number of steps"));
    let (device, generator) = (Device::best().await, Generator::new(3));
    println!("On {}", device.name());
    let net = Sequential::new()
        .with(Linear::new(1, 40, &device))
        .with(Tanh)
        .with(Linear::new(40, 40, &device))
        .with(Tanh)
        .with(Linear::new(40, 1, &device));
    let loss = |weights: &StateDict, x: &Tensor, y: &Tensor| {
        (functional_call(&net, weights, |net| net.forward(x)) - y).square().mean(..)
    };
    // The loss of every task, before and after one step from the same weights.
    let adapt = |weights: &StateDict, tasks: &Tasks| {
        vmap(|(x, y, later, wanted): &Tasks| {
            let slope = grad(|weights: &StateDict| loss(weights, x, y))(weights);
            let mut adapted = StateDict::new();
            for ((name, weight), (_, slope)) in weights.iter().zip(slope.iter()) {
                adapted.insert(name, weight - slope * INNER_RATE);
            }
            (loss(weights, later, wanted), loss(&adapted, later, wanted))
        })(tasks)
    };

    let mut optimizer = Adam::new(net.parameters(), 2e-3);
    for step in 0..steps {
        let mut weights = StateDict::new();
        net.named_parameters().iter().for_each(|(name, parameter)| weights.insert(name, parameter.get()));
        let (_, after) = adapt(&weights, &tasks(16, &generator, &device));
        let meta = after.mean(..);
        meta.backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        if step % 100 == 0 {
            println!("step {step}: loss after one step {:.3}", meta.item().await?);
        }
    }
    let (before, after) = adapt(&parameters(&net), &tasks(100, &Generator::new(99), &device));
    let (before, after) = (before.mean(..).item().await?, after.mean(..).item().await?);
    println!("On new waves: {before:.3} before the step, {after:.3} after it");
    if steps >= 500 {
        assert!(after < 0.7 * before, "one step must help");
    }
    Ok(())
}
