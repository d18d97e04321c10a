//! Softmax over many classes, most of them rare (Grave et al., 2016): the frequent ones have logits of their own, the rare ones
//! lie in clusters, each with a logit beside the frequent ones and a smaller space of features.

use super::{Linear, LinearOptions};
use crate::error::{Error, Result, expect};
use crate::nn::{Forward, Module, ModuleList, Sequential};
use crate::tensor::{Tensor, TensorOptions};

/// Options of [`AdaptiveLogSoftmaxWithLoss`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptiveSoftmaxOptions {
    /// How many times smaller the features of each further cluster are (4).
    pub div_value: f64,
    /// Has the head a bias?
    pub head_bias: bool,
}

impl Default for AdaptiveSoftmaxOptions {
    fn default() -> Self {
        AdaptiveSoftmaxOptions { div_value: 4.0, head_bias: false }
    }
}

/// Log-probabilities of classes that are sorted from frequent to rare, and the loss of targets.
///
/// ```
/// use flambeau::{nn::AdaptiveLogSoftmaxWithLoss, prelude::*};
/// let device = Device::cpu();
/// let layer = AdaptiveLogSoftmaxWithLoss::new(16, 10, &[4, 8], &device);
/// let x = Tensor::randn([3, 16], &Generator::new(1), &device);
/// let (log_probabilities, loss) = layer.forward(&x, &Tensor::new([0, 5, 9], &device));
/// assert_eq!(log_probabilities.shape().dims(), [3]);
/// let mean = log_probabilities.mean(..).item_blocking()?;
/// assert!((loss.item_blocking()? + mean).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
pub struct AdaptiveLogSoftmaxWithLoss {
    /// Logits of the frequent classes and of the clusters.
    pub head: Linear,
    /// For each cluster its features, then its logits.
    pub tail: ModuleList<Sequential>,
    /// Where clusters begin, and the number of classes.
    #[module(skip)]
    cutoffs: Vec<usize>,
}

impl AdaptiveLogSoftmaxWithLoss {
    /// Of `classes` classes, with clusters that begin at the cutoffs.
    #[track_caller]
    pub fn new(
        features: usize,
        classes: usize,
        cutoffs: &[usize],
        options: impl Into<TensorOptions>,
    ) -> Self {
        Self::with_options(features, classes, cutoffs, AdaptiveSoftmaxOptions::default(), options)
    }

    /// With all settings.
    #[track_caller]
    pub fn with_options(
        features: usize,
        classes: usize,
        cutoffs: &[usize],
        layer: AdaptiveSoftmaxOptions,
        options: impl Into<TensorOptions>,
    ) -> Self {
        expect(Self::try_with_options(features, classes, cutoffs, layer, options))
    }

    /// [`with_options`](Self::with_options), or the error instead of a panic.
    #[track_caller]
    pub fn try_with_options(
        features: usize,
        classes: usize,
        cutoffs: &[usize],
        layer: AdaptiveSoftmaxOptions,
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        let options = options.into();
        let ends: Vec<usize> = cutoffs.iter().copied().chain([classes]).collect();
        let ascending =
            cutoffs.first().is_some_and(|&first| first > 0) && ends.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending || !layer.div_value.is_finite() || layer.div_value <= 0.0 {
            let message = format!(
                "cutoffs {cutoffs:?} must ascend between 1 and {} ({layer:?})",
                classes.saturating_sub(1)
            );
            return Err(Error::argument("AdaptiveLogSoftmaxWithLoss", message));
        }
        let linear = |inputs, outputs, bias| {
            Linear::try_with_options(inputs, outputs, LinearOptions { bias }, &options)
        };
        let mut tail = Vec::with_capacity(cutoffs.len());
        for (number, pair) in ends.windows(2).enumerate() {
            let width = (features as f64 / layer.div_value.powi(number as i32 + 1)) as usize;
            if width == 0 {
                let message =
                    format!("cluster {number} would have no features; fewer clusters or a smaller div_value");
                return Err(Error::argument("AdaptiveLogSoftmaxWithLoss", message));
            }
            let logits = linear(width, pair[1] - pair[0], false)?;
            tail.push(Sequential::new().with(linear(features, width, false)?).with(logits));
        }
        let head = linear(features, cutoffs[0] + cutoffs.len(), layer.head_bias)?;
        Ok(AdaptiveLogSoftmaxWithLoss { head, tail, cutoffs: ends })
    }

    /// The log-probabilities of the targets (N) given features (N, F), and the mean loss.
    #[track_caller]
    pub fn forward(&self, input: &Tensor, target: &Tensor) -> (Tensor, Tensor) {
        expect(self.try_forward(input, target))
    }

    /// [`forward`](Self::forward), or the error instead of a panic. A target that is no class is an error when the result is
    /// computed.
    #[track_caller]
    pub fn try_forward(&self, input: &Tensor, target: &Tensor) -> Result<(Tensor, Tensor)> {
        if input.rank() == 1 && target.rank() == 0 {
            let (chosen, loss) = self.try_forward(&input.try_unsqueeze(0)?, &target.try_unsqueeze(0)?)?;
            return Ok((chosen.try_squeeze(0)?, loss));
        }
        if input.rank() != 2 || target.rank() != 1 || input.size(0) != target.size(0) {
            let message = format!("targets {} for features {}", target.shape(), input.shape());
            return Err(Error::shape("AdaptiveLogSoftmaxWithLoss", message));
        }
        let chosen = self.try_log_prob(input)?.try_gather(1, &target.try_unsqueeze(1)?)?.try_squeeze(1)?;
        let loss = chosen.try_mean(..)?.try_neg()?;
        Ok((chosen, loss))
    }

    /// The log-probabilities of all classes, (N, F) to (N, classes).
    #[track_caller]
    pub fn log_prob(&self, input: &Tensor) -> Tensor {
        expect(self.try_log_prob(input))
    }

    /// [`log_prob`](Self::log_prob), or the error instead of a panic.
    #[track_caller]
    pub fn try_log_prob(&self, input: &Tensor) -> Result<Tensor> {
        let frequent = self.cutoffs[0];
        let head = self.head.try_forward(input)?.try_log_softmax(1)?;
        let mut parts = vec![head.try_narrow(1, 0, frequent)?];
        for (number, cluster) in self.tail.iter().enumerate() {
            let within = cluster.try_forward(input)?.try_log_softmax(1)?;
            parts.push(within.try_add(&head.try_narrow(1, frequent + number, 1)?)?);
        }
        Tensor::try_cat(&parts, 1)
    }

    /// The likeliest classes, (N, F) to (N).
    #[track_caller]
    pub fn predict(&self, input: &Tensor) -> Tensor {
        self.log_prob(input).argmax(1)
    }
}
