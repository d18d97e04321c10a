//! Runs that go on when their GPU was lost.

use crate::device::Device;
use crate::error::Result;
use std::time::Duration;

/// Lost devices that are replaced by their like before the CPU takes over.
const MOST_REPLACEMENTS: usize = 3;

/// How long a driver is given before it is asked for a device again.
const PAUSE: Duration = Duration::from_millis(100);

/// Calls `attempt` with a device and with how many were lost before, until one ends otherwise than by losing its device.
///
/// A lost device is replaced by another one of `open`, after 100 ms; after three losses, the CPU takes over. A device that cannot be opened
/// again counts as lost. The tensors of a lost device are gone: an attempt makes its model anew and, where devices were lost before, takes
/// up the last checkpoint with [`Trainer::resume`](super::Trainer::resume).
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::{DataLoader, TensorDataset};
/// use flambeau::{io::Checkpoints, nn::Linear, optim::Sgd, train::{Outcome, Trainer, recovering}};
/// # flambeau::block_on(async {
/// # let folder = std::env::temp_dir().join(format!("flambeau-recovering-{}", std::process::id()));
/// let summary = recovering(Device::try_best, async |device, losses| {
///     flambeau::manual_seed(1);
///     let x = Tensor::rand([64, 1], &Generator::new(1), device);
///     let mut batches = DataLoader::new(TensorDataset::new([x.clone(), &x * 2.0])?, device).with_batch_size(16);
///     let model = Linear::new(1, 1, device);
///     let optimizer = Sgd::new(model.parameters(), 0.5);
///     let mut trainer = Trainer::new(model, optimizer).with_epochs(2).with_checkpoints(Checkpoints::new(&folder, 2)?, 2);
///     if losses > 0 {
///         trainer.resume(&mut batches).await?;
///     }
///     trainer.fit(&mut batches, None, |model: &Linear, (x, y)| {
///         Ok(Outcome::new(model.try_forward(&x)?.mse_loss(&y), x.size(0)))
///     }).await
/// }).await?;
/// assert_eq!(summary.steps, 8);
/// # std::fs::remove_dir_all(folder).unwrap();
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub async fn recovering<T>(
    open: impl AsyncFn() -> Result<Device>,
    mut attempt: impl AsyncFnMut(&Device, usize) -> Result<T>,
) -> Result<T> {
    let mut device = open().await?;
    let mut losses = 0;
    loop {
        match attempt(&device, losses).await {
            Err(error) if error.is_device_lost() && !device.is_cpu() => {
                losses += 1;
                device = replacement(&open, &mut losses).await;
            }
            ended => return ended,
        }
    }
}

/// The device that takes the place of a lost one.
async fn replacement(open: &impl AsyncFn() -> Result<Device>, losses: &mut usize) -> Device {
    while *losses <= MOST_REPLACEMENTS {
        pause().await;
        match open().await {
            Ok(device) => {
                log::warn!("the GPU was lost; going on with a new device: {}", device.name());
                return device;
            }
            Err(error) => {
                log::warn!("the GPU was lost and cannot be had again: {error}");
                *losses += 1;
            }
        }
    }
    log::warn!("the GPU was lost too often; going on with the CPU");
    Device::cpu()
}

#[cfg(not(target_arch = "wasm32"))]
async fn pause() {
    std::thread::sleep(PAUSE);
}

#[cfg(target_arch = "wasm32")]
async fn pause() {
    crate::browser::sleep(PAUSE).await;
}
