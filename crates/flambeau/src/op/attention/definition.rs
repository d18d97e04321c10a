//! What attention computes, with tensor ops: scores, mask, softmax, dropout, weighted sum, and their gradients. They hold all
//! scores. What has no kernels comes here: other dtypes, empty tensors, derivatives of derivatives, the gradient of a mask.

use crate::dtype::DType;
use crate::error::Result;
use crate::op::{Grads, Tensor};
use crate::rng::Draw;
use crate::shape::Shape;

/// What attention is told beside queries, keys and values.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// What scores are multiplied by.
    pub scale: f64,
    /// Query i sees keys 0 to i only.
    pub causal: bool,
    /// Broadcast to the scores. Booleans: which keys are seen. Numbers: what is added.
    pub mask: Option<Tensor>,
    pub dropout: Option<Dropout>,
}

/// Which weights are dropped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dropout {
    /// The probability with which a weight is kept, between 0 and 1. It is divided by it then.
    pub share: f64,
    /// A number for every weight (…, L, S), in their order.
    pub draw: Draw,
}

impl Dropout {
    /// The weights that are kept, divided by their share; 0 for the others.
    fn apply(&self, weights: &Tensor) -> Result<Tensor> {
        let kept = Tensor::drawn_bernoulli(self.draw, self.share, weights.shape(), weights.device())?;
        kept.try_where_cond(&weights.try_mul(1.0 / self.share)?, 0.0)
    }
}

/// The softmax of the scores of queries (…, L, E) against keys (…, S, E): −∞ where a query does not see a key.
#[track_caller]
fn probabilities(query: &Tensor, key: &Tensor, terms: &Terms) -> Result<Tensor> {
    let mut scores = query.try_mul(terms.scale)?.try_matmul(&key.try_transpose(-2, -1)?)?;
    if terms.causal {
        let (rows, columns) = (scores.rank() - 2, scores.rank() - 1);
        let row = scores.iota_of(scores.shape(), rows)?;
        let sees = scores.iota_of(scores.shape(), columns)?.try_le(&row)?;
        scores = sees.try_where_cond(&scores, f64::NEG_INFINITY)?;
    }
    if let Some(mask) = &terms.mask {
        scores = match mask.dtype() {
            DType::Bool => mask.try_where_cond(&scores, f64::NEG_INFINITY)?,
            _ => scores.try_add(mask)?,
        };
    }
    scores.try_softmax(-1)
}

/// How much each query (…, L, E) looks at each key (…, S, E): (…, L, S).
#[track_caller]
pub(crate) fn weights(query: &Tensor, key: &Tensor, terms: &Terms) -> Result<Tensor> {
    let weights = probabilities(query, key, terms)?;
    terms.dropout.map_or_else(|| Ok(weights.clone()), |dropout| dropout.apply(&weights))
}

/// What queries (…, H, L, E) make of keys (…, G, S, E) and their values (…, G, S, V).
#[track_caller]
pub(super) fn attend(query: &Tensor, key: &Tensor, value: &Tensor, terms: &Terms) -> Result<Tensor> {
    weights(query, &repeated(key, query)?, terms)?.try_matmul(&repeated(value, query)?)
}

/// Each head of (…, G, S, E) as often as heads of the queries (…, H, L, E) share it: (…, H, S, E).
#[track_caller]
fn repeated(x: &Tensor, query: &Tensor) -> Result<Tensor> {
    let rank = x.rank();
    if rank < 3 || query.size(-3) == x.size(-3) {
        return Ok(x.clone());
    }
    let apart = x.try_unsqueeze(-3)?;
    let members = apart.shape().with(rank - 2, query.size(-3) / x.size(-3));
    apart.try_expand(members)?.try_reshape(x.shape().with(rank - 3, query.size(-3)))
}

/// The sum over the heads (B, H, S, E) that share one of `like`, (B, G, S, E).
#[track_caller]
fn shared(x: &Tensor, like: &Tensor) -> Result<Tensor> {
    let &[batches, heads, rows, width] = like.shape().dims() else { return Ok(x.clone()) };
    match x.size(1) == heads {
        true => Ok(x.clone()),
        false => x.try_reshape([batches, heads, x.size(1) / heads, rows, width])?.try_sum(2),
    }
}

/// The gradients of queries (B, H, L, E), keys (B, G, S, E) and values (B, G, S, V), and of the mask if it has numbers.
#[track_caller]
pub(super) fn gradients(inputs: &[Tensor], gradient: &Tensor, terms: &Terms) -> Result<Grads> {
    let [query, key, value] = inputs else { unreachable!("attention has three inputs before its mask") };
    let (keys, values) = (repeated(key, query)?, repeated(value, query)?);
    let weights = probabilities(query, &keys, terms)?;
    let mut by_weight = gradient.try_matmul(&values.try_transpose(-2, -1)?)?;
    let mut kept = weights.clone();
    if let Some(dropout) = &terms.dropout {
        (by_weight, kept) = (dropout.apply(&by_weight)?, dropout.apply(&weights)?);
    }
    let mean = by_weight.try_mul(&weights)?.try_sum_keepdim(-1)?;
    let by_score = weights.try_mul(&by_weight.try_sub(&mean)?)?;
    let scaled = by_score.try_mul(terms.scale)?;
    let mut gradients = vec![
        Some(scaled.try_matmul(&keys)?),
        Some(shared(&scaled.try_transpose(-2, -1)?.try_matmul(query)?, key)?),
        Some(shared(&kept.try_transpose(-2, -1)?.try_matmul(gradient)?, value)?),
    ];
    if let Some(mask) = &terms.mask {
        let by_mask = || by_score.try_to_dtype(mask.dtype()).and_then(|all| summed_to(&all, mask.shape()));
        gradients.push(mask.dtype().is_float().then(by_mask).transpose()?);
    }
    Ok(gradients)
}

/// The sum over the dimensions in which a shape of as many has size 1.
#[track_caller]
fn summed_to(x: &Tensor, shape: &Shape) -> Result<Tensor> {
    let mut sum = x.clone();
    for (dim, &size) in shape.iter().enumerate() {
        if size == 1 && x.shape()[dim] != 1 {
            sum = sum.try_sum_keepdim(dim as isize)?;
        }
    }
    Ok(sum)
}
