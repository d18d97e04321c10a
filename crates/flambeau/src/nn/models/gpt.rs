//! A transformer that continues text, with the architecture of GPT-2 and the names of GPT-2 and nanoGPT.

use super::cache::KvCache;
use crate::autograd::no_grad;
use crate::error::{Error, Result, expect};
use crate::nn::functional::AttentionOptions;
use crate::nn::layers::check_layers;
use crate::nn::{
    Dropout, Embedding, Forward, LayerNorm, LayerNormOptions, Linear, LinearOptions, Mode, Module, Stage,
    init,
};
use crate::rng::Generator;
use crate::settings::Settings;
use crate::shape::product;
use crate::tensor::{Tensor, TensorOptions, eval};

/// The settings of [`Gpt`].
#[derive(Debug, Clone, Copy, PartialEq, Settings)]
pub struct GptConfig {
    /// Different tokens.
    pub vocabulary: usize,
    /// Tokens that it can look back on.
    pub context: usize,
    /// Layers.
    pub layers: usize,
    /// Heads of each layer's attention.
    pub heads: usize,
    /// Features of a token.
    pub width: usize,
    /// The probability of dropout, everywhere.
    pub dropout: f64,
    /// Have linear layers and norms biases?
    pub bias: bool,
    /// Is the table of embeddings also the last layer's weight?
    pub tied: bool,
}

impl Default for GptConfig {
    /// The small GPT-2: 124 million parameters.
    fn default() -> Self {
        GptConfig {
            vocabulary: 50257,
            context: 1024,
            layers: 12,
            heads: 12,
            width: 768,
            dropout: 0.0,
            bias: true,
            tied: true,
        }
    }
}

/// A GPT: from tokens (B, T) to the scores (B, T, vocabulary) of the token after each.
///
/// Parts are named as in nanoGPT: `transformer.wte`, `transformer.wpe`, `transformer.h.0.ln_1`, `.attn.c_attn`,
/// `.attn.c_proj`, `.ln_2`, `.mlp.c_fc`, `.mlp.c_proj`, `transformer.ln_f`, `lm_head`; weights are (out, in). Matrices
/// begin in N(0, 0.02²), those before a sum divided by √(2 · layers), biases at 0.
///
/// ```
/// use flambeau::{nn::models::{Gpt, GptConfig}, prelude::*};
/// let device = Device::cpu();
/// let config = GptConfig { vocabulary: 65, context: 16, layers: 2, heads: 2, width: 8, ..Default::default() };
/// let gpt = Gpt::new(config, &device);
/// let tokens = Tensor::new([[1, 2, 3]], &device);
/// assert_eq!(gpt.forward(&tokens).shape().dims(), [1, 3, 65]);
/// let text = gpt.generate(&tokens, 5, &Default::default());
/// assert_eq!(text.shape().dims(), [1, 8]);
/// ```
#[derive(Module)]
pub struct Gpt {
    transformer: Trunk,
    lm_head: Linear,
    #[module(skip)]
    config: GptConfig,
}

/// Everything but the last layer.
#[derive(Module)]
struct Trunk {
    wte: Embedding,
    wpe: Embedding,
    drop: Dropout,
    h: Vec<Block>,
    ln_f: LayerNorm,
}

#[derive(Module)]
struct Block {
    ln_1: LayerNorm,
    attn: CausalSelfAttention,
    ln_2: LayerNorm,
    mlp: FeedForward,
}

#[derive(Module)]
struct CausalSelfAttention {
    c_attn: Linear,
    c_proj: Linear,
    resid_dropout: Dropout,
    mode: Mode,
    heads: usize,
    dropout: f64,
}

#[derive(Module)]
struct FeedForward {
    c_fc: Linear,
    c_proj: Linear,
    dropout: Dropout,
}

impl GptConfig {
    fn check(&self) -> Result<()> {
        if self.heads == 0 || self.width == 0 || !self.width.is_multiple_of(self.heads) {
            let message = format!("{} features cannot be shared among {} heads", self.width, self.heads);
            return Err(Error::argument("Gpt", message));
        }
        if self.vocabulary == 0 || self.context == 0 {
            return Err(Error::argument("Gpt", "vocabulary and context must be above 0"));
        }
        check_layers("Gpt", self.layers)
    }

    /// A linear layer; `shrink` divides the standard deviation of its first weights.
    fn linear(&self, inputs: usize, outputs: usize, shrink: f64, options: &TensorOptions) -> Result<Linear> {
        let layer = Linear::try_with_options(inputs, outputs, LinearOptions { bias: self.bias }, options)?;
        init::normal(&layer.weight, 0.0, 0.02 / shrink, None)?;
        layer.bias.iter().try_for_each(init::zeros)?;
        Ok(layer)
    }

    fn embedding(&self, rows: usize, options: &TensorOptions) -> Result<Embedding> {
        let embedding = Embedding::try_with_options(rows, self.width, Default::default(), options)?;
        init::normal(&embedding.weight, 0.0, 0.02, None)?;
        Ok(embedding)
    }

    fn norm(&self, options: &TensorOptions) -> Result<LayerNorm> {
        let layer = LayerNormOptions { bias: self.bias, ..Default::default() };
        LayerNorm::try_with_options(self.width, layer, options)
    }

    fn block(&self, options: &TensorOptions) -> Result<Block> {
        let (width, wide) = (self.width, product([4, self.width]));
        let shrink = (2.0 * self.layers as f64).sqrt();
        Ok(Block {
            ln_1: self.norm(options)?,
            attn: CausalSelfAttention {
                c_attn: self.linear(width, product([3, width]), 1.0, options)?,
                c_proj: self.linear(width, width, shrink, options)?,
                resid_dropout: Dropout::new(self.dropout),
                mode: Mode::default(),
                heads: self.heads,
                dropout: self.dropout,
            },
            ln_2: self.norm(options)?,
            mlp: FeedForward {
                c_fc: self.linear(width, wide, 1.0, options)?,
                c_proj: self.linear(wide, width, shrink, options)?,
                dropout: Dropout::new(self.dropout),
            },
        })
    }
}

impl Gpt {
    /// With these settings.
    #[track_caller]
    pub fn new(config: GptConfig, options: impl Into<TensorOptions>) -> Gpt {
        expect(Gpt::try_new(config, options))
    }

    /// [`new`](Gpt::new), or the error instead of a panic.
    pub fn try_new(config: GptConfig, options: impl Into<TensorOptions>) -> Result<Gpt> {
        config.check()?;
        let options = options.into();
        let transformer = Trunk {
            wte: config.embedding(config.vocabulary, &options)?,
            wpe: config.embedding(config.context, &options)?,
            drop: Dropout::new(config.dropout),
            h: (0..config.layers).map(|_| config.block(&options)).collect::<Result<_>>()?,
            ln_f: config.norm(&options)?,
        };
        let weight = match config.tied {
            true => transformer.wte.weight.clone(),
            false => config.embedding(config.vocabulary, &options)?.weight,
        };
        Ok(Gpt { transformer, lm_head: Linear { weight, bias: None }, config })
    }

    /// Its settings.
    pub fn config(&self) -> &GptConfig {
        &self.config
    }

    /// An empty cache for `batch` sequences.
    #[track_caller]
    pub fn cache(&self, batch: usize) -> KvCache {
        expect(self.try_cache(batch))
    }

    /// [`cache`](Gpt::cache), or the error instead of a panic.
    #[track_caller]
    pub fn try_cache(&self, batch: usize) -> Result<KvCache> {
        let GptConfig { layers, heads, width, context, .. } = self.config;
        let weight = &self.transformer.wte.weight;
        let options = (weight.dtype(), &weight.device());
        let zeros = Tensor::try_full([batch, heads, context, width / heads], 0.0, options)?;
        Ok(KvCache::new(layers, &zeros))
    }

    /// The scores of the token after each of these tokens (B, T), which follow those in the cache and are added to it:
    /// (B, T, vocabulary). No gradients, no dropout; scores and cache are evaluated.
    ///
    /// ```
    /// use flambeau::{nn::models::{Gpt, GptConfig}, prelude::*};
    /// let device = Device::cpu();
    /// let config = GptConfig { vocabulary: 9, context: 8, layers: 1, heads: 2, width: 4, ..Default::default() };
    /// let gpt = Gpt::new(config, &device);
    /// let mut cache = gpt.cache(1);
    /// gpt.forward_cached(&Tensor::new([[1, 2, 3]], &device), &mut cache);
    /// let scores = gpt.forward_cached(&Tensor::new([[4]], &device), &mut cache);
    /// assert_eq!((scores.shape().dims(), cache.len()), ([1, 1, 9].as_slice(), 4));
    /// ```
    #[track_caller]
    pub fn forward_cached(&self, tokens: &Tensor, cache: &mut KvCache) -> Tensor {
        expect(self.try_forward_cached(tokens, cache))
    }

    /// [`forward_cached`](Gpt::forward_cached), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward_cached(&self, tokens: &Tensor, cache: &mut KvCache) -> Result<Tensor> {
        let scores = self.continued(tokens, cache)?;
        let roots: Vec<&Tensor> = cache.tensors().chain([&scores]).collect();
        eval(&roots)?;
        Ok(scores)
    }

    /// [`forward_cached`](Gpt::forward_cached) without evaluating anything.
    pub(super) fn continued(&self, tokens: &Tensor, cache: &mut KvCache) -> Result<Tensor> {
        no_grad(|| {
            let &[batch, count] = tokens.shape().dims() else { return Err(refused(tokens)) };
            cache.check(self.config.layers, batch, count)?;
            let mut next = cache.clone();
            let scores = self.scores(tokens, Some(&mut next))?;
            next.advance(count);
            *cache = next;
            Ok(scores)
        })
    }

    /// The embeddings of tokens (B, T) at places from `start` on.
    fn placed(&self, tokens: &Tensor, start: usize) -> Result<Tensor> {
        let Trunk { wte, wpe, .. } = &self.transformer;
        let &[_, count] = tokens.shape().dims() else { return Err(refused(tokens)) };
        if start + count > self.config.context {
            let message =
                format!("{count} tokens after {start} are beyond a context of {}", self.config.context);
            return Err(Error::argument("Gpt", message));
        }
        wte.try_forward(tokens)?.try_add(wpe.weight.get().try_narrow(0, start, count)?)
    }

    /// The same after dropout.
    fn embedded(&self, tokens: &Tensor, start: usize) -> Result<Tensor> {
        self.transformer.drop.try_forward(&self.placed(tokens, start)?)
    }

    fn scores(&self, tokens: &Tensor, mut cache: Option<&mut KvCache>) -> Result<Tensor> {
        let Trunk { h, ln_f, .. } = &self.transformer;
        let start = cache.as_ref().map_or(0, |cache| cache.len());
        let mut x = match cache {
            None => self.embedded(tokens, start)?,
            Some(_) => self.placed(tokens, start)?,
        };
        for (layer, block) in h.iter().enumerate() {
            x = block.forward(&x, cache.as_deref_mut().map(|cache| (layer, cache)))?;
        }
        self.lm_head.try_forward(&ln_f.try_forward(&x)?)
    }
}

fn refused(tokens: &Tensor) -> Error {
    Error::shape("Gpt", format!("tokens {}; (B, T) is expected", tokens.shape()))
}

impl Forward for Gpt {
    /// The embeddings, each block, and the last norm with the scores.
    fn stages(&self) -> Vec<Stage<'_>> {
        let Trunk { wte, wpe, h, ln_f, .. } = &self.transformer;
        let embedding = Stage::new(&[wte, wpe], |tokens| self.embedded(tokens, 0));
        let blocks = h.iter().map(|block| Stage::new(&[block], |x| block.forward(x, None)));
        let scores = Stage::new(&[ln_f, &self.lm_head], |x| self.lm_head.try_forward(&ln_f.try_forward(x)?));
        std::iter::once(embedding).chain(blocks).chain([scores]).collect()
    }

    #[track_caller]
    fn try_forward(&self, tokens: &Tensor) -> Result<Tensor> {
        self.scores(tokens, None)
    }
}

impl Block {
    /// `cache` is the layer's number with the cache of all layers.
    fn forward(&self, x: &Tensor, cache: Option<(usize, &mut KvCache)>) -> Result<Tensor> {
        let cached = cache.is_some();
        let x = x.try_add(self.attn.forward(&self.ln_1.try_forward(x)?, cache)?)?;
        let hidden = self.mlp.c_fc.try_forward(&self.ln_2.try_forward(&x)?)?.try_gelu_tanh()?;
        let y = self.mlp.c_proj.try_forward(&hidden)?;
        x.try_add(if cached { y } else { self.mlp.dropout.try_forward(&y)? })
    }
}

impl CausalSelfAttention {
    fn forward(&self, x: &Tensor, cache: Option<(usize, &mut KvCache)>) -> Result<Tensor> {
        let &[batch, count, width] = x.shape().dims() else { return Err(refused(x)) };
        let joined = self.c_attn.try_forward(x)?;
        let cut = joined.try_reshape([batch, count, 3, self.heads, width / self.heads])?;
        // (3, B, heads, T, d).
        let cut = cut.try_permute(&[2, 0, 3, 1, 4])?;
        let (query, key, value) = (cut.try_select(0, 0)?, cut.try_select(0, 1)?, cut.try_select(0, 2)?);
        let cached = cache.is_some();
        let attended = match cache {
            None => {
                let dropping = self.dropout > 0.0 && self.mode.is_training();
                let dropout = dropping.then(|| (self.dropout, Generator::default_generator()));
                let options = AttentionOptions { causal: true, dropout, ..Default::default() };
                query.try_scaled_dot_product_attention(&key, &value, &options)?
            }
            Some((layer, cache)) => {
                // Token i of these is number start + i: it sees as many places, and itself.
                let places = [count, cache.context()].into();
                let ahead = x.iota_of(&places, 1)?.try_sub(x.iota_of(&places, 0)?)?;
                let mask = Some(ahead.try_le(cache.len() as i64)?);
                let (keys, values) = cache.extend(layer, &key, &value)?;
                let options = AttentionOptions { mask, ..Default::default() };
                query.try_scaled_dot_product_attention(&keys, &values, &options)?
            }
        };
        let attended = attended.try_transpose(1, 2)?.try_flatten(2, 3)?;
        let projected = self.c_proj.try_forward(&attended)?;
        if cached { Ok(projected) } else { self.resid_dropout.try_forward(&projected) }
    }
}
