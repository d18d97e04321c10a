//! A convolutional network that reads handwritten digits: a model of one's own, the loader, a test of what was learnt,
//! and weights in a file that PyTorch can load.
//!
//! In the repository's root: `cargo run --release --example mnist -- [steps]`

use flambeau::data::{DataLoader, Images, Mnist};
use flambeau::nn::{Conv2d, Linear};
use flambeau::optim::Adam;
use flambeau::prelude::*;

#[derive(Module)]
struct Net {
    conv1: Conv2d,
    conv2: Conv2d,
    fc1: Linear,
    fc2: Linear,
}

impl Net {
    fn new(device: &Device) -> Net {
        Net {
            conv1: Conv2d::new(1, 8, 3, device),
            conv2: Conv2d::new(8, 16, 3, device),
            fc1: Linear::new(16 * 5 * 5, 64, device),
            fc2: Linear::new(64, 10, device),
        }
    }
}

impl Forward for Net {
    /// From images (B, 1, 28, 28) to a score for each digit (B, 10).
    fn try_forward(&self, images: &Tensor) -> Result<Tensor> {
        let pool = MaxPool2dOptions::default();
        let x = self.conv1.try_forward(images)?.relu().max_pool2d(2, &pool);
        let x = self.conv2.try_forward(&x)?.relu().max_pool2d(2, &pool);
        let x = self.fc1.try_forward(&x.flatten(1, -1))?.relu();
        self.fc2.try_forward(&x)
    }
}

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let steps = std::env::args().nth(1).map_or(300, |steps| steps.parse().expect("a number of steps"));
    let device = Device::best().await;
    println!("On {}", device.name());

    let mnist = Mnist::open("data/mnist")?;
    let train = mnist.train.to_device(&device)?;
    let mut batches = DataLoader::new(train, &device).with_batch_size(64).with_shuffle(1);

    flambeau::manual_seed(1);
    let net = Net::new(&device);
    println!("{}", net.summary());

    let mut optimizer = Adam::new(net.parameters(), 2e-3);
    let (mut first, mut last) = (None, 0.0);
    let mut step = 0;
    while step < steps {
        // `None` ends an epoch; the call after it begins the next one.
        let Some((x, y)) = batches.next().await? else { continue };
        let loss = net.forward(&x).cross_entropy(&y);
        loss.backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        if step % 50 == 0 || step + 1 == steps {
            last = loss.item().await?;
            first.get_or_insert(last);
            println!("step {step:>4}: loss {last:.4}");
        }
        step += 1;
    }

    assert!(Some(last) <= first, "the loss rose from {first:?} to {last}");
    let right = accuracy(&net, &mnist.test, &device).await?;
    println!("{right:.2} % of the 10,000 test images are recognised");
    assert!(steps < 300 || right > 94.0);

    // The names are PyTorch's: conv1.weight, conv1.bias, …
    let path = std::env::temp_dir().join("flambeau-mnist.safetensors");
    net.save_safetensors(&path)?;
    let again = Net::new(&device);
    again.load_weights(&path)?;
    let few = mnist.test.first(1000);
    assert_eq!(accuracy(&again, &few, &device).await?, accuracy(&net, &few, &device).await?);
    println!("The weights are in {}", path.display());
    Ok(())
}

/// How many images in a hundred are recognised.
async fn accuracy(net: &Net, images: &Images, device: &Device) -> Result<f64> {
    let mut batches = DataLoader::new(images.to_device(device)?, device).with_batch_size(1000);
    let mut right = 0.0;
    while let Some((x, y)) = batches.next().await? {
        let digits = no_grad(|| net.forward(&x).argmax(1));
        right += digits.eq(&y).sum(..).item().await?;
    }
    Ok(100.0 * right / batches.items_per_epoch() as f64)
}
