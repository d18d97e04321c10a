//! The model, its data and its training loop: the same on this machine and in a browser.

use flambeau::data::{DataLoader, synthetic};
use flambeau::nn::Linear;
use flambeau::optim::Adam;
use flambeau::prelude::*;
use std::fmt;

const CLASSES: usize = 3;
const POINTS: usize = 600;
const BATCH: usize = 100;
const EPOCHS: usize = 60;

/// Points (N, 2) to scores of the classes (N, 3).
#[derive(Module)]
struct Net {
    first: Linear,
    second: Linear,
    last: Linear,
}

impl Net {
    fn new(device: &Device) -> Net {
        Net {
            first: Linear::new(2, 64, device),
            second: Linear::new(64, 64, device),
            last: Linear::new(64, CLASSES, device),
        }
    }
}

impl Forward for Net {
    fn try_forward(&self, points: &Tensor) -> Result<Tensor> {
        let x = self.first.try_forward(points)?.tanh();
        let x = self.second.try_forward(&x)?.tanh();
        self.last.try_forward(&x)
    }
}

/// How an epoch went.
pub struct Progress {
    /// Epochs so far.
    pub epoch: usize,
    /// The mean loss.
    pub loss: f64,
    /// The share of right answers.
    pub accuracy: f64,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress {
            epoch,
            loss,
            accuracy,
        } = self;
        write!(
            f,
            "epoch {epoch:>2} of {EPOCHS}: loss {loss:.5}, accuracy {:.1} %",
            100.0 * accuracy
        )
    }
}

/// Trains a network on this device, and tells `report` of every epoch.
pub async fn train(device: &Device, mut report: impl AsyncFnMut(Progress)) -> Result<()> {
    flambeau::manual_seed(1);
    let points = synthetic::spirals(POINTS, CLASSES, 0.02, &Generator::new(2)).to_device(device)?;
    let mut batches = DataLoader::new(points, device)
        .with_batch_size(BATCH)
        .with_shuffle(3);
    let net = Net::new(device);
    let mut optimizer = Adam::new(net.parameters(), 0.01);
    for epoch in 1..=EPOCHS {
        // Sums over the epoch stay on the device until they are read.
        let [mut losses, mut right] = [(); 2].map(|()| Tensor::zeros([], device));
        while let Some((x, labels)) = batches.next().await? {
            let scores = net.try_forward(&x)?;
            let loss = scores.cross_entropy(&labels);
            loss.backward()?;
            losses += loss.detach() * labels.size(0) as f64;
            right += scores.argmax(1).eq(&labels).sum(..).to_dtype(DType::F32);
            optimizer.step()?;
            optimizer.zero_grad();
        }
        let [loss, accuracy] =
            [losses.item().await?, right.item().await?].map(|sum| sum / POINTS as f64);
        report(Progress {
            epoch,
            loss,
            accuracy,
        })
        .await;
    }
    Ok(())
}
