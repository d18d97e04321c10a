//! Multi-head attention.

use super::{Linear, LinearOptions, constructors};
use crate::autograd::Autocast;
use crate::dtype::DType;
use crate::error::{Error, Result, expect};
use crate::nn::functional::{AttentionOptions, attention_weights};
use crate::nn::{Forward, Mode, Module, Parameter, init};
use crate::rng::Generator;
use crate::settings::Settings;
use crate::shape::product;
use crate::tensor::{Tensor, TensorOptions};

/// The settings of [`MultiheadAttention`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Settings)]
pub struct MultiheadAttentionOptions {
    /// Are biases added to the projections?
    pub bias: bool,
    /// The probability with which a weight of the attention is dropped in training.
    pub dropout: f64,
    /// Features of the keys; those of the queries if absent.
    #[setting(name = "key_width")]
    pub kdim: Option<usize>,
    /// Features of the values; those of the queries if absent.
    #[setting(name = "value_width")]
    pub vdim: Option<usize>,
    /// Is the batch the first dimension of inputs and output?
    pub batch_first: bool,
    /// Is a learned key, with its value, put behind those given?
    #[setting(skip)]
    pub add_bias_kv: bool,
    /// Is a key of zeros, with a value of zeros, put behind those given?
    #[setting(skip)]
    pub add_zero_attn: bool,
}

impl Default for MultiheadAttentionOptions {
    fn default() -> Self {
        MultiheadAttentionOptions {
            bias: true,
            dropout: 0.0,
            kdim: None,
            vdim: None,
            batch_first: false,
            add_bias_kv: false,
            add_zero_attn: false,
        }
    }
}

/// Who may look at what, of L queries and S keys in B sequences. As in PyTorch's layers, true means: not this one.
///
/// ```
/// use flambeau::{nn::AttentionMasks, prelude::*};
/// let padding = Tensor::new([[false, false, true]], &Device::cpu());
/// let masks = AttentionMasks { causal: true, ..AttentionMasks::padding(&padding) };
/// assert!(masks.key_padding_mask.is_some());
/// ```
#[derive(Debug, Clone, Default)]
pub struct AttentionMasks {
    /// (L, S) or (B · heads, L, S). Booleans: true where a query may not look. Numbers: added to the scores.
    pub attn_mask: Option<Tensor>,
    /// (B, S), or (S) for one sequence. Booleans: true where a key is padding. Numbers: added to the scores.
    pub key_padding_mask: Option<Tensor>,
    /// Query i sees keys 0 to i only.
    pub causal: bool,
}

impl AttentionMasks {
    /// Query i sees keys 0 to i only.
    pub fn causal() -> AttentionMasks {
        AttentionMasks { causal: true, ..Default::default() }
    }

    /// Keys that are padding (true) are not seen.
    pub fn padding(mask: &Tensor) -> AttentionMasks {
        AttentionMasks { key_padding_mask: Some(mask.clone()), ..Default::default() }
    }

    /// One mask for scores (B, heads, L, S), in the sense of scaled_dot_product_attention: true where a query looks. It is no
    /// larger than the two are: padding alone stays (B, 1, 1, S).
    fn joined(&self, scores: [usize; 4]) -> Result<Option<Tensor>> {
        let [batch, heads, queries, keys] = scores;
        let refuse = |name: &str, mask: &Tensor, wanted: String| {
            let message = format!("{name} {} must be {wanted}", mask.shape());
            Err(Error::shape("MultiheadAttention", message))
        };
        let mut masks = Vec::new();
        if let Some(mask) = &self.attn_mask {
            masks.push(match mask.shape().dims() {
                dims if dims == [queries, keys] => mask.clone(),
                dims if dims == [batch * heads, queries, keys] => mask.try_reshape(scores)?,
                _ => {
                    let wanted = format!("[{queries}, {keys}] or [{}, {queries}, {keys}]", batch * heads);
                    return refuse("attn_mask", mask, wanted);
                }
            });
        }
        if let Some(mask) = &self.key_padding_mask {
            if mask.numel() != batch * keys || mask.size(-1) != keys {
                return refuse("key_padding_mask", mask, format!("[{batch}, {keys}]"));
            }
            masks.push(mask.try_reshape([batch, 1, 1, keys])?);
        }
        let (hidden, added): (Vec<Tensor>, Vec<Tensor>) =
            masks.into_iter().partition(|mask| mask.dtype() == DType::Bool);
        let hidden = hidden.into_iter().map(Ok).reduce(|a, b| a?.try_logical_or(&b?)).transpose()?;
        let added = added.into_iter().map(Ok).reduce(|a, b| a?.try_add(&b?)).transpose()?;
        match (hidden, added) {
            (Some(hidden), Some(added)) => hidden.try_where_cond(f64::NEG_INFINITY, &added).map(Some),
            (Some(hidden), None) => hidden.try_logical_not().map(Some),
            (None, added) => Ok(added),
        }
    }
}

/// In which form attention weights are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AttentionWeights {
    /// The mean of all heads, (B, L, S).
    #[default]
    Averaged,
    /// Each head's, (B, heads, L, S).
    PerHead,
}

/// softmax(Q Kᵀ / √d) V in several heads, of d = embed / heads features each, with linear projections before and after.
///
/// Parameters are PyTorch's: `in_proj_weight` (3 · embed, embed) for Q, K, V below each other, or `q_proj_weight`,
/// `k_proj_weight`, `v_proj_weight` where keys or values have other sizes; `in_proj_bias`; `out_proj`.
///
/// ```
/// use flambeau::{nn::{AttentionMasks, MultiheadAttention}, prelude::*};
/// let attention = MultiheadAttention::new(8, 2, &Device::cpu());
/// let x = Tensor::ones([5, 3, 8], &Device::cpu());
/// let y = attention.forward(&x, &x, &x, &AttentionMasks::causal());
/// assert_eq!(y.shape().dims(), [5, 3, 8]);
/// ```
#[derive(Module)]
pub struct MultiheadAttention {
    in_proj_weight: Option<Parameter>,
    q_proj_weight: Option<Parameter>,
    k_proj_weight: Option<Parameter>,
    v_proj_weight: Option<Parameter>,
    in_proj_bias: Option<Parameter>,
    bias_k: Option<Parameter>,
    bias_v: Option<Parameter>,
    /// The projection of the joined heads.
    pub out_proj: Linear,
    mode: Mode,
    embed_dim: usize,
    num_heads: usize,
    dropout: f64,
    batch_first: bool,
    add_zero_attn: bool,
}

/// A parameter of zeros.
fn zeros(size: usize, options: &TensorOptions) -> Result<Parameter> {
    Parameter::try_new(&Tensor::try_full([size], 0.0, options)?)
}

/// A matrix in U(−b, b) with b = √(6 / (rows + columns)).
fn xavier(rows: usize, columns: usize, options: &TensorOptions) -> Result<Parameter> {
    init::uniform_parameter([rows, columns], (6.0 / (rows as f64 + columns as f64)).sqrt(), options)
}

impl MultiheadAttention {
    constructors! {
        (embed_dim: usize, num_heads: usize; layer: MultiheadAttentionOptions; options)
        MultiheadAttention::build(embed_dim, num_heads, layer, &options)
    }

    fn build(
        embed_dim: usize,
        num_heads: usize,
        layer: MultiheadAttentionOptions,
        options: &TensorOptions,
    ) -> Result<MultiheadAttention> {
        if num_heads == 0 || embed_dim == 0 || !embed_dim.is_multiple_of(num_heads) {
            let message = format!("{embed_dim} features cannot be shared among {num_heads} heads");
            return Err(Error::argument("MultiheadAttention", message));
        }
        let (keys, values) = (layer.kdim.unwrap_or(embed_dim), layer.vdim.unwrap_or(embed_dim));
        let joined = keys == embed_dim && values == embed_dim;
        let apart = |inputs: usize| (!joined).then(|| xavier(embed_dim, inputs, options)).transpose();
        let further = || -> Result<Option<Parameter>> {
            let normal = || Tensor::try_randn([1, 1, embed_dim], &Generator::default_generator(), options);
            // Xavier's normal values for the shape (1, 1, E), of which both fans are E.
            let std = (2.0 / (2.0 * embed_dim as f64)).sqrt();
            layer.add_bias_kv.then(|| Parameter::try_new(&normal()?.try_mul(std)?)).transpose()
        };
        let attention = MultiheadAttention {
            in_proj_weight: joined
                .then(|| xavier(product([3, embed_dim]), embed_dim, options))
                .transpose()?,
            q_proj_weight: apart(embed_dim)?,
            k_proj_weight: apart(keys)?,
            v_proj_weight: apart(values)?,
            in_proj_bias: layer.bias.then(|| zeros(product([3, embed_dim]), options)).transpose()?,
            bias_k: further()?,
            bias_v: further()?,
            out_proj: Linear::try_with_options(
                embed_dim,
                embed_dim,
                LinearOptions { bias: layer.bias },
                options,
            )?,
            mode: Mode::default(),
            embed_dim,
            num_heads,
            dropout: layer.dropout,
            batch_first: layer.batch_first,
            add_zero_attn: layer.add_zero_attn,
        };
        if let Some(bias) = &attention.out_proj.bias {
            bias.try_set(&Tensor::try_full([embed_dim], 0.0, options)?)?;
        }
        Ok(attention)
    }

    /// What L queries make of S keys and their values: (L, B, embed) from (L, B, embed), (S, B, kdim), (S, B, vdim); the
    /// batch first with `batch_first`, and absent for one sequence. Equal arguments (`&x, &x, &x`) share their projection.
    #[track_caller]
    pub fn forward(&self, query: &Tensor, key: &Tensor, value: &Tensor, masks: &AttentionMasks) -> Tensor {
        expect(self.try_forward(query, key, value, masks))
    }

    /// [`forward`](MultiheadAttention::forward), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        masks: &AttentionMasks,
    ) -> Result<Tensor> {
        let heads = self.heads(query, key, value)?;
        let options = self.options(masks, &heads)?;
        let attended = heads.query.try_scaled_dot_product_attention(&heads.key, &heads.value, &options)?;
        self.output(&attended, heads.single)
    }

    /// [`forward`](MultiheadAttention::forward), and how much each query looked at each key.
    ///
    /// ```
    /// use flambeau::{nn::{AttentionWeights, MultiheadAttention}, prelude::*};
    /// let attention = MultiheadAttention::new(8, 2, &Device::cpu());
    /// let x = Tensor::ones([5, 3, 8], &Device::cpu());
    /// let form = AttentionWeights::PerHead;
    /// let (_, weights) = attention.forward_with_weights(&x, &x, &x, &Default::default(), form);
    /// assert_eq!(weights.shape().dims(), [3, 2, 5, 5]);
    /// ```
    #[track_caller]
    pub fn forward_with_weights(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        masks: &AttentionMasks,
        form: AttentionWeights,
    ) -> (Tensor, Tensor) {
        expect(self.try_forward_with_weights(query, key, value, masks, form))
    }

    /// [`forward_with_weights`](MultiheadAttention::forward_with_weights), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward_with_weights(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        masks: &AttentionMasks,
        form: AttentionWeights,
    ) -> Result<(Tensor, Tensor)> {
        let heads = self.heads(query, key, value)?;
        let weights = attention_weights(&heads.query, &heads.key, &self.options(masks, &heads)?)?;
        let output = self.output(&weights.try_matmul(&heads.value)?, heads.single)?;
        let weights = match form {
            AttentionWeights::Averaged => weights.try_mean(1)?,
            AttentionWeights::PerHead => weights,
        };
        Ok((output, if heads.single { weights.try_squeeze(0)? } else { weights }))
    }

    fn options(&self, masks: &AttentionMasks, heads: &Heads) -> Result<AttentionOptions> {
        let mut scores = heads.scores();
        scores[3] -= heads.further;
        let mut mask = masks.joined(scores)?;
        let mut causal = masks.causal;
        if heads.further > 0 {
            // What was put behind is seen by every query.
            if causal {
                let earlier =
                    Tensor::try_full([scores[2], scores[3]], true, (DType::Bool, heads.key.device()))?
                        .try_tril(0)?;
                mask = Some(match mask {
                    Some(mask) if mask.dtype() == DType::Bool => mask.try_logical_and(&earlier)?,
                    Some(mask) => earlier.try_where_cond(&mask, f64::NEG_INFINITY)?,
                    None => earlier,
                });
                causal = false;
            }
            let sides = [0, heads.further as isize];
            mask = match mask {
                Some(mask) if mask.dtype() == DType::Bool => Some(mask.try_pad(&sides, true)?),
                Some(mask) => Some(mask.try_pad(&sides, 0.0)?),
                None => None,
            };
        }
        let dropping = self.dropout > 0.0 && self.mode.is_training();
        let dropout = dropping.then(|| (self.dropout, Generator::default_generator()));
        Ok(AttentionOptions { mask, causal, dropout, ..Default::default() })
    }

    /// Projects queries, keys and values, and cuts them into heads.
    fn heads(&self, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Heads> {
        let single = query.rank() == 2;
        let wanted = if single { 2 } else { 3 };
        let widths = [&self.q_proj_weight, &self.k_proj_weight, &self.v_proj_weight]
            .map(|weight| weight.as_ref().map_or(self.embed_dim, |weight| weight.shape().dims()[1]));
        for ((name, x), width) in
            [("queries", query), ("keys", key), ("values", value)].into_iter().zip(widths)
        {
            if x.rank() != wanted || x.size(-1) != width {
                let message =
                    format!("{name} {} must have {wanted} dimensions, the last of {width}", x.shape());
                return Err(Error::shape("MultiheadAttention", message));
            }
        }
        let same_keys = std::ptr::eq(key, value) && self.in_proj_weight.is_some();
        if same_keys && std::ptr::eq(query, key) {
            let [query, key, value] = self.projected::<3>(query, 0)?;
            return self.extended(Heads { query, key, value, single, further: 0 });
        }
        let [query] = self.projected::<1>(query, 0)?;
        let (key, value) = if same_keys {
            let [key, value] = self.projected::<2>(key, 1)?;
            (key, value)
        } else {
            let ([key], [value]) = (self.projected::<1>(key, 1)?, self.projected::<1>(value, 2)?);
            (key, value)
        };
        if key.shape().dims()[..3] != value.shape().dims()[..3] || query.size(0) != key.size(0) {
            let shapes = format!("{}, {} and {}", query.shape(), key.shape(), value.shape());
            let message =
                format!("heads of queries, keys and values (B, heads, length, d) do not fit: {shapes}");
            return Err(Error::shape("MultiheadAttention", message));
        }
        self.extended(Heads { query, key, value, single, further: 0 })
    }

    /// Puts learned and zero keys and values behind those given.
    fn extended(&self, mut heads: Heads) -> Result<Heads> {
        let behind = |given: &Tensor, row: &Tensor| {
            let [batch, count, _, size] = [0, 1, 2, 3].map(|d| given.size(d));
            let row = row.try_reshape([1, count, 1, size])?.try_to_dtype(given.dtype())?;
            Tensor::try_cat(&[given, &row.try_expand([batch, count, 1, size])?], 2)
        };
        if let (Some(key), Some(value)) = (&self.bias_k, &self.bias_v) {
            heads.key = behind(&heads.key, &key.get())?;
            heads.value = behind(&heads.value, &value.get())?;
            heads.further += 1;
        }
        if self.add_zero_attn {
            let zeros = Tensor::try_full([self.embed_dim], 0.0, (heads.key.dtype(), heads.key.device()))?;
            heads.key = behind(&heads.key, &zeros)?;
            heads.value = behind(&heads.value, &zeros)?;
            heads.further += 1;
        }
        Ok(heads)
    }

    /// N neighbours of the projections Q, K, V, from number `first` on, each as (B, heads, length, d): one product.
    fn projected<const N: usize>(&self, x: &Tensor, first: usize) -> Result<[Tensor; N]> {
        let apart = [&self.q_proj_weight, &self.k_proj_weight, &self.v_proj_weight];
        let embed = self.embed_dim;
        let share = |whole: &Parameter| whole.get().try_narrow(0, first * embed, N * embed);
        let weight = match (&self.in_proj_weight, apart[first]) {
            (Some(joined), _) => share(joined)?,
            (None, Some(weight)) => weight.get(),
            (None, None) => return Err(Error::argument("MultiheadAttention", "a projection is missing")),
        };
        let entered = Autocast::Lower.enter([x, &weight])?;
        let [input, weight] = entered.inputs([x, &weight]);
        let mut product = input.try_matmul(&weight.try_t()?)?;
        if let Some(bias) = &self.in_proj_bias {
            product = product.try_add(entered.input(share(bias)?)?)?;
        }
        drop(entered);
        let (heads, size) = (self.num_heads, embed / self.num_heads);
        let outer = match *x.shape().dims() {
            [length, _] => {
                if self.batch_first {
                    [1, length]
                } else {
                    [length, 1]
                }
            }
            [a, b, ..] => [a, b],
            _ => return Err(Error::shape("MultiheadAttention", format!("input {}", x.shape()))),
        };
        let cut = product.try_reshape([outer[0], outer[1], N, heads, size])?;
        // To (N, B, heads, length, d).
        let cut = cut.try_permute(if self.batch_first { &[2, 0, 3, 1, 4] } else { &[2, 1, 3, 0, 4] })?;
        let mut parts =
            (0..N).map(|k| cut.try_select(0, k as isize)).collect::<Result<Vec<_>>>()?.into_iter();
        Ok(std::array::from_fn(|_| parts.next().unwrap_or_else(|| cut.clone())))
    }

    /// Joins what the heads (B, heads, L, d) found, and projects it.
    fn output(&self, attended: &Tensor, single: bool) -> Result<Tensor> {
        let joined = attended.try_permute(if self.batch_first { &[0, 2, 1, 3] } else { &[2, 0, 1, 3] })?;
        let joined = match single {
            true => joined.try_reshape([-1, self.embed_dim as isize])?,
            false => joined.try_flatten(2, 3)?,
        };
        self.out_proj.try_forward(&joined)
    }
}

/// Projected queries, keys and values, (B, heads, length, d).
struct Heads {
    query: Tensor,
    key: Tensor,
    value: Tensor,
    /// One sequence, without a batch dimension?
    single: bool,
    /// Keys that were put behind those given.
    further: usize,
}

impl Heads {
    /// The shape of the scores, (B, heads, L, S).
    fn scores(&self) -> [usize; 4] {
        let (query, key) = (self.query.shape().dims(), self.key.shape().dims());
        [query[0], query[1], query[2], key[2]]
    }
}
