//! A physics-informed network: it learns u″(x) = −π² sin(πx) on [0, 1] with u(0) = u(1) = 0 from the equation alone, without
//! a single value of the solution, which is sin(πx). The derivatives of the network at every point are `vmap(grad(grad(u)))`.
//!
//! `cargo run --release --example pinn -- [steps]`

use flambeau::func::{grad, vmap};
use flambeau::nn::{Linear, Sequential, Tanh};
use flambeau::optim::Adam;
use flambeau::prelude::*;
use std::f64::consts::PI;

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let steps: usize = std::env::args().nth(1).map_or(600, |steps| steps.parse().expect("a number of steps"));
    let device = Device::best().await;
    println!("On {}", device.name());
    flambeau::manual_seed(1);
    let net = Sequential::new()
        .with(Linear::new(1, 16, &device))
        .with(Tanh)
        .with(Linear::new(16, 16, &device))
        .with(Tanh)
        .with(Linear::new(16, 1, &device));
    // u of one number; both ends are 0 whatever the network says.
    let u = |x: &Tensor| x * (1.0 - x) * net.forward(&x.unsqueeze(0)).squeeze(0);

    let x = Tensor::linspace(0.0, 1.0, 32, &device);
    let force = (&x * PI).sin() * (-PI * PI);
    let mut optimizer = Adam::new(net.parameters(), 1e-2);
    for step in 0..steps {
        let curvature = vmap(grad(grad(u)))(&x);
        let loss = (curvature - &force).square().mean(..);
        loss.backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        if step % 100 == 0 {
            println!("step {step}: mean squared residual {:.4}", loss.item().await?);
        }
    }

    let error = no_grad(|| vmap(u)(&x) - (&x * PI).sin()).abs().max(..).item().await?;
    println!("The network is within {error:.4} of the solution");
    if steps >= 600 {
        assert!(error < 0.02, "it did not learn the solution");
    }
    Ok(())
}
