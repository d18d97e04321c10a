//! Attention: with kernels of its own where nothing stands in the way, else as a composite: scores, mask, softmax,
//! dropout, weighted sum.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::attention;
use crate::rng::Generator;
use crate::tensor::{Tensor, twins};

/// Options of [`Tensor::scaled_dot_product_attention`].
#[derive(Debug, Clone, Default)]
pub struct AttentionOptions {
    /// Broadcast to (…, L, S). Booleans: which keys take part. Numbers: what is added to the scores.
    pub mask: Option<Tensor>,
    /// Query i sees keys 0 to i only. Not together with a mask.
    pub causal: bool,
    /// The probability with which a weight is dropped (0), and where the random numbers come from.
    pub dropout: Option<(f64, Generator)>,
    /// What scores are multiplied by; 1/√E if absent.
    pub scale: Option<f64>,
}

impl Tensor {
    twins! {
        /// softmax(Q Kᵀ · scale + mask) V for queries (…, L, E), keys (…, S, E) and values (…, S, V).
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
        /// ```
        scaled_dot_product_attention / try_scaled_dot_product_attention(
            &self, key: &Tensor, value: &Tensor, options: &AttentionOptions,
        ) -> Tensor {
            const OP: &str = "scaled_dot_product_attention";
            let matrices = self.rank() >= 2 && key.rank() >= 2 && value.rank() >= 2;
            if !matrices || self.size(-1) != key.size(-1) || key.size(-2) != value.size(-2) {
                let message = format!(
                    "queries {}, keys {} and values {}; (…, L, E), (…, S, E) and (…, S, V) are expected",
                    self.shape(), key.shape(), value.shape());
                return Err(Error::shape(OP, message));
            }
            if options.causal && options.mask.is_some() {
                return Err(Error::argument(OP, "a mask and causal cannot be given together"));
            }
            let scale = options.scale.unwrap_or(1.0 / (self.size(-1) as f64).sqrt());
            if options.mask.is_none() && options.dropout.is_none() && attention::applies(self, key, value) {
                return attention::attend(self, key, value, scale, options.causal);
            }
            let mut scores = attention::scores(self, key, scale, options.causal)?;
            if let Some(mask) = &options.mask {
                scores = match mask.dtype() {
                    DType::Bool => mask.try_where_cond(&scores, f64::NEG_INFINITY)?,
                    _ => scores.try_add(mask)?,
                };
            }
            let mut weights = scores.try_softmax(-1)?;
            if let Some((p, generator)) = &options.dropout {
                weights = weights.try_dropout(*p, generator)?;
            }
            weights.try_matmul(value)
        }
    }
}
