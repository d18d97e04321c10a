//! Transfer learning from a PyTorch checkpoint. A network that PyTorch has taught the digits 0 to 4 gets a new head for
//! the digits 5 to 9; its body stays as it is. A few hundred images are enough, and a body that has learnt nothing
//! does much worse with them.
//!
//! In the repository's root: `cargo run --release --example transfer -- [steps]`
//! (`tools/reference/transfer.py` made the checkpoint.)

use flambeau::data::{DataLoader, Dataset, Images, Mnist, Sampler};
use flambeau::io::{Matching, PytorchOptions, load_pytorch};
use flambeau::nn::{Conv2d, Flatten, Linear, Relu, Sequential};
use flambeau::optim::Adam;
use flambeau::prelude::*;

const CHECKPOINT: &str = "crates/flambeau/tests/data/transfer.pt";

#[derive(Module)]
struct Net {
    body: Sequential,
    head: Linear,
}

impl Net {
    fn new(device: &Device) -> Net {
        let conv = |inputs, outputs| {
            let halving = Conv2dOptions::default().with_stride(2);
            Conv2d::with_options(inputs, outputs, 3, halving, device)
        };
        let body = Sequential::new().with(conv(1, 8)).with(Relu).with(conv(8, 16)).with(Relu);
        let body = body.with(conv(16, 32)).with(Relu).with(Flatten::default());
        Net { body, head: Linear::new(128, 5, device) }
    }

    fn forward(&self, images: &Tensor) -> Tensor {
        self.head.forward(&self.body.forward(images))
    }
}

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let steps = std::env::args().nth(1).map_or(200, |steps| steps.parse().expect("a number of steps"));
    let device = Device::best().await;
    println!("On {}", device.name());
    let mnist = Mnist::open("data/mnist")?;
    flambeau::manual_seed(1);

    let taught = Net::new(&device);
    let checkpoint = load_pytorch(CHECKPOINT, &PytorchOptions::default().with_part("model"), &device)?;
    let report = taught.load_state_dict(&checkpoint.tensors, Matching::Strict)?;
    println!("From PyTorch: {}", report.matched.join(", "));
    // The old head is thrown away: what it knew were other digits.
    let taught = Net { head: Linear::new(128, 5, &device), ..taught };
    let untaught = Net::new(&device);

    println!("With the body from PyTorch:");
    let with_knowledge = train_head(&taught, &mnist.train.first(1000), &mnist.test, steps, &device).await?;
    println!("With a body that has learnt nothing:");
    let without = train_head(&untaught, &mnist.train.first(1000), &mnist.test, steps, &device).await?;
    println!(
        "Digits 5 to 9 of the test images: {with_knowledge:.1} % right, and {without:.1} % without transfer"
    );
    assert!(steps < 200 || with_knowledge > without + 2.0);

    // Nobody has touched the body.
    let body = taught.body.state_dict();
    let (now, then) = (body.get("0.weight"), checkpoint.tensors.get("body.0.weight"));
    let (now, then) = (now.expect("a convolution"), then.expect("a convolution"));
    assert_eq!(now.eq(then).all(..).item().await?, 1.0);
    Ok(())
}

/// Trains the head, and only it, on the digits 5 to 9; gives the percentage of such test images that are right.
async fn train_head(net: &Net, train: &Images, test: &Images, steps: usize, device: &Device) -> Result<f64> {
    net.body.set_requires_grad(false);
    let mut optimizer = Adam::new(net.head.parameters(), 1e-2);
    let mut batches = upper_digits(train, device)?.with_batch_size(50).with_seed(1).dropping_last();
    let mut step = 0;
    while step < steps {
        let Some((x, y)) = batches.next().await? else { continue };
        let loss = net.forward(&x).cross_entropy(&y);
        loss.backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        if step % 50 == 0 {
            println!("  step {step:>3}: loss {:.3}", loss.item().await?);
        }
        step += 1;
    }
    let mut batches = upper_digits(test, device)?.with_batch_size(500);
    let mut right = 0.0;
    while let Some((x, y)) = batches.next().await? {
        right += no_grad(|| net.forward(&x)).argmax(1).eq(&y).sum(..).item().await?;
    }
    Ok(100.0 * right / batches.items_per_epoch() as f64)
}

/// Batches of the digits 5 to 9, which become the classes 0 to 4.
fn upper_digits(images: &Images, device: &Device) -> Result<DataLoader> {
    let upper = (0..images.len()).filter(|&k| images.labels()[k] >= 5).collect();
    let batches =
        DataLoader::new(images.to_device(device)?, device).with_sampler(Sampler::SubsetRandom(upper));
    Ok(batches.map(|(x, y), _| Ok((x, y - 5))))
}
