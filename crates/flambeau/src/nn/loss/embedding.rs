//! Losses of distances: between embeddings, and between scores that should be in order.

use super::{Reduction, forward};
use crate::error::Result;
use crate::tensor::Tensor;

/// x where the target is 1, max(0, margin − x) where it is −1; the mean.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::HingeEmbeddingLoss;
/// let device = Device::cpu();
/// let loss = HingeEmbeddingLoss::default();
/// let value = loss.forward(&Tensor::new([0.5, 0.25], &device), &Tensor::new([1.0, -1.0], &device));
/// assert_eq!(value.to_string(), "tensor(0.6250)");
/// ```
#[derive(Debug, Clone)]
pub struct HingeEmbeddingLoss {
    /// How far apart the unlike should be (1).
    pub margin: f64,
    /// What becomes of the elements' losses.
    pub reduction: Reduction,
}

impl Default for HingeEmbeddingLoss {
    fn default() -> Self {
        HingeEmbeddingLoss { margin: 1.0, reduction: Reduction::Mean }
    }
}

impl HingeEmbeddingLoss {
    forward! {
        /// The loss of distances against 1 (alike) or −1 (unlike); shapes are broadcast.
        (&self, input: &Tensor, target: &Tensor) {
            let missing = input.try_rsub(self.margin)?.try_clamp_min(0.0)?;
            let unlike = target.try_ne(1)?.try_where_cond(&missing, 0.0)?;
            let alike = target.try_ne(-1)?.try_where_cond(input, 0.0)?;
            self.reduction.apply(&unlike.try_add(&alike)?)
        }
    }
}

/// max(0, −y (x₁ − x₂) + margin): the first should be larger where y is 1, smaller where it is −1; the mean.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::MarginRankingLoss;
/// let device = Device::cpu();
/// let (a, b) = (Tensor::new([1.0, 0.0], &device), Tensor::new([0.0, 1.0], &device));
/// let loss = MarginRankingLoss::default().forward(&a, &b, &Tensor::new([1.0, 1.0], &device));
/// assert_eq!(loss.to_string(), "tensor(0.5000)");
/// ```
#[derive(Debug, Clone, Default)]
pub struct MarginRankingLoss {
    /// How much larger it should be (0).
    pub margin: f64,
    /// What becomes of the elements' losses.
    pub reduction: Reduction,
}

impl MarginRankingLoss {
    forward! {
        /// The loss of two lists of scores against 1 or −1; shapes are broadcast.
        (&self, first: &Tensor, second: &Tensor, target: &Tensor) {
            let wrong = second.try_sub(first)?.try_mul(target)?;
            let wrong = if self.margin == 0.0 { wrong } else { wrong.try_add(self.margin)? };
            self.reduction.apply(&wrong.try_clamp_min(0.0)?)
        }
    }
}

/// max(0, d(anchor, positive) − d(anchor, negative) + margin), where d is the p-norm of the difference over the last
/// dimension; the mean. With `swap` the negative's distance is the smaller one of those to anchor and positive.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::TripletMarginLoss;
/// let at = |x: f64| Tensor::new([[x, 0.0]], &Device::cpu());
/// let loss = TripletMarginLoss::default().forward(&at(0.0), &at(2.0), &at(2.5));
/// assert_eq!(loss.to_string(), "tensor(0.5000)");
/// ```
#[derive(Debug, Clone)]
pub struct TripletMarginLoss {
    /// How much farther the negative should be (1).
    pub margin: f64,
    /// Of the norm (2).
    pub p: f64,
    /// What is added to the differences (1e-6).
    pub eps: f64,
    /// Takes the smaller of the negative's distances.
    pub swap: bool,
    /// What becomes of the triplets' losses.
    pub reduction: Reduction,
}

impl Default for TripletMarginLoss {
    fn default() -> Self {
        TripletMarginLoss { margin: 1.0, p: 2.0, eps: 1e-6, swap: false, reduction: Reduction::Mean }
    }
}

impl TripletMarginLoss {
    forward! {
        /// The loss of anchors, positives and negatives (…, D).
        (&self, anchor: &Tensor, positive: &Tensor, negative: &Tensor) {
            let distance = |a: &Tensor, b: &Tensor| a.try_pairwise_distance(b, self.p, self.eps);
            triplets(&distance, [anchor, positive, negative], self.margin, self.swap, self.reduction)
        }
    }
}

/// A distance between rows (…, D) and (…, D).
pub type Distance = dyn Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync;

/// [`TripletMarginLoss`] with any distance; the Euclidean one unless another is given.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::TripletMarginWithDistanceLoss;
/// let at = |x: f64| Tensor::new([[x, 0.0]], &Device::cpu());
/// let loss = TripletMarginWithDistanceLoss::new(|a, b| a.try_sub(b)?.try_abs()?.try_amax(-1));
/// assert_eq!(loss.forward(&at(0.0), &at(2.0), &at(2.5)).to_string(), "tensor(0.5000)");
/// ```
pub struct TripletMarginWithDistanceLoss {
    /// The distance.
    pub distance: Box<Distance>,
    /// How much farther the negative should be (1).
    pub margin: f64,
    /// Takes the smaller of the negative's distances.
    pub swap: bool,
    /// What becomes of the triplets' losses.
    pub reduction: Reduction,
}

impl Default for TripletMarginWithDistanceLoss {
    fn default() -> Self {
        TripletMarginWithDistanceLoss::new(|a, b| a.try_pairwise_distance(b, 2.0, 1e-6))
    }
}

impl std::fmt::Debug for TripletMarginWithDistanceLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = f.debug_struct("TripletMarginWithDistanceLoss");
        text.field("margin", &self.margin)
            .field("swap", &self.swap)
            .field("reduction", &self.reduction)
            .finish()
    }
}

impl TripletMarginWithDistanceLoss {
    /// With this distance.
    pub fn new(distance: impl Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static) -> Self {
        let (distance, reduction) = (Box::new(distance), Reduction::Mean);
        TripletMarginWithDistanceLoss { distance, margin: 1.0, swap: false, reduction }
    }

    forward! {
        /// The loss of anchors, positives and negatives.
        (&self, anchor: &Tensor, positive: &Tensor, negative: &Tensor) {
            triplets(&self.distance, [anchor, positive, negative], self.margin, self.swap, self.reduction)
        }
    }
}

/// max(0, d(a, p) − d(a, n) + margin), reduced; with `swap`, d(p, n) where that is smaller than d(a, n).
#[track_caller]
fn triplets(
    distance: &dyn Fn(&Tensor, &Tensor) -> Result<Tensor>,
    [anchor, positive, negative]: [&Tensor; 3],
    margin: f64,
    swap: bool,
    reduction: Reduction,
) -> Result<Tensor> {
    let near = distance(anchor, positive)?;
    let mut far = distance(anchor, negative)?;
    if swap {
        far = far.try_minimum(&distance(positive, negative)?)?;
    }
    reduction.apply(&near.try_sub(&far)?.try_add(margin)?.try_clamp_min(0.0)?)
}

/// 1 − cos(x₁, x₂) where the target is 1, max(0, cos(x₁, x₂) − margin) where it is −1; the mean.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::CosineEmbeddingLoss;
/// let device = Device::cpu();
/// let (a, b) = (Tensor::new([[1.0, 0.0]], &device), Tensor::new([[3.0, 4.0]], &device));
/// let loss = CosineEmbeddingLoss::default();
/// assert_eq!(loss.forward(&a, &b, &Tensor::new([1], &device)).to_string(), "tensor(0.4000)");
/// assert_eq!(loss.forward(&a, &b, &Tensor::new([-1], &device)).to_string(), "tensor(0.6000)");
/// ```
#[derive(Debug, Clone, Default)]
pub struct CosineEmbeddingLoss {
    /// The cosine that the unlike may have (0).
    pub margin: f64,
    /// What becomes of the pairs' losses.
    pub reduction: Reduction,
}

impl CosineEmbeddingLoss {
    forward! {
        /// The loss of pairs (N, D) or (D) against 1 or −1 of shape (N) or ().
        (&self, first: &Tensor, second: &Tensor, target: &Tensor) {
            let product = |a: &Tensor, b: &Tensor| a.try_mul(b)?.try_sum(-1);
            // PyTorch's guard against vectors of length 0.
            let size = |x: &Tensor| product(x, x)?.try_add(1e-12);
            let sizes = size(first)?.try_mul(&size(second)?)?.try_sqrt()?;
            let cosine = product(first, second)?.try_div(&sizes)?;
            let alike = target.try_eq(1)?.try_where_cond(&cosine.try_rsub(1.0)?, 0.0)?;
            let excess = cosine.try_sub(self.margin)?.try_clamp_min(0.0)?;
            let unlike = target.try_eq(-1)?.try_where_cond(&excess, 0.0)?;
            self.reduction.apply(&alike.try_add(&unlike)?)
        }
    }
}
