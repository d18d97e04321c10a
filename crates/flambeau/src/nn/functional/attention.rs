//! Attention: softmax of scores, with masks, dropout and shared heads, and the weighted sum.

use crate::autograd::Autocast;
use crate::error::{Error, Result};
use crate::op::attention::{self, Dropout, Terms};
use crate::rng::Generator;
use crate::shape::Shape;
use crate::tensor::{Tensor, twins};

/// The function's name in errors.
const OP: &str = "scaled_dot_product_attention";

/// Options of [`Tensor::scaled_dot_product_attention`].
#[derive(Debug, Clone, Default)]
pub struct AttentionOptions {
    /// Broadcast to the scores (…, L, S). Booleans: which keys take part. Numbers: what is added to the scores.
    pub mask: Option<Tensor>,
    /// Query i sees keys 0 to i only. With a mask, both say which keys take part.
    pub causal: bool,
    /// The probability with which a weight is dropped (0), and where the random numbers come from.
    pub dropout: Option<(f64, Generator)>,
    /// What scores are multiplied by; 1/√E if absent.
    pub scale: Option<f64>,
    /// May queries (…, H, L, E) have more heads than keys and values (…, G, S, E)? Head h then looks at head h / (H / G) of
    /// these: grouped-query attention.
    pub enable_gqa: bool,
}

impl Tensor {
    twins! {
        /// softmax(Q Kᵀ · scale + mask) V for queries (…, L, E), keys (…, S, E) and values (…, S, V).
        ///
        /// Its memory is linear in L and S, forward and backward: scores are computed in blocks and never kept, a mask is
        /// read where it lies (one of keys, (B, 1, 1, S), is not repeated), and the weights that dropout drops are drawn
        /// again in backward. Only F64, derivatives of derivatives and the gradient of a mask of numbers take memory for
        /// all scores (…, L, S).
        ///
        /// A query that sees no key gives NaN, as in PyTorch 1.13.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::nn::functional::AttentionOptions;
        /// let device = Device::cpu();
        /// let q = Tensor::zeros([2, 4], &device);
        /// let v = Tensor::new([[1.0], [3.0]], &device);
        /// let causal = AttentionOptions { causal: true, ..Default::default() };
        /// let y = q.scaled_dot_product_attention(&q, &v, &causal);
        /// assert_eq!(y.to_string(), "tensor([[1.],\n        [2.]])");
        /// // Key 0 is padding.
        /// let mask = Some(Tensor::new([[false, true]], &device));
        /// let padded = AttentionOptions { mask, ..Default::default() };
        /// let y = q.scaled_dot_product_attention(&q, &v, &padded);
        /// assert_eq!(y.to_string(), "tensor([[3.],\n        [3.]])");
        /// // Four heads of queries, two of keys and values.
        /// let (q, k) = (Tensor::ones([1, 4, 5, 8], &device), Tensor::ones([1, 2, 6, 8], &device));
        /// let grouped = AttentionOptions { enable_gqa: true, ..Default::default() };
        /// assert_eq!(q.scaled_dot_product_attention(&k, &k, &grouped).shape().dims(), [1, 4, 5, 8]);
        /// ```
        scaled_dot_product_attention / try_scaled_dot_product_attention(
            &self, key: &Tensor, value: &Tensor, options: &AttentionOptions,
        ) -> Tensor {
            let entered = Autocast::Lower.enter([self, key, value])?;
            let [query, key, value] = entered.inputs([self, key, value]);
            let operands = Operands::new(query, key, value, options.enable_gqa)?;
            let (terms, dropped) = operands.terms(options)?;
            let Operands { query, key, value } = &operands;
            let sums = attention::attend(query, key, value, &terms)?;
            if dropped { sums.try_mul(0.0) } else { Ok(sums) }
        }
    }
}

/// How much queries (B, heads, L, E) look at keys (B, heads, S, E): (B, heads, L, S).
#[track_caller]
pub(in crate::nn) fn attention_weights(
    query: &Tensor,
    key: &Tensor,
    options: &AttentionOptions,
) -> Result<Tensor> {
    let operands = Operands::new(query, key, key, false)?;
    let (terms, dropped) = operands.terms(options)?;
    let weights = attention::weights(&operands.query, &operands.key, &terms)?;
    if dropped { weights.try_mul(0.0) } else { Ok(weights) }
}

/// Queries, keys and values of which all but the last two dimensions agree; before these, heads of queries may be a multiple
/// of those of keys and values.
struct Operands {
    query: Tensor,
    key: Tensor,
    value: Tensor,
}

impl Operands {
    #[track_caller]
    fn new(query: &Tensor, key: &Tensor, value: &Tensor, shared: bool) -> Result<Operands> {
        let all = [query, key, value];
        let refused = || {
            let [q, k, v] = all.map(Tensor::shape);
            let expected = match shared {
                true => "(…, H, L, E), (…, G, S, E) and (…, G, S, V), with H a multiple of G, are expected",
                false => "(…, L, E), (…, S, E) and (…, S, V) are expected",
            };
            Error::shape(OP, format!("queries {q}, keys {k} and values {v}; {expected}"))
        };
        // Dimensions at the end that need not agree among all.
        let own = if shared { 3 } else { 2 };
        if all.iter().any(|x| x.rank() < own)
            || query.size(-1) != key.size(-1)
            || key.size(-2) != value.size(-2)
        {
            return Err(refused());
        }
        if shared {
            let [heads, of_keys, of_values] = all.map(|x| x.size(-3));
            if of_keys != of_values || of_keys == 0 || heads % of_keys != 0 {
                return Err(refused());
            }
        }
        let outer = |x: &Tensor| Shape::new(&x.shape()[..x.rank() - own]);
        let outers = all.map(outer);
        let common = outers[0].broadcast(&outers[1]).and_then(|shape| shape.broadcast(&outers[2]));
        let common = common.ok_or_else(refused)?;
        let expanded = |x: &Tensor| match outer(x) == common {
            true => Ok(x.clone()),
            false => {
                let inner = &x.shape()[x.rank() - own..];
                x.try_expand(common.iter().chain(inner).copied().collect::<Shape>())
            }
        };
        Ok(Operands { query: expanded(query)?, key: expanded(key)?, value: expanded(value)? })
    }

    /// What the options say, and whether all weights are dropped.
    #[track_caller]
    fn terms(&self, options: &AttentionOptions) -> Result<(Terms, bool)> {
        let rank = self.query.rank();
        let scores = self.query.shape().with(rank - 1, self.key.size(-2));
        if let Some(mask) = &options.mask
            && mask.shape().broadcast(&scores).as_ref() != Some(&scores)
        {
            let message = format!("a mask {} does not broadcast to scores {scores}", mask.shape());
            return Err(Error::shape(OP, message));
        }
        let scale = options.scale.unwrap_or(1.0 / (self.query.size(-1) as f64).sqrt());
        let mut terms = Terms { scale, causal: options.causal, mask: options.mask.clone(), dropout: None };
        let Some((p, generator)) = &options.dropout else { return Ok((terms, false)) };
        if !(0.0..=1.0).contains(p) {
            return Err(Error::argument(OP, format!("a probability of {p} is outside 0..=1")));
        }
        if *p > 0.0 && *p < 1.0 && scores.numel() > 0 {
            terms.dropout = Some(Dropout { share: 1.0 - p, draw: generator.reserve(scores.numel() as u64) });
        }
        Ok((terms, *p == 1.0))
    }
}
