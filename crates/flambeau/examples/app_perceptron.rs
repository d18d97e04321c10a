//! Preset “Quick look”, 60 steps: a run of Flambeau's app as a program.
//!
//! In a crate that depends on `flambeau`: `cargo run --release -- data/mnist`
//! The data: the four idx files of MNIST in data/mnist, or in the folder that is the first argument.
//! Weights, batches and chance are those of the run; its losses are met up to rounding.

use flambeau::data::{HostRandom, Images, Mnist};
use flambeau::nn::{self, Sequential};
use flambeau::optim;
use flambeau::prelude::*;

/// Items as the network takes them.
fn input(items: &Tensor) -> Tensor {
    items.to_dtype(DType::F32) / 255.0
}

/// The cross entropy, and how many answers are right.
fn outcome(outputs: &Tensor, labels: &Tensor) -> (Tensor, Tensor) {
    (outputs.cross_entropy(labels), outputs.argmax(1).eq(labels).sum(..))
}

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let device = Device::named("cpu").await?;
    let place = std::env::args().nth(1).unwrap_or_else(|| "data/mnist".into());
    let set = Mnist::open(&place)?;
    let tensors = |images: &Images| -> Result<(Tensor, Tensor)> {
        let labels = Tensor::from_slice(images.labels(), [images.labels().len()], &device);
        Ok((images.pixels().to_tensor(&device)?, labels))
    };
    let (train, test) = (tensors(&set.train)?, tensors(&set.test)?);

    flambeau::manual_seed(1);
    let model = Sequential::new()
        .with(nn::Flatten::default())
        .with(nn::Linear::new(784, 128, &device))
        .with(nn::Relu)
        .with(nn::Linear::new(128, 10, &device));
    let options = optim::AdamOptions { learning_rate: 0.001, ..Default::default() };
    let mut optimizer = optim::Adam::with_options(model.parameters(), options);

    let (count, batch, epochs) = (train.1.size(0), 64, 1);
    let steps = (epochs * count.div_ceil(batch)).min(60);
    let mut random = HostRandom::new(&Generator::new(1));
    let (mut step, mut sums, mut seen) = (0, [0.0, 0.0], 0);
    while step < steps {
        let order: Vec<i32> = random.permutation(count).into_iter().map(|place| place as i32).collect();
        for places in order.chunks(batch).take(steps - step) {
            let rows = Tensor::from_slice(places, [places.len()], &device);
            let x = input(&train.0.index_select(0, &rows));
            let labels = train.1.index_select(0, &rows);
            let (loss, right) = outcome(&model.forward(&x), &labels);
            loss.backward()?;
            optimizer.step()?;
            optimizer.zero_grad();
            sums = [sums[0] + loss.item().await? * places.len() as f64, sums[1] + right.item().await?];
            (step, seen) = (step + 1, seen + places.len());
            if step % 10 == 0 || step == steps {
                let [loss, accuracy] = sums.map(|sum| sum / seen as f64);
                println!("step {step}: loss {loss}, accuracy {accuracy}");
                (sums, seen) = ([0.0, 0.0], 0);
            }
        }
    }

    model.eval();
    let (count, mut sums) = (test.1.size(0), [0.0, 0.0]);
    for start in (0..count).step_by(500) {
        let size = 500.min(count - start);
        let part = |all: &Tensor| all.narrow(0, start, size);
        let (loss, right) = no_grad(|| outcome(&model.forward(&input(&part(&test.0))), &part(&test.1)));
        sums = [sums[0] + loss.item().await? * size as f64, sums[1] + right.item().await?];
    }
    let [loss, accuracy] = sums.map(|sum| sum / count as f64);
    println!("test: loss {loss}, accuracy {accuracy}");
    Ok(())
}
