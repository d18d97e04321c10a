//! One training run that is the same everywhere: natively and in browsers, on CPUs and GPUs, it must give the same losses.

use crate::data::{DataLoader, Images};
use crate::device::Device;
use crate::error::Result;
use crate::nn::{Forward, Linear, Module, init};
use crate::optim::{Adam, Optimizer};
use crate::rng::Generator;
use crate::tensor::read_many;

const STEPS: usize = 50;
const BATCH: usize = 32;

/// The losses of 50 steps of a perceptron (784, 64, 10) with Adam on the first pictures of two idx files, such as
/// MNIST's.
///
/// ```
/// # use flambeau::{Device, block_on, selftest};
/// // Far too few pictures.
/// let (pictures, labels) = ([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 7], [0, 0, 8, 1, 0, 0, 0, 1, 7]);
/// assert!(block_on(selftest::training_curve(&Device::cpu(), &pictures, &labels)).is_err());
/// ```
pub async fn training_curve(device: &Device, pictures: &[u8], labels: &[u8]) -> Result<Vec<f64>> {
    let images = Images::from_idx(pictures, labels)?.first(STEPS * BATCH);
    let mut batches = DataLoader::new(images.to_device(device)?, device).with_batch_size(BATCH);
    let (first, second) = (Linear::new(784, 64, device), Linear::new(64, 10, device));
    let generator = Generator::new(20);
    let parameters = [first.parameters(), second.parameters()].concat();
    for parameter in &parameters {
        init::uniform(parameter, -0.05, 0.05, &generator)?;
    }
    let mut optimizer = Adam::new(parameters, 1e-3);
    let mut losses = Vec::with_capacity(STEPS);
    while let Some((x, y)) = batches.next().await? {
        let hidden = first.try_forward(&x.try_flatten(1, -1)?)?.try_relu()?;
        let loss = second.try_forward(&hidden)?.try_cross_entropy(&y)?;
        loss.backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        losses.push(loss.detach());
    }
    let values = read_many(&losses.iter().collect::<Vec<_>>()).await?;
    Ok(values.into_iter().flatten().collect())
}
