//! Is what will be timed right? The first losses of a training must be those of the same training in f64 on the CPU.

use super::workload::{Scale, Training, Workload};
use crate::output::refused;
use flambeau::TensorOptions;
use flambeau::prelude::*;

/// Steps that are compared, all with the same batch.
const STEPS: usize = 3;
/// The largest relative difference of a loss.
const TOLERANCE: f64 = 2e-3;
/// That of ResNet-50's losses after its first: PyTorch's own f32 and f64 are up to 6e-3 apart in its third step, and 2e-2 in its
/// fourth (2.11 on an H200, batch 13, rates of 0.01 and 0.001, 2026-11-17).
const RESNET50_TOLERANCE: f64 = 5e-2;
/// That of the first loss in mixed precision. Later ones are not compared: the first steps may be skipped, until the loss's scale
/// is small enough.
const MIXED_TOLERANCE: f64 = 2e-2;
/// Arithmetic up to which the f64 training is run here and now.
const AFFORDABLE: f64 = 2e10;

/// What was compared.
pub struct Checked {
    /// The batch it was compared with.
    pub batch: usize,
    /// The losses of the device.
    pub losses: Vec<f64>,
    /// The largest relative difference.
    pub difference: f64,
}

/// Trains for a few steps on the device and in f64 on the CPU; an error if the losses differ or do not fall. In mixed precision
/// the first loss is compared, and the others must be numbers. A batch
/// that takes too long on a CPU is replaced by a smaller one.
pub async fn check(workload: Workload, batch: usize, amp: bool, device: &Device) -> Result<Checked> {
    let affordable = AFFORDABLE / (STEPS as f64 * workload.flops_per_sample());
    // Batch norm over fewer than four samples amplifies what rounding makes different.
    let batch = batch.min((affordable as usize).max(if workload.has_batch_norm() { 4 } else { 1 }));
    let losses = first_losses(workload, batch, amp, &device.into()).await?;
    let wanted = first_losses(workload, batch, false, &(DType::F64, &Device::cpu()).into()).await?;
    let compared = if amp { 1 } else { STEPS };
    let differences =
        losses.iter().zip(&wanted).take(compared).map(|(loss, wanted)| (loss - wanted).abs() / wanted.abs());
    let difference = differences.fold(0.0, |worst: f64, next| if next <= worst { worst } else { next });
    let name = workload.name();
    let tolerance = |step: usize| match workload {
        _ if amp => MIXED_TOLERANCE,
        Workload::Resnet50 if step > 0 => RESNET50_TOLERANCE,
        _ => TOLERANCE,
    };
    // A NaN is not within it.
    let within = |step: usize| (losses[step] - wanted[step]).abs() <= tolerance(step) * wanted[step].abs();
    if !(0..compared).all(within) || losses.iter().any(|loss| !loss.is_finite()) {
        let message =
            format!("{name}: the first losses at batch {batch} are {losses:?}; in f64 they are {wanted:?}");
        return Err(refused("bench train", message));
    }
    if !amp && losses[STEPS - 1] >= losses[0] {
        return Err(refused("bench train", format!("{name}: the losses {losses:?} do not fall")));
    }
    Ok(Checked { batch, losses, difference })
}

/// The first losses with one batch that stays the same.
async fn first_losses(
    workload: Workload,
    batch: usize,
    amp: bool,
    options: &TensorOptions,
) -> Result<Vec<f64>> {
    let mut training = Training::new(workload, batch, 1, Scale::Small, options)?.with_amp(amp)?;
    let mut losses = Vec::with_capacity(STEPS);
    for _ in 0..STEPS {
        losses.push(training.step()?.item().await?);
    }
    Ok(losses)
}
