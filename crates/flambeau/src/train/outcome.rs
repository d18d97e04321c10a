//! What one batch gives: the loss to minimise, and what else is worth knowing.

use super::metrics;
use crate::error::{Error, Result};
use crate::nn::loss::CrossEntropyLoss;
use crate::tensor::Tensor;

/// The loss of a batch, and sums for the metrics. Sums, not means: batches may differ in size.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::train::Outcome;
/// let logits = Tensor::new([[2.0, 0.0], [0.0, 2.0], [2.0, 0.0]], &Device::cpu());
/// let outcome = Outcome::classify(&logits, &Tensor::new([0, 1, 1], &Device::cpu()))?;
/// assert_eq!(outcome.samples(), 3);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Outcome {
    pub(super) loss: Tensor,
    pub(super) samples: usize,
    /// Name, sum over the batch, and what it is divided by.
    pub(super) metrics: Vec<(String, Tensor, f64)>,
}

impl Outcome {
    /// A mean loss over so many samples.
    pub fn new(loss: Tensor, samples: usize) -> Outcome {
        Outcome { loss, samples, metrics: Vec::new() }
    }

    /// Adds a metric: its sum over the batch, a single number on the device, and what the sum is divided by.
    #[must_use]
    pub fn with_metric(mut self, name: impl Into<String>, sum: Tensor, count: f64) -> Outcome {
        self.metrics.push((name.into(), sum.detach(), count));
        self
    }

    /// Cross entropy of logits (N, C) and class numbers (N), with the accuracy.
    pub fn classify(logits: &Tensor, labels: &Tensor) -> Result<Outcome> {
        let loss = CrossEntropyLoss::default().try_forward(logits, labels)?;
        let [samples, ..] = *labels.shape().dims() else {
            return Err(Error::shape("Outcome::classify", format!("labels {} have no rows", labels.shape())));
        };
        let correct = metrics::correct(logits, labels)?;
        Ok(Outcome::new(loss, samples).with_metric("accuracy", correct, samples as f64))
    }

    /// The number of samples.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// The loss, through which gradients flow.
    pub fn loss(&self) -> &Tensor {
        &self.loss
    }
}
