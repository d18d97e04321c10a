//! Gradients of gradients. Newton's method in a valley where steepest descent crawls, with a Hessian that is never
//! written down by hand; and a critic whose slope is trained to be 1 everywhere, as in WGAN-GP.
//!
//! `cargo run --release --example higher_order -- [steps]`

use flambeau::nn::{Linear, Sequential, Tanh};
use flambeau::optim::Adam;
use flambeau::prelude::*;
use std::slice::from_ref;

const DIFFERENTIABLE: BackwardOptions = BackwardOptions { retain_graph: true, create_graph: true };

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let steps = std::env::args().nth(1).map_or(200, |steps| steps.parse().expect("a number of steps"));
    let device = Device::best().await;
    println!("On {}", device.name());
    newton(&device).await?;
    gradient_penalty(steps, &device).await
}

/// The gradient of a number, which can be differentiated again.
fn gradient(of: &Tensor, by: &Tensor) -> Result<Tensor> {
    let gradients = grad(from_ref(of), from_ref(by), DIFFERENTIABLE)?;
    Ok(gradients[0].clone().expect("the one is computed from the other"))
}

/// H v, as the gradient of ∇f · v: as cheap as two gradients, whatever the number of variables.
fn hessian_vector_product(slope: &Tensor, by: &Tensor, vector: &Tensor) -> Result<Tensor> {
    gradient(&slope.dot(vector), by)
}

/// Rosenbrock's valley (1 − x)² + 100 (y − x²)², whose lowest place is (1, 1).
fn rosenbrock(at: &Tensor) -> Tensor {
    let (x, y) = (at.i(0), at.i(1));
    (&x - 1.0).square() + (y - x.square()).square() * 100.0
}

async fn newton(device: &Device) -> Result<()> {
    let mut at = Tensor::new([-1.2, 1.0], device);
    for step in 0..8 {
        let here = at.requires_grad();
        let value = rosenbrock(&here);
        let slope = gradient(&value, &here)?;
        let columns = [[1.0, 0.0], [0.0, 1.0]]
            .map(|unit| hessian_vector_product(&slope, &here, &Tensor::new(unit, device)));
        let [left, right] = columns;
        let ([a, b], [c, d]) = (two(&left?).await?, two(&right?).await?);
        let [u, v] = two(&slope).await?;
        println!("step {step}: f = {:.6}", value.item().await?);
        // H⁻¹ ∇f of a 2 × 2 matrix.
        let determinant = a * d - b * c;
        at = here.detach()
            - Tensor::new([(d * u - c * v) / determinant, (a * v - b * u) / determinant], device);
    }
    let [x, y] = two(&at).await?;
    println!("The lowest place is ({x:.4}, {y:.4})");
    assert!((x - 1.0).abs() < 1e-3 && (y - 1.0).abs() < 1e-3);
    Ok(())
}

async fn two(tensor: &Tensor) -> Result<[f32; 2]> {
    let values: Vec<f32> = tensor.detach().to_vec().await?;
    Ok([values[0], values[1]])
}

/// A critic learns to score points around (2, 0) above points around (−2, 0), with a slope of 1 between them.
async fn gradient_penalty(steps: usize, device: &Device) -> Result<()> {
    flambeau::manual_seed(1);
    let critic = Sequential::new()
        .with(Linear::new(2, 32, device))
        .with(Tanh)
        .with(Linear::new(32, 32, device))
        .with(Tanh)
        .with(Linear::new(32, 1, device));
    let mut optimizer = Adam::new(critic.parameters(), 1e-2);
    let chance = Generator::new(2);
    let centre = Tensor::new([2.0, 0.0], device);
    let cloud = || Tensor::randn([64, 2], &chance, device) * 0.3;
    let mut slopes = Vec::new();
    for step in 0..steps {
        let (real, fake) = (cloud() + &centre, cloud() - &centre);
        let between = fake.lerp(&real, Tensor::rand([64, 1], &chance, device)).requires_grad();
        let slope = gradient(&critic.forward(&between).sum(..), &between)?.norm(2.0, 1);
        let penalty = (&slope - 1.0).square().mean(..);
        let distance = critic.forward(&real).mean(..) - critic.forward(&fake).mean(..);
        // The penalty holds a gradient: its own gradient is of second order.
        (penalty * 10.0 - &distance).backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        if step % 50 == 0 || step + 1 == steps {
            slopes.push(slope.mean(..).item().await?);
            let slope = slopes[slopes.len() - 1];
            println!("step {step:>3}: mean slope {slope:.3}, distance {:.3}", distance.item().await?);
        }
    }
    // Where penalty and distance are in balance, the slope is a little above 1.
    let last = slopes.last().copied().unwrap_or(1.0);
    assert!(steps < 200 || (last - 1.0).abs() < 0.3, "the slope is not near 1: {slopes:?}");
    Ok(())
}
