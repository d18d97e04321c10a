//! Continuing text with a [`Gpt`], token by token. Tokens are drawn on the device: nothing waits for it.

use super::cache::KvCache;
use super::gpt::Gpt;
use crate::autograd::no_grad;
use crate::error::{Error, Result, expect};
use crate::rng::Generator;
use crate::tensor::{Tensor, eval};

/// How the next token is chosen.
#[derive(Debug, Clone)]
pub struct SampleOptions {
    /// Scores are divided by it: below 1 the likely tokens become likelier. 0 takes the likeliest.
    pub temperature: f64,
    /// Only so many of the likeliest tokens are considered.
    pub top_k: Option<usize>,
    /// Where chance comes from.
    pub generator: Generator,
}

impl Default for SampleOptions {
    /// Temperature 1, all tokens, the default generator.
    fn default() -> Self {
        SampleOptions { temperature: 1.0, top_k: None, generator: Generator::default_generator() }
    }
}

impl SampleOptions {
    /// One token for each row of scores (B, vocabulary): (B, 1), I32.
    fn choose(&self, scores: &Tensor) -> Result<Tensor> {
        if self.temperature.is_nan() || self.temperature < 0.0 {
            let message = format!("temperature {} must not be negative", self.temperature);
            return Err(Error::argument("SampleOptions", message));
        }
        if self.temperature == 0.0 {
            return scores.try_argmax_keepdim(-1);
        }
        let mut scores = scores.try_div(self.temperature)?;
        match self.top_k {
            Some(0) => return Err(Error::argument("SampleOptions", "top_k must be above 0")),
            Some(k) if k < scores.size(-1) => {
                let (best, _) = scores.try_topk(k, -1, true, true)?;
                let least = best.try_narrow(-1, k - 1, 1)?;
                scores = scores.try_lt(&least)?.try_where_cond(f64::NEG_INFINITY, &scores)?;
            }
            _ => {}
        }
        // The largest of scores with Gumbel noise: token i with probability softmax(scores)[i].
        let uniform = scores.try_rand_like(&self.generator)?;
        let noise = uniform.try_log()?.try_neg()?.try_log()?;
        scores.try_sub(&noise)?.try_argmax_keepdim(-1)
    }
}

impl Gpt {
    /// The token (B, 1) that follows those in the cache and `tokens` (B, T), which are added to it. Evaluated, not read:
    /// it can be given back as it is.
    ///
    /// ```
    /// use flambeau::{nn::models::{Gpt, GptConfig, SampleOptions}, prelude::*};
    /// let device = Device::cpu();
    /// let config = GptConfig { vocabulary: 9, context: 8, layers: 1, heads: 2, width: 4, ..Default::default() };
    /// let gpt = Gpt::new(config, &device);
    /// let options = SampleOptions { generator: Generator::new(1), top_k: Some(3), ..Default::default() };
    /// let (mut cache, mut token) = (gpt.cache(1), Tensor::new([[1, 2, 3]], &device));
    /// for _ in 0..4 {
    ///     token = gpt.next_token(&token, &mut cache, &options);
    ///     assert!(token.item_blocking()? < 9.0);
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn next_token(&self, tokens: &Tensor, cache: &mut KvCache, options: &SampleOptions) -> Tensor {
        expect(self.try_next_token(tokens, cache, options))
    }

    /// [`next_token`](Gpt::next_token), or the error instead of a panic.
    #[track_caller]
    pub fn try_next_token(
        &self,
        tokens: &Tensor,
        cache: &mut KvCache,
        options: &SampleOptions,
    ) -> Result<Tensor> {
        let scores = self.continued(tokens, cache)?;
        let token = no_grad(|| options.choose(&scores.try_select(1, -1)?))?;
        drop(scores);
        let roots: Vec<&Tensor> = cache.tensors().chain([&token]).collect();
        eval(&roots)?;
        Ok(token)
    }

    /// `tokens` (B, T) and `count` tokens that follow: (B, T + count). The context must have room for them.
    #[track_caller]
    pub fn generate(&self, tokens: &Tensor, count: usize, options: &SampleOptions) -> Tensor {
        expect(self.try_generate(tokens, count, options))
    }

    /// [`generate`](Gpt::generate), or the error instead of a panic.
    #[track_caller]
    pub fn try_generate(&self, tokens: &Tensor, count: usize, options: &SampleOptions) -> Result<Tensor> {
        let mut cache = self.try_cache(tokens.shape().first().copied().unwrap_or(0))?;
        let mut text = vec![tokens.clone()];
        let mut token = tokens.clone();
        for _ in 0..count {
            token = self.try_next_token(&token, &mut cache, options)?;
            text.push(token.clone());
        }
        Tensor::try_cat(&text, 1)
    }
}
