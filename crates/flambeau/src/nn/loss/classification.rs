//! Losses for classes and for yes-or-no answers.

use super::pick::{Labels, check_class_weight, class_dim, excess, pick, row_cross_entropy};
use super::{Reduction, floats, forward, same_shape, weighted};
use crate::autograd::Saves;
use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::tensor::{Composite, Meta, Tensor};
use smallvec::smallvec;

/// The class number that does not count, as PyTorch's.
const IGNORE_INDEX: i64 = -100;

/// Cross entropy of scores (logits): −log softmax(x)\[class\], the mean over the batch.
///
/// The input is (C), (N, C) or (N, C, d1, …). The target is either class numbers, shaped as the input without its
/// class dimension, or probabilities of the classes (a float dtype), shaped as the input. A class number outside 0..C
/// is an error when the loss is computed, unless it is `ignore_index`. With weights the mean is the weighted one:
/// divided by the sum of the weights of the targets' classes. Ignored rows get gradients of 0 whatever they hold; a mean
/// over no row is NaN, with gradients of 0.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::CrossEntropyLoss;
/// let device = Device::cpu();
/// let logits = Tensor::new([[2.0, 0.0], [0.0, 0.0]], &device);
/// let loss = CrossEntropyLoss::default();
/// assert_eq!(loss.forward(&logits, &Tensor::new([0, 1], &device)).to_string(), "tensor(0.4100)");
/// let smooth = CrossEntropyLoss { label_smoothing: 0.1, ..Default::default() };
/// assert_eq!(smooth.forward(&logits, &Tensor::new([0, 1], &device)).to_string(), "tensor(0.4600)");
/// ```
#[derive(Debug, Clone)]
pub struct CrossEntropyLoss {
    /// A weight for each class, of shape (C).
    pub weight: Option<Tensor>,
    /// The class number that does not count (−100).
    pub ignore_index: i64,
    /// What becomes of the rows' losses.
    pub reduction: Reduction,
    /// How much of the target is spread evenly over all classes, from 0 (none, the default) to 1.
    pub label_smoothing: f64,
}

impl Default for CrossEntropyLoss {
    fn default() -> Self {
        let (weight, reduction) = (None, Reduction::Mean);
        CrossEntropyLoss { weight, ignore_index: IGNORE_INDEX, reduction, label_smoothing: 0.0 }
    }
}

impl CrossEntropyLoss {
    forward! {
        /// The loss of logits (N, C, d1, …) against class numbers (N, d1, …) or probabilities (N, C, d1, …).
        (&self, input: &Tensor, target: &Tensor) {
            if !(0.0..=1.0).contains(&self.label_smoothing) {
                let message = format!("a label smoothing of {} is outside 0..=1", self.label_smoothing);
                return Err(Error::argument("cross_entropy", message));
            }
            if target.dtype().is_float() && target.shape() == input.shape() {
                return against_probabilities(self, input, target);
            }
            match self.weight.is_none() && self.label_smoothing == 0.0 {
                true => self.against_classes(input, target),
                false => against_weighted_classes(self, input, target),
            }
        }
    }

    /// The loss against class numbers, none of which counts more than another.
    #[track_caller]
    fn against_classes(&self, input: &Tensor, target: &Tensor) -> Result<Tensor> {
        Labels::check("cross_entropy", input, target)?;
        let shape = if self.reduction == Reduction::None { target.shape().clone() } else { Shape::default() };
        let settings = [self.ignore_index, self.reduction as i64];
        Tensor::composed(&CROSS_ENTROPY, &settings, &[input, target], Meta::new(shape, input.dtype()))
    }
}

/// The loss against class numbers that count by their weights or are smoothed.
#[track_caller]
#[inline(never)]
fn against_weighted_classes(loss: &CrossEntropyLoss, input: &Tensor, target: &Tensor) -> Result<Tensor> {
    let labels = Labels::new("cross_entropy", input, target, loss.ignore_index)?;
    let weights = labels.weights("cross_entropy", input, loss.weight.as_ref())?;
    let sharp = row_cross_entropy(input, &labels, &weights, loss.weight.is_some())?;
    let losses = match loss.label_smoothing {
        0.0 => sharp,
        share => {
            let spread = share / input.shape()[labels.dim] as f64;
            // Of zeros where a row is ignored, which may hold infinities.
            let counted = labels.counted.try_where_cond(input, 0.0)?;
            let surprise = spread_surprise(loss, &counted, labels.dim)?;
            let even = labels.counted.try_where_cond(&surprise.try_mul(spread)?, 0.0)?;
            sharp.try_mul(1.0 - share)?.try_add(&even)?
        }
    };
    reduce_rows(loss.reduction, &losses, &weights, target.shape())
}

/// −Σ weight · log softmax(x) over the classes, which stay with size 1.
#[track_caller]
fn spread_surprise(loss: &CrossEntropyLoss, input: &Tensor, dim: usize) -> Result<Tensor> {
    let log_probabilities = input.try_log_softmax(dim as isize)?;
    let weighted = weighted(log_probabilities, aligned_weight(loss, input, dim)?.as_ref())?;
    weighted.try_sum_keepdim(dim as isize)?.try_neg()
}

/// The class weights along the input's class dimension.
#[track_caller]
fn aligned_weight(loss: &CrossEntropyLoss, input: &Tensor, dim: usize) -> Result<Option<Tensor>> {
    let Some(weight) = &loss.weight else { return Ok(None) };
    let classes = input.shape()[dim];
    check_class_weight("cross_entropy", weight, classes)?;
    let after = input.rank() - dim - 1;
    let aligned: Shape = std::iter::once(classes).chain(std::iter::repeat_n(1, after)).collect();
    weight.detach().try_reshape(aligned).map(Some)
}

/// −Σ weight · target · log softmax(x); its mean is over the rows, weighted or not.
#[track_caller]
#[inline(never)]
fn against_probabilities(loss: &CrossEntropyLoss, input: &Tensor, target: &Tensor) -> Result<Tensor> {
    floats("cross_entropy", input)?;
    let dim = class_dim("cross_entropy", input)?;
    let classes = input.shape()[dim] as f64;
    let target = match loss.label_smoothing {
        0.0 => target.clone(),
        share => target.try_mul(1.0 - share)?.try_add(share / classes)?,
    };
    let likelihood = input.try_log_softmax(dim as isize)?.try_mul(&target)?;
    let likelihood = weighted(likelihood, aligned_weight(loss, input, dim)?.as_ref())?;
    match loss.reduction {
        Reduction::None => likelihood.try_sum(dim as isize)?.try_neg(),
        Reduction::Sum => likelihood.try_sum(..)?.try_neg(),
        Reduction::Mean => likelihood.try_sum(..)?.try_mul(-classes / input.numel() as f64),
    }
}

/// The loss of logits against class numbers; settings: the ignored class and the reduction.
static CROSS_ENTROPY: Composite = Composite::with_rule(
    "cross_entropy",
    |of| {
        let [input, target] = of.inputs else { unreachable!("logits and classes") };
        let labels = Labels::new("cross_entropy", input, target, of.settings[0])?;
        let weights = labels.counts(input)?;
        let losses = row_cross_entropy(input, &labels, &weights, false)?;
        Ok(smallvec![reduce_rows(
            Reduction::from_setting(of.settings[1]),
            &losses,
            &weights,
            target.shape()
        )?])
    },
    Saves::inputs(0b11),
    |v, settings| {
        let (input, target) = (v.input(0), v.input(1));
        let operands = [input, target, v.grad()];
        let gradient = Tensor::composed(&CROSS_ENTROPY_GRADIENT, settings, &operands, input.meta().clone())?;
        Ok(vec![Some(gradient), None])
    },
);

/// (softmax − [class]) · g · weight, divided by the sum of the weights for a mean. Of logits, classes and g.
static CROSS_ENTROPY_GRADIENT: Composite = Composite::plain("cross_entropy_gradient", |of| {
    let [input, target, g] = of.inputs else { unreachable!("logits, classes and a gradient") };
    let labels = Labels::new("cross_entropy", input, target, of.settings[0])?;
    let weights = labels.counts(input)?;
    let g = match Reduction::from_setting(of.settings[1]) {
        Reduction::None => g.try_reshape(weights.shape())?,
        Reduction::Sum => g.clone(),
        Reduction::Mean => g.try_div(&weights.try_sum(..)?)?,
    };
    Ok(smallvec![excess(input, &labels, &g.try_mul(&weights)?)?])
});

/// Reduces the losses of rows that count as much as their weights say; `shape` is theirs without the class dimension.
#[track_caller]
fn reduce_rows(reduction: Reduction, losses: &Tensor, weights: &Tensor, shape: &Shape) -> Result<Tensor> {
    match reduction {
        Reduction::None => losses.try_reshape(shape),
        Reduction::Sum => losses.try_sum(..),
        Reduction::Mean => losses.try_sum(..)?.try_div(&weights.try_sum(..)?),
    }
}

/// Negative log likelihood of logarithms of probabilities: −x\[class\], the mean over the batch.
///
/// The input is (C), (N, C) or (N, C, d1, …), the target class numbers shaped as the input without its class
/// dimension. Weights, `ignore_index` and the mean are those of [`CrossEntropyLoss`].
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::NllLoss;
/// let device = Device::cpu();
/// let log_probabilities = Tensor::new([[-0.5, -1.0], [-2.0, -0.1]], &device);
/// let loss = NllLoss::default().forward(&log_probabilities, &Tensor::new([0, -100], &device));
/// assert_eq!(loss.to_string(), "tensor(0.5000)");
/// ```
#[derive(Debug, Clone)]
pub struct NllLoss {
    /// A weight for each class, of shape (C).
    pub weight: Option<Tensor>,
    /// The class number that does not count (−100).
    pub ignore_index: i64,
    /// What becomes of the rows' losses.
    pub reduction: Reduction,
}

impl Default for NllLoss {
    fn default() -> Self {
        NllLoss { weight: None, ignore_index: IGNORE_INDEX, reduction: Reduction::Mean }
    }
}

impl NllLoss {
    forward! {
        /// The loss of log probabilities (N, C, d1, …) against class numbers (N, d1, …).
        (&self, input: &Tensor, target: &Tensor) {
            let labels = Labels::new("nll_loss", input, target, self.ignore_index)?;
            let weights = labels.weights("nll_loss", input, self.weight.as_ref())?;
            // Selected, not multiplied: an ignored row may hold infinities.
            let picked = pick(input, &labels.classes, labels.dim)?;
            let picked = labels.counted.try_where_cond(&picked, 0.0)?;
            let losses = match &self.weight {
                Some(_) => picked.try_mul(&weights)?.try_neg()?,
                None => picked.try_neg()?,
            };
            reduce_rows(self.reduction, &losses, &weights, target.shape())
        }
    }
}

/// Binary cross entropy of probabilities: −(y log x + (1 − y) log(1 − x)), the mean. Logarithms are taken as at
/// least −100. The loss of an input outside 0..=1 is NaN.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::BceLoss;
/// let device = Device::cpu();
/// let loss = BceLoss::default().forward(&Tensor::new([0.5, 0.9], &device), &Tensor::new([1.0, 1.0], &device));
/// assert_eq!(loss.to_string(), "tensor(0.3993)");
/// ```
#[derive(Debug, Clone, Default)]
pub struct BceLoss {
    /// Multiplies the elements' losses; broadcast to their shape.
    pub weight: Option<Tensor>,
    /// What becomes of the elements' losses.
    pub reduction: Reduction,
}

/// The least a logarithm counts in [`BceLoss`].
const LEAST_LOG: f64 = -100.0;

impl BceLoss {
    forward! {
        /// The loss of probabilities against targets in 0..=1 of the same shape.
        (&self, input: &Tensor, target: &Tensor) unsafe in f16, use "BceWithLogitsLoss": {
            same_shape("binary_cross_entropy", input, target)?;
            floats("binary_cross_entropy", input)?;
            let target = target.try_to_dtype(input.dtype())?;
            let log = |x: &Tensor| x.try_log()?.try_clamp_min(LEAST_LOG);
            let forward = || {
                let (yes, no) = (log(input)?, log(&input.try_rsub(1.0)?)?);
                no.try_add(&target.try_mul(&yes.try_sub(&no)?)?)?.try_neg()
            };
            let inputs = [input, &target];
            let rule = move |v: &crate::autograd::Vjp| {
                let (g, x, y) = (v.grad(), v.input(0), v.input(1));
                let rest = x.try_rsub(1.0)?;
                let slope = x.try_sub(y)?.try_div(&x.try_mul(&rest)?.try_clamp_min(1e-12)?)?;
                let target = v.needs[1].then(|| g.try_mul(&log(&rest)?.try_sub(&log(x)?)?)).transpose()?;
                Ok(vec![Some(g.try_mul(&slope)?), target])
            };
            let losses =
                Tensor::with_rule("binary_cross_entropy", Saves::inputs(0b11), &inputs, forward, rule)?;
            self.reduction.apply(&weighted(losses, self.weight.as_ref())?)
        }
    }
}

/// Binary cross entropy of scores (logits), without overflow: −(p y log σ(x) + (1 − y) log(1 − σ(x))), the mean.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::BceWithLogitsLoss;
/// let device = Device::cpu();
/// let (x, y) = (Tensor::new([0.0, 1e4], &device), Tensor::new([1.0, 0.0], &device));
/// let loss = BceWithLogitsLoss::default().forward(&x, &y);
/// assert_eq!(loss.to_string(), "tensor(5000.3467)");
/// ```
#[derive(Debug, Clone, Default)]
pub struct BceWithLogitsLoss {
    /// Multiplies the elements' losses; broadcast to their shape.
    pub weight: Option<Tensor>,
    /// p, how much more a yes counts; broadcast to the elements' shape.
    pub pos_weight: Option<Tensor>,
    /// What becomes of the elements' losses.
    pub reduction: Reduction,
}

impl BceWithLogitsLoss {
    forward! {
        /// The loss of logits against targets in 0..=1 of the same shape.
        (&self, input: &Tensor, target: &Tensor) {
            same_shape("binary_cross_entropy_with_logits", input, target)?;
            floats("binary_cross_entropy_with_logits", input)?;
            let target = target.try_to_dtype(input.dtype())?;
            let mut missed = input.try_neg()?.try_softplus()?;
            if let Some(pos_weight) = &self.pos_weight {
                let weight = pos_weight.try_sub(1.0)?.try_mul(&target)?.try_add(1.0)?;
                missed = missed.try_mul(&weight)?;
            }
            let losses = target.try_rsub(1.0)?.try_mul(input)?.try_add(&missed)?;
            self.reduction.apply(&weighted(losses, self.weight.as_ref())?)
        }
    }
}
