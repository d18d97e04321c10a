//! What a training step would need at its peak, found without taking it.
//!
//! Forward, backward and the optimizer's step are rehearsed: their plans are made, the very ones that would run, and what running
//! them would allocate and free is entered in a ledger. Nothing is computed, and nothing is allocated on the device.

use super::outcome::Outcome;
use super::trainer::Trainer;
use crate::data::DataLoader;
use crate::device::Device;
use crate::error::Result;
use crate::nn::utils::clip_grad_norm;
use crate::nn::{Buffer, Module, Parameter};
use crate::rehearsal::Rehearsal;
use crate::tensor::Tensor;
use serde::Serialize;

/// The memory that a training step would take on a device, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Items of a batch whose mean gradient a step takes.
    pub batch: usize,
    /// Pieces that a batch comes in, one after the other.
    pub pieces: usize,
    /// The model's parameters, where they are on this device.
    pub parameters: u64,
    /// What the optimizer remembers, where it is on this device.
    pub optimizer: u64,
    /// What else is there before the step: running statistics, data that lies on the device, parameters packed for the optimizer
    /// (a copy, on the CPU).
    pub held: u64,
    /// The gradients of what learns, where the parameters are on this device.
    pub gradients: u64,
    /// The new values of parameters and state, which are written beside the old ones.
    pub updated: u64,
    /// The batch, activations and other temporaries, as far as they are there at the peak; of a model in host memory also the
    /// parameters and gradients that are on the device then.
    pub activations: u64,
    /// The most that is in use at a time.
    pub peak: u64,
}

impl Estimate {
    /// Its parts with their names, the largest of which one would make smaller.
    pub fn parts(&self) -> [(&'static str, u64); 6] {
        let last = match self.parameters {
            0 => "a segment: parameters, gradients, activations",
            _ => "activations and temporaries",
        };
        [
            ("parameters", self.parameters),
            ("optimizer's state", self.optimizer),
            ("held besides (data on the device, statistics)", self.held),
            ("gradients", self.gradients),
            ("new parameters and state, beside the old", self.updated),
            (last, self.activations),
        ]
    }
}

/// Bytes as people read them: kB, MB, GB of a thousand.
pub(super) fn readable(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

impl std::fmt::Display for Estimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, bytes) in self.parts() {
            writeln!(f, "{name:<46} {:>12}", readable(bytes))?;
        }
        let pieces = if self.pieces > 1 { format!(" in {} pieces", self.pieces) } else { String::new() };
        write!(f, "{:<46} {:>12}", format!("peak of a step of {}{pieces}", self.batch), readable(self.peak))
    }
}

/// The running statistics of a model, put back when this is dropped.
struct Statistics(Vec<(Buffer, Tensor)>);

impl Statistics {
    fn of(model: &impl Module) -> Statistics {
        let value = |(_, buffer): (String, Buffer)| {
            let value = buffer.get();
            (buffer, value)
        };
        Statistics(model.named_buffers().into_iter().map(value).collect())
    }
}

impl Drop for Statistics {
    fn drop(&mut self) {
        self.0.iter().for_each(|(buffer, value)| buffer.restore(value));
    }
}

impl<M: Module> Trainer<M> {
    /// What the next step would need at its peak, on the device where batches are made. Nothing is computed, and everything stays
    /// as it is: the model, the optimizer, the place in the data, random numbers.
    ///
    /// An average of the weights ([`with_ema`](Trainer::with_ema)) and the scale of mixed precision are left out, and so is the
    /// evaluation, which needs less unless its batches are larger.
    ///
    /// ```
    /// # use flambeau::{CpuConfig, prelude::*};
    /// # flambeau::block_on(async {
    /// use flambeau::{data::{DataLoader, TensorDataset}, nn::{Linear, loss::MseLoss}, optim::Adam};
    /// use flambeau::train::{Outcome, Trainer};
    /// let device = Device::cpu_with(&CpuConfig::default());
    /// let (x, y) = (Tensor::zeros([64, 1024], &device), Tensor::zeros([64, 1024], &device));
    /// let mut batches = DataLoader::new(TensorDataset::new([x, y])?, &device).with_batch_size(16);
    /// let model = Linear::new(1024, 1024, &device);
    /// let optimizer = Adam::new(model.parameters(), 1e-3);
    /// let mut trainer = Trainer::new(model, optimizer);
    /// let loss = |model: &Linear, (x, y): (Tensor, Tensor)| {
    ///     Ok(Outcome::new(MseLoss::default().try_forward(&model.try_forward(&x)?, &y)?, x.shape()[0]))
    /// };
    /// let estimate = trainer.estimate(&batches, loss)?;
    /// assert_eq!((estimate.parameters, estimate.optimizer), (4_198_400, 8_396_800));
    /// device.reset_peak_memory();
    /// trainer.with_max_steps(1).fit(&mut batches, None, loss).await?;
    /// let error = device.memory().peak as f64 / estimate.peak as f64 - 1.0;
    /// assert!(error.abs() < 0.01, "{error} {estimate}");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub fn estimate<B: 'static>(
        &mut self,
        batches: &DataLoader<B>,
        mut outcome: impl FnMut(&M, B) -> Result<Outcome>,
    ) -> Result<Estimate> {
        self.settle_pending(batches.device())?;
        self.rehearse_step(batches, batches.pieces(), &mut outcome)
    }

    /// Evaluates what is held and has not been: a rehearsal must not take it for its own.
    pub(super) fn settle_pending(&self, device: &Device) -> Result<()> {
        device.evaluate_with_held(&[])?;
        let own = self.optimizer.parameters()[0].device();
        if own != *device {
            own.evaluate_with_held(&[])?;
        }
        Ok(())
    }

    /// [`estimate`](Trainer::estimate) for batches in so many pieces.
    pub(super) fn rehearse_step<B: 'static>(
        &mut self,
        batches: &DataLoader<B>,
        pieces: usize,
        outcome: &mut impl FnMut(&M, B) -> Result<Outcome>,
    ) -> Result<Estimate> {
        let device = batches.device().clone();
        let rehearsal = Rehearsal::begin();
        let statistics = Statistics::of(&self.model);
        let before = rehearsal.memory(&device).in_use;
        let parameters = self.optimizer.parameters();
        let own = parameters[0].device();
        let bytes =
            |parameter: &Parameter| parameter.numel() as u64 * device.element_bytes(parameter.dtype());
        let values = if own == device { self.model.parameters().iter().map(bytes).sum() } else { 0 };
        let state = if own == device { self.optimizer.state_bytes() } else { 0 };
        let present: Vec<Option<Tensor>> = parameters.iter().map(|parameter| parameter.grad()).collect();
        self.optimizer.zero_grad();
        rehearsal.reset_peak(&device);
        let running = std::mem::take(&mut self.running);
        let taken = self.rehearsed_step(batches, pieces, outcome, &rehearsal);
        // Sums and gradients of the rehearsal end with it.
        self.running = running;
        for (parameter, gradient) in parameters.iter().zip(&present) {
            parameter.set_grad(gradient.as_ref())?;
        }
        let peak = rehearsal.memory(&device).peak;
        self.forget_copies();
        drop(statistics);
        drop(rehearsal);
        taken?;
        let learning = parameters.iter().filter(|parameter| parameter.requires_grad());
        let gradients: u64 = if own == device { learning.map(bytes).sum() } else { 0 };
        let updated = values + state;
        let gradients = gradients.min((peak - before).saturating_sub(updated));
        Ok(Estimate {
            batch: batches.batch_size(),
            pieces,
            parameters: values,
            optimizer: state,
            held: before.saturating_sub(values + state),
            gradients,
            updated,
            activations: (peak - before).saturating_sub(gradients + updated),
            peak,
        })
    }

    fn rehearsed_step<B: 'static>(
        &mut self,
        batches: &DataLoader<B>,
        pieces: usize,
        outcome: &mut impl FnMut(&M, B) -> Result<Outcome>,
        rehearsal: &Rehearsal,
    ) -> Result<()> {
        // From the second piece on, all is as it is for the others.
        for _ in 0..pieces.min(2) {
            let made = self.learn(batches.sample(pieces)?, 1.0, pieces, outcome)?;
            self.running.add(&made, self.past.step + 1)?;
            drop(made);
            if pieces > 1 || self.computes_elsewhere() {
                self.settle_gradients(batches.device())?;
            }
        }
        if let Some(max_norm) = self.options.clip_grad_norm {
            // Without the scaler of mixed precision, which would remember it.
            clip_grad_norm(&self.optimizer.parameters(), max_norm, 2.0)?;
        }
        let stepped = self.optimizer.step();
        match rehearsal.has_stepped() {
            true => Ok(()),
            false => stepped,
        }
    }
}
