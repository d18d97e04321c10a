//! Eight networks trained as one: their weights are stacked, `vmap` runs all of them in the same kernels, and how far they
//! disagree says where the ensemble does not know.
//!
//! `cargo run --release --example ensemble -- [steps]`

use flambeau::func::{VmapOptions, functional_call, stack_states, vmap_with};
use flambeau::io::StateDict;
use flambeau::nn::{Linear, Sequential, Tanh};
use flambeau::optim::Adam;
use flambeau::prelude::*;

const MEMBERS: usize = 8;

fn network(device: &Device) -> Sequential {
    Sequential::new().with(Linear::new(1, 32, device)).with(Tanh).with(Linear::new(32, 1, device))
}

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let steps: usize = std::env::args().nth(1).map_or(400, |steps| steps.parse().expect("a number of steps"));
    let device = Device::best().await;
    println!("On {}", device.name());
    flambeau::manual_seed(2);
    let networks: Vec<Sequential> = (0..MEMBERS).map(|_| network(&device)).collect();
    // One parameter for each name, (members, …).
    let stacked = stack_states(&networks);
    let parameters: Vec<(&str, Parameter)> =
        stacked.iter().map(|(name, weights)| (name, Parameter::new(weights))).collect();
    let weights = || {
        let mut weights = StateDict::new();
        parameters.iter().for_each(|(name, parameter)| weights.insert(*name, parameter.get()));
        weights
    };
    let predict = |x: &Tensor| {
        let member = |(weights, x): &(StateDict, Tensor)| {
            functional_call(&networks[0], weights, |network| network.forward(x))
        };
        let options = VmapOptions { in_dims: vec![Some(0), None], ..Default::default() };
        vmap_with(member, options)(&(weights(), x.clone()))
    };

    // A wave, seen between −2 and 2 only.
    let x = Tensor::linspace(-2.0, 2.0, 40, &device).unsqueeze(1);
    let y = (&x * 2.0).sin();
    let mut optimizer = Adam::new(parameters.iter().map(|(_, parameter)| parameter.clone()), 1e-2);
    for step in 0..steps {
        // Members do not share weights: the gradient of the sum is that of each.
        let loss = (predict(&x) - &y).square().mean([1, 2]).sum(..);
        loss.backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        if step % 100 == 0 {
            println!("step {step}: mean loss {:.5}", loss.item().await? / MEMBERS as f64);
        }
    }

    let spread = |x: Tensor| predict(&x).var(0, 1.0).mean(..).sqrt();
    let (seen, unseen) = (spread(x.clone()).item().await?, spread(&x + 6.0).item().await?);
    let error = (predict(&x).mean(0) - &y).abs().max(..).item().await?;
    println!(
        "Error {error:.4}; members disagree by {seen:.4} where they have seen data, {unseen:.4} elsewhere"
    );
    if steps >= 400 {
        assert!(error < 0.1 && unseen > 5.0 * seen, "the ensemble did not learn");
    }
    Ok(())
}
