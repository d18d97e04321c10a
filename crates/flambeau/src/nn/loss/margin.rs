//! Losses that want a margin between scores of right and wrong classes.

use super::pick::{check_class_weight, pick};
use super::{Reduction, floats, forward, same_shape, weighted};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// Σ over the other classes j of max(0, margin − x\[y\] + x\[j\])ᵖ / C, times the weight of y; the mean.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::MultiMarginLoss;
/// let device = Device::cpu();
/// let x = Tensor::new([[0.1, 0.2, 0.4, 0.8]], &device);
/// assert_eq!(MultiMarginLoss::default().forward(&x, &Tensor::new([3], &device)).to_string(), "tensor(0.3250)");
/// ```
#[derive(Debug, Clone)]
pub struct MultiMarginLoss {
    /// The power, 1 or 2 (1).
    pub p: u32,
    /// How much larger the right score should be (1).
    pub margin: f64,
    /// A weight for each class, of shape (C).
    pub weight: Option<Tensor>,
    /// What becomes of the rows' losses.
    pub reduction: Reduction,
}

impl Default for MultiMarginLoss {
    fn default() -> Self {
        MultiMarginLoss { p: 1, margin: 1.0, weight: None, reduction: Reduction::Mean }
    }
}

impl MultiMarginLoss {
    forward! {
        /// The loss of scores (N, C) or (C) against class numbers (N) or ().
        (&self, input: &Tensor, target: &Tensor) {
            const OP: &str = "multi_margin_loss";
            floats(OP, input)?;
            if !(self.p == 1 || self.p == 2) {
                return Err(Error::argument(OP, format!("p is {}; only 1 and 2 are supported", self.p)));
            }
            if !target.dtype().is_int() {
                return Err(Error::dtype_not_accepted(OP, target.dtype(), "class numbers of an integer dtype"));
            }
            let rank = input.rank();
            if !(1..=2).contains(&rank) || *target.shape() != input.shape().removed(rank - 1) {
                let message =
                    format!("class numbers of shape {} for scores of shape {}", target.shape(), input.shape());
                return Err(Error::shape(OP, message));
            }
            let (last, classes) = (rank - 1, input.shape()[rank - 1]);
            let labels = target.try_unsqueeze(-1)?;
            let right = pick(input, &labels, last)?;
            let gap = input.try_sub(&right)?.try_add(self.margin)?.try_relu()?;
            let gap = if self.p == 2 { gap.try_square()? } else { gap };
            let gap = match &self.weight {
                Some(weight) => {
                    check_class_weight(OP, weight, classes)?;
                    let weights = weight.detach().try_index_select(0, &target.try_reshape(target.numel())?)?;
                    gap.try_mul(&weights.try_reshape(labels.shape())?)?
                }
                None => gap,
            };
            let others = input.iota_of(input.shape(), last)?.try_ne(&labels)?;
            let losses = others.try_where_cond(&gap, 0.0)?.try_sum(-1)?.try_mul(1.0 / classes as f64)?;
            self.reduction.apply(&losses)
        }
    }
}

/// For rows that have several right classes: Σ over right k and wrong j of max(0, 1 − x\[k\] + x\[j\]) / C; the mean.
///
/// The target holds the right classes' numbers, then −1 and anything.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::MultiLabelMarginLoss;
/// let device = Device::cpu();
/// let x = Tensor::new([[0.1, 0.2, 0.4, 0.8]], &device);
/// let right = Tensor::new([[3, 0, -1, 1]], &device);
/// assert_eq!(MultiLabelMarginLoss::default().forward(&x, &right).to_string(), "tensor(0.8500)");
/// ```
#[derive(Debug, Clone, Default)]
pub struct MultiLabelMarginLoss {
    /// What becomes of the rows' losses.
    pub reduction: Reduction,
}

impl MultiLabelMarginLoss {
    forward! {
        /// The loss of scores (N, C) or (C) against lists of class numbers of the same shape.
        (&self, input: &Tensor, target: &Tensor) {
            const OP: &str = "multilabel_margin_loss";
            floats(OP, input)?;
            same_shape(OP, input, target)?;
            if !(1..=2).contains(&input.rank()) {
                return Err(Error::shape(OP, format!("scores of shape {}; (N, C) or (C) is expected", input.shape())));
            }
            if !target.dtype().is_int() {
                return Err(Error::dtype_not_accepted(OP, target.dtype(), "class numbers of an integer dtype"));
            }
            let classes = input.size(-1);
            let ended = target.try_lt(0)?.try_to_dtype(DType::I32)?.try_cumsum(-1)?;
            let listed = ended.try_eq(0)?;
            let right = listed.try_where_cond(target, target.zeros_like())?;
            // (N, K, C): is class c the k-th of the list?
            let listed = listed.try_unsqueeze(-1)?;
            let pairs = input.shape().inserted(input.rank(), classes);
            let position = input.iota_of(&pairs, input.rank())?;
            let is_listed = position.try_eq(&right.try_unsqueeze(-1)?)?.try_logical_and(&listed)?;
            let is_wrong = is_listed.try_any_keepdim(-2)?.try_logical_not()?;
            let score = input.try_gather(-1, &right)?.try_unsqueeze(-1)?;
            let gap = input.try_unsqueeze(-2)?.try_sub(&score)?.try_add(1.0)?.try_relu()?;
            let counted = listed.try_logical_and(&is_wrong)?;
            let losses = counted.try_where_cond(&gap, 0.0)?.try_sum([-2, -1])?.try_mul(1.0 / classes as f64)?;
            self.reduction.apply(&losses)
        }
    }
}

/// log(1 + e^(−y x)) for targets y of 1 and −1, without overflow; the mean.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::SoftMarginLoss;
/// let device = Device::cpu();
/// let loss = SoftMarginLoss::default().forward(&Tensor::new([0.0, -1e4], &device), &Tensor::new([1.0, 1.0], &device));
/// assert_eq!(loss.to_string(), "tensor(5000.3467)");
/// ```
#[derive(Debug, Clone, Default)]
pub struct SoftMarginLoss {
    /// What becomes of the elements' losses.
    pub reduction: Reduction,
}

impl SoftMarginLoss {
    forward! {
        /// The loss of scores against 1 or −1 of the same shape.
        (&self, input: &Tensor, target: &Tensor) {
            same_shape("soft_margin_loss", input, target)?;
            floats("soft_margin_loss", input)?;
            self.reduction.apply(&input.try_mul(&target.try_neg()?)?.try_softplus()?)
        }
    }
}

/// The mean over classes of −(y log σ(x) + (1 − y) log σ(−x)), for rows that may have several classes; then the mean
/// over rows.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::MultiLabelSoftMarginLoss;
/// let device = Device::cpu();
/// let (x, y) = (Tensor::new([[0.0, 2.0]], &device), Tensor::new([[1.0, 1.0]], &device));
/// assert_eq!(MultiLabelSoftMarginLoss::default().forward(&x, &y).to_string(), "tensor(0.4100)");
/// ```
#[derive(Debug, Clone, Default)]
pub struct MultiLabelSoftMarginLoss {
    /// A weight for each class, of shape (C).
    pub weight: Option<Tensor>,
    /// What becomes of the rows' losses.
    pub reduction: Reduction,
}

impl MultiLabelSoftMarginLoss {
    forward! {
        /// The loss of scores (…, C) against targets of 0 and 1 of the same shape.
        (&self, input: &Tensor, target: &Tensor) {
            const OP: &str = "multilabel_soft_margin_loss";
            same_shape(OP, input, target)?;
            floats(OP, input)?;
            let Some(&classes) = input.shape().last() else {
                return Err(Error::shape(OP, "the input has no dimension of classes; (C) or (N, C) is expected"));
            };
            if let Some(weight) = &self.weight {
                check_class_weight(OP, weight, classes)?;
            }
            let target = target.try_to_dtype(input.dtype())?;
            let missed = input.try_neg()?.try_softplus()?;
            let losses = target.try_rsub(1.0)?.try_mul(input)?.try_add(&missed)?;
            self.reduction.apply(&weighted(losses, self.weight.as_ref())?.try_mean(-1)?)
        }
    }
}
