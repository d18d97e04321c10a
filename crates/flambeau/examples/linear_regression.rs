//! A straight line through noisy points, y = 2x + 3: the training loop at its smallest.
//!
//! `cargo run --release --example linear_regression -- [steps]`

use flambeau::nn::Linear;
use flambeau::optim::Sgd;
use flambeau::prelude::*;

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let steps = std::env::args().nth(1).map_or(200, |steps| steps.parse().expect("a number of steps"));
    let device = Device::best().await;
    println!("On {}", device.name());

    // 500 points between -1 and 1, and how far from the line they lie.
    let generator = Generator::new(1);
    let x = Tensor::rand([500, 1], &generator, &device) * 2.0 - 1.0;
    let noise = Tensor::randn([500, 1], &generator, &device) * 0.1;
    let y = &x * 2.0 + 3.0 + noise;

    let line = Linear::new(1, 1, &device);
    let mut optimizer = Sgd::new(line.parameters(), 0.1);
    for step in 0..steps {
        let loss = line.forward(&x).mse_loss(&y);
        loss.backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        if step % 50 == 0 {
            println!("step {step:>4}: loss {:.5}", loss.item().await?);
        }
    }

    for ((name, parameter), truth) in line.named_parameters().into_iter().zip([2.0, 3.0]) {
        let found = parameter.value().item().await?;
        println!("{name} = {found:.3}");
        assert!(steps < 200 || (found - truth).abs() < 0.05, "the {name} is {found}, not {truth}");
    }
    Ok(())
}
