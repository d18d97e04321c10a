//! Distances and angles between vectors.

use super::forward_of_two;
use crate::error::Result;
use crate::nn::Module;
use crate::settings::Settings;
use crate::tensor::Tensor;

/// x · y / (|x| |y|) along a dimension, which is taken out; lengths count as at least ε.
///
/// ```
/// use flambeau::{nn::CosineSimilarity, prelude::*};
/// let (x, y) = (Tensor::new([[1.0, 0.0]], &Device::cpu()), Tensor::new([[3.0, 4.0]], &Device::cpu()));
/// assert_eq!(CosineSimilarity::default().forward(&x, &y).to_string(), "tensor([0.6000])");
/// ```
#[derive(Module, Debug, Clone, Copy, PartialEq, Settings)]
pub struct CosineSimilarity {
    /// The vectors' dimension.
    pub dim: isize,
    /// ε.
    pub eps: f64,
}

impl Default for CosineSimilarity {
    fn default() -> Self {
        CosineSimilarity { dim: 1, eps: 1e-8 }
    }
}

impl CosineSimilarity {
    forward_of_two! { (self, first, second) first.try_cosine_similarity(second, self.dim, self.eps) }
}

/// The p-norm of x − y + ε over the last dimension, which is taken out.
///
/// ```
/// use flambeau::{nn::PairwiseDistance, prelude::*};
/// let (x, y) = (Tensor::new([[3.0, 0.0]], &Device::cpu()), Tensor::new([[0.0, 4.0]], &Device::cpu()));
/// assert_eq!(PairwiseDistance::default().forward(&x, &y).to_string(), "tensor([5.])");
/// ```
#[derive(Module, Debug, Clone, Copy, PartialEq, Settings)]
pub struct PairwiseDistance {
    /// p.
    pub p: f64,
    /// ε.
    pub eps: f64,
    /// Does the last dimension stay, with size 1?
    pub keepdim: bool,
}

impl Default for PairwiseDistance {
    fn default() -> Self {
        PairwiseDistance { p: 2.0, eps: 1e-6, keepdim: false }
    }
}

impl PairwiseDistance {
    forward_of_two! {
        (self, first, second)
        {
            let distance = first.try_pairwise_distance(second, self.p, self.eps)?;
            if self.keepdim { distance.try_unsqueeze(-1) } else { Ok(distance) }
        }
    }
}
