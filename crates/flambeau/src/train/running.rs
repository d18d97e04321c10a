//! Sums of losses and metrics, kept on the device and read a while later.

use super::outcome::Outcome;
use super::report::Metrics;
use crate::autograd::no_grad;
use crate::error::{Error, Result};
use crate::tensor::{Tensor, read_later};
use crate::{Device, Reading};

/// Stands for "no step had a loss that is not finite".
const NEVER: f64 = f32::MAX as f64;

/// Sums over the batches since the last reading.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// Σ loss · samples, then one sum per metric.
    sums: Vec<Tensor>,
    /// The first step whose loss was not finite.
    bad_step: Option<Tensor>,
    names: Vec<String>,
    /// What the sums are divided by.
    counts: Vec<f64>,
    /// Batches since the last reading, those that are passed over included.
    batches: u64,
}

/// Sums on their way to the host.
#[derive(Debug)]
pub(super) struct Underway {
    /// None if all batches were passed over.
    reading: Option<Reading>,
    names: Vec<String>,
    counts: Vec<f64>,
}

/// Sums on the host.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    pub names: Vec<String>,
    pub sums: Vec<f64>,
    pub counts: Vec<f64>,
}

impl Running {
    /// Adds a batch. Nothing is evaluated here: the sums are held, and the optimizer's step computes them too.
    pub fn add(&mut self, outcome: &Outcome, step: u64) -> Result<()> {
        self.batches += 1;
        no_grad(|| {
            let loss = outcome.loss.detach();
            let bad = loss.try_isfinite()?.try_where_cond(NEVER, step as f64)?;
            let weighted = loss.try_mul(outcome.samples as f64)?;
            let metrics = outcome.metrics.iter().map(|(_, sum, _)| sum.clone());
            let new: Vec<Tensor> = std::iter::once(weighted).chain(metrics).collect();
            if self.sums.is_empty() {
                let device = loss.device();
                let zero = |device: &Device| Tensor::zeros([], device);
                self.sums = new.iter().map(|_| zero(device)).collect();
                self.bad_step = Some(Tensor::full([], NEVER, device));
                self.names = ["loss".to_owned()]
                    .into_iter()
                    .chain(outcome.metrics.iter().map(|m| m.0.clone()))
                    .collect();
                self.counts = vec![0.0; new.len()];
            }
            if new.len() != self.sums.len() {
                let message =
                    format!("a batch gave {} metrics, those before gave {}", new.len(), self.sums.len());
                return Err(Error::argument("Trainer", message));
            }
            for (sum, new) in self.sums.iter_mut().zip(&new) {
                *sum = sum.try_add(new)?;
            }
            if let Some(first) = &mut self.bad_step {
                *first = first.try_minimum(&bad)?;
            }
            let counts = std::iter::once(outcome.samples as f64).chain(outcome.metrics.iter().map(|m| m.2));
            self.counts.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
            Ok(())
        })
    }

    /// A batch that counts for nothing here: another member of the group has its items.
    pub fn pass_over(&mut self) {
        self.batches += 1;
    }

    /// Computes the sums now: where no optimizer's step does.
    pub fn evaluate(&self) -> Result<()> {
        let all: Vec<&Tensor> = self.sums.iter().chain(&self.bad_step).collect();
        crate::eval(&all)
    }

    /// Starts to read the sums and begins new ones.
    pub fn take(&mut self) -> Result<Option<Underway>> {
        let Running { sums, bad_step, names, counts, batches } = std::mem::take(self);
        if batches == 0 {
            return Ok(None);
        }
        let all: Vec<&Tensor> = sums.iter().chain(&bad_step).collect();
        let reading = if all.is_empty() { None } else { Some(read_later(&all)?) };
        Ok(Some(Underway { reading, names, counts }))
    }
}

impl Underway {
    /// The sums, or the first step whose loss was not finite.
    pub async fn finish(self) -> Result<std::result::Result<Totals, u64>> {
        let Some(reading) = self.reading else { return Ok(Ok(Totals::default())) };
        let mut values = reading.values().await?;
        let bad = values.pop().and_then(|value| value.first().copied()).unwrap_or(NEVER);
        if bad < NEVER {
            return Ok(Err(bad as u64));
        }
        let sums = values.into_iter().map(|value| value[0]).collect();
        Ok(Ok(Totals { names: self.names, sums, counts: self.counts }))
    }
}

impl Totals {
    pub fn add(&mut self, other: &Totals) {
        if self.names.is_empty() {
            return *self = other.clone();
        }
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| *sum += other);
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += other);
    }

    /// The means, with `prefix` before the names; the loss comes first.
    pub fn means(&self, prefix: &str) -> Metrics {
        let mean = |k: usize| self.sums[k] / self.counts[k].max(f64::MIN_POSITIVE);
        self.names.iter().enumerate().map(|(k, name)| (format!("{prefix}{name}"), mean(k))).collect()
    }
}
