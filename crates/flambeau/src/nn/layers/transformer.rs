//! Transformers: layers of attention and two linear maps, and stacks of them.

use super::{
    AttentionMasks, Dropout, LayerNorm, LayerNormOptions, Linear, MultiheadAttention,
    MultiheadAttentionOptions, constructors,
};
use crate::error::{Result, expect};
use crate::nn::layers::check_layers;
use crate::nn::{Forward, Module};
use crate::settings::{Settings, words};
use crate::tensor::{Tensor, TensorOptions};

/// The function between the two linear maps of a transformer's layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransformerActivation {
    /// max(x, 0).
    #[default]
    Relu,
    /// x Φ(x).
    Gelu,
}

words!(TransformerActivation { "relu" => Relu, "gelu" => Gelu });

impl TransformerActivation {
    fn apply(self, x: &Tensor) -> Result<Tensor> {
        match self {
            TransformerActivation::Relu => x.try_relu(),
            TransformerActivation::Gelu => x.try_gelu(),
        }
    }
}

/// The settings of a transformer's layers; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Settings)]
pub struct TransformerLayerOptions {
    /// Features between the two linear maps.
    #[setting(name = "feed_forward")]
    pub dim_feedforward: usize,
    /// The probability of dropout, everywhere.
    pub dropout: f64,
    /// The function between the two linear maps.
    pub activation: TransformerActivation,
    /// What is added to variances.
    #[setting(name = "eps")]
    pub layer_norm_eps: f64,
    /// Is the batch the first dimension?
    pub batch_first: bool,
    /// Is normalised before attention and maps, instead of after?
    pub norm_first: bool,
}

impl Default for TransformerLayerOptions {
    fn default() -> Self {
        TransformerLayerOptions {
            dim_feedforward: 2048,
            dropout: 0.1,
            activation: TransformerActivation::Relu,
            layer_norm_eps: 1e-5,
            batch_first: false,
            norm_first: false,
        }
    }
}

impl TransformerLayerOptions {
    fn attention(&self, width: usize, heads: usize, options: &TensorOptions) -> Result<MultiheadAttention> {
        let layer = MultiheadAttentionOptions {
            dropout: self.dropout,
            batch_first: self.batch_first,
            ..Default::default()
        };
        MultiheadAttention::try_with_options(width, heads, layer, options)
    }

    fn norm(&self, width: usize, options: &TensorOptions) -> Result<LayerNorm> {
        let layer = LayerNormOptions { eps: self.layer_norm_eps, ..Default::default() };
        LayerNorm::try_with_options(width, layer, options)
    }
}

/// x + part(norm(x)), or norm(x + part(x)).
fn residual(
    x: &Tensor,
    norm: &LayerNorm,
    norm_first: bool,
    part: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    match norm_first {
        true => x.try_add(part(&norm.try_forward(x)?)?),
        false => norm.try_forward(&x.try_add(part(x)?)?),
    }
}

/// Self-attention and two linear maps, each with dropout, added to its input and normalised.
///
/// Parts are named as PyTorch's: self_attn, linear1, linear2, norm1, norm2.
///
/// ```
/// use flambeau::{nn::{TransformerEncoderLayer, TransformerLayerOptions}, prelude::*};
/// let options = TransformerLayerOptions { dim_feedforward: 16, ..Default::default() };
/// let layer = TransformerEncoderLayer::with_options(8, 2, options, &Device::cpu());
/// let y = layer.forward(&Tensor::ones([5, 3, 8], &Device::cpu()), &Default::default());
/// assert_eq!(y.shape().dims(), [5, 3, 8]);
/// ```
#[derive(Module)]
pub struct TransformerEncoderLayer {
    self_attn: MultiheadAttention,
    linear1: Linear,
    dropout: Dropout,
    linear2: Linear,
    norm1: LayerNorm,
    norm2: LayerNorm,
    dropout1: Dropout,
    dropout2: Dropout,
    #[module(skip)]
    settings: TransformerLayerOptions,
}

/// What both layers of a transformer have.
macro_rules! layer_methods {
    ($layer:ident) => {
        impl $layer {
            constructors! {
                (d_model: usize, nhead: usize; layer: TransformerLayerOptions; options)
                $layer::build(d_model, nhead, layer, &options)
            }

            /// The two linear maps, with dropout after each.
            fn feed_forward(&self, x: &Tensor, last: &Dropout) -> Result<Tensor> {
                let hidden = self.settings.activation.apply(&self.linear1.try_forward(x)?)?;
                last.try_forward(&self.linear2.try_forward(&self.dropout.try_forward(&hidden)?)?)
            }
        }
    };
}

layer_methods!(TransformerEncoderLayer);
layer_methods!(TransformerDecoderLayer);

impl TransformerEncoderLayer {
    fn build(
        width: usize,
        heads: usize,
        layer: TransformerLayerOptions,
        options: &TensorOptions,
    ) -> Result<TransformerEncoderLayer> {
        let dropout = || Dropout::new(layer.dropout);
        Ok(TransformerEncoderLayer {
            self_attn: layer.attention(width, heads, options)?,
            linear1: Linear::try_with_options(width, layer.dim_feedforward, Default::default(), options)?,
            dropout: dropout(),
            linear2: Linear::try_with_options(layer.dim_feedforward, width, Default::default(), options)?,
            norm1: layer.norm(width, options)?,
            norm2: layer.norm(width, options)?,
            dropout1: dropout(),
            dropout2: dropout(),
            settings: layer,
        })
    }

    /// (T, B, width) to the same; the batch first with `batch_first`.
    #[track_caller]
    pub fn forward(&self, src: &Tensor, masks: &AttentionMasks) -> Tensor {
        expect(self.try_forward(src, masks))
    }

    /// [`forward`](TransformerEncoderLayer::forward), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward(&self, src: &Tensor, masks: &AttentionMasks) -> Result<Tensor> {
        let norm_first = self.settings.norm_first;
        let x = residual(src, &self.norm1, norm_first, |x| {
            self.dropout1.try_forward(&self.self_attn.try_forward(x, x, x, masks)?)
        })?;
        residual(&x, &self.norm2, norm_first, |x| self.feed_forward(x, &self.dropout2))
    }
}

/// Self-attention, attention to a memory and two linear maps, each with dropout, added to its input and normalised.
///
/// Parts are named as PyTorch's: self_attn, multihead_attn, linear1, linear2, norm1, norm2, norm3.
///
/// ```
/// use flambeau::{nn::{AttentionMasks, TransformerDecoderLayer}, prelude::*};
/// let layer = TransformerDecoderLayer::new(8, 2, &Device::cpu());
/// let (tgt, memory) = (Tensor::ones([4, 3, 8], &Device::cpu()), Tensor::ones([5, 3, 8], &Device::cpu()));
/// let y = layer.forward(&tgt, &memory, &AttentionMasks::causal(), &Default::default());
/// assert_eq!(y.shape().dims(), [4, 3, 8]);
/// ```
#[derive(Module)]
pub struct TransformerDecoderLayer {
    self_attn: MultiheadAttention,
    multihead_attn: MultiheadAttention,
    linear1: Linear,
    dropout: Dropout,
    linear2: Linear,
    norm1: LayerNorm,
    norm2: LayerNorm,
    norm3: LayerNorm,
    dropout1: Dropout,
    dropout2: Dropout,
    dropout3: Dropout,
    #[module(skip)]
    settings: TransformerLayerOptions,
}

impl TransformerDecoderLayer {
    fn build(
        width: usize,
        heads: usize,
        layer: TransformerLayerOptions,
        options: &TensorOptions,
    ) -> Result<TransformerDecoderLayer> {
        let dropout = || Dropout::new(layer.dropout);
        Ok(TransformerDecoderLayer {
            self_attn: layer.attention(width, heads, options)?,
            multihead_attn: layer.attention(width, heads, options)?,
            linear1: Linear::try_with_options(width, layer.dim_feedforward, Default::default(), options)?,
            dropout: dropout(),
            linear2: Linear::try_with_options(layer.dim_feedforward, width, Default::default(), options)?,
            norm1: layer.norm(width, options)?,
            norm2: layer.norm(width, options)?,
            norm3: layer.norm(width, options)?,
            dropout1: dropout(),
            dropout2: dropout(),
            dropout3: dropout(),
            settings: layer,
        })
    }

    /// (T, B, width) to the same, looking at a memory (S, B, width); the batch first with `batch_first`.
    #[track_caller]
    pub fn forward(
        &self,
        tgt: &Tensor,
        memory: &Tensor,
        tgt_masks: &AttentionMasks,
        memory_masks: &AttentionMasks,
    ) -> Tensor {
        expect(self.try_forward(tgt, memory, tgt_masks, memory_masks))
    }

    /// [`forward`](TransformerDecoderLayer::forward), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward(
        &self,
        tgt: &Tensor,
        memory: &Tensor,
        tgt_masks: &AttentionMasks,
        memory_masks: &AttentionMasks,
    ) -> Result<Tensor> {
        let norm_first = self.settings.norm_first;
        let x = residual(tgt, &self.norm1, norm_first, |x| {
            self.dropout1.try_forward(&self.self_attn.try_forward(x, x, x, tgt_masks)?)
        })?;
        let x = residual(&x, &self.norm2, norm_first, |x| {
            self.dropout2.try_forward(&self.multihead_attn.try_forward(x, memory, memory, memory_masks)?)
        })?;
        residual(&x, &self.norm3, norm_first, |x| self.feed_forward(x, &self.dropout3))
    }
}

/// Encoder layers on top of each other, with an optional norm at the end. Unlike PyTorch's, whose layers are copies, each
/// layer begins with its own random weights.
///
/// ```
/// use flambeau::{nn::{TransformerEncoder, TransformerEncoderLayer}, prelude::*};
/// let layers = (0..2).map(|_| TransformerEncoderLayer::new(8, 2, &Device::cpu())).collect();
/// let encoder = TransformerEncoder::new(layers, None);
/// let y = encoder.forward(&Tensor::ones([5, 3, 8], &Device::cpu()), &Default::default());
/// assert_eq!(y.shape().dims(), [5, 3, 8]);
/// ```
#[derive(Module)]
pub struct TransformerEncoder {
    layers: Vec<TransformerEncoderLayer>,
    norm: Option<LayerNorm>,
}

impl TransformerEncoder {
    /// Of these layers.
    pub fn new(layers: Vec<TransformerEncoderLayer>, norm: Option<LayerNorm>) -> TransformerEncoder {
        TransformerEncoder { layers, norm }
    }

    /// (T, B, width) to the same; every layer has the same masks.
    #[track_caller]
    pub fn forward(&self, src: &Tensor, masks: &AttentionMasks) -> Tensor {
        expect(self.try_forward(src, masks))
    }

    /// [`forward`](TransformerEncoder::forward), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward(&self, src: &Tensor, masks: &AttentionMasks) -> Result<Tensor> {
        let x = self.layers.iter().try_fold(src.clone(), |x, layer| layer.try_forward(&x, masks))?;
        self.norm.iter().try_fold(x, |x, norm| norm.try_forward(&x))
    }
}

/// Decoder layers on top of each other, with an optional norm at the end; see [`TransformerEncoder`].
///
/// ```
/// use flambeau::{nn::{AttentionMasks, TransformerDecoder, TransformerDecoderLayer}, prelude::*};
/// let layers = (0..2).map(|_| TransformerDecoderLayer::new(8, 2, &Device::cpu())).collect();
/// let decoder = TransformerDecoder::new(layers, None);
/// let x = Tensor::ones([5, 3, 8], &Device::cpu());
/// let y = decoder.forward(&x, &x, &AttentionMasks::causal(), &Default::default());
/// assert_eq!(y.shape().dims(), [5, 3, 8]);
/// ```
#[derive(Module)]
pub struct TransformerDecoder {
    layers: Vec<TransformerDecoderLayer>,
    norm: Option<LayerNorm>,
}

impl TransformerDecoder {
    /// Of these layers.
    pub fn new(layers: Vec<TransformerDecoderLayer>, norm: Option<LayerNorm>) -> TransformerDecoder {
        TransformerDecoder { layers, norm }
    }

    /// (T, B, width) to the same, looking at a memory (S, B, width).
    #[track_caller]
    pub fn forward(
        &self,
        tgt: &Tensor,
        memory: &Tensor,
        tgt_masks: &AttentionMasks,
        memory_masks: &AttentionMasks,
    ) -> Tensor {
        expect(self.try_forward(tgt, memory, tgt_masks, memory_masks))
    }

    /// [`forward`](TransformerDecoder::forward), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward(
        &self,
        tgt: &Tensor,
        memory: &Tensor,
        tgt_masks: &AttentionMasks,
        memory_masks: &AttentionMasks,
    ) -> Result<Tensor> {
        let layer = |x: Tensor, layer: &TransformerDecoderLayer| {
            layer.try_forward(&x, memory, tgt_masks, memory_masks)
        };
        let x = self.layers.iter().try_fold(tgt.clone(), layer)?;
        self.norm.iter().try_fold(x, |x, norm| norm.try_forward(&x))
    }
}

/// The settings of [`Transformer`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Settings)]
pub struct TransformerOptions {
    /// Layers of the encoder.
    #[setting(name = "encoder_layers")]
    pub num_encoder_layers: usize,
    /// Layers of the decoder.
    #[setting(name = "decoder_layers")]
    pub num_decoder_layers: usize,
    /// The layers' settings.
    #[setting(flatten)]
    pub layer: TransformerLayerOptions,
}

impl Default for TransformerOptions {
    fn default() -> Self {
        TransformerOptions { num_encoder_layers: 6, num_decoder_layers: 6, layer: Default::default() }
    }
}

/// Who may look at what in a [`Transformer`].
#[derive(Debug, Clone, Default)]
pub struct TransformerMasks {
    /// In the encoder.
    pub src: AttentionMasks,
    /// In the decoder's self-attention.
    pub tgt: AttentionMasks,
    /// Where the decoder looks at what the encoder made.
    pub memory: AttentionMasks,
}

/// An encoder and a decoder, each with a norm at the end ("Attention is all you need"). Matrices begin in Xavier's
/// uniform distribution.
///
/// ```
/// use flambeau::{nn::{Transformer, TransformerMasks, TransformerOptions}, prelude::*};
/// let options = TransformerOptions { num_encoder_layers: 1, num_decoder_layers: 1, ..Default::default() };
/// let model = Transformer::with_options(8, 2, options, &Device::cpu());
/// let (src, tgt) = (Tensor::ones([5, 3, 8], &Device::cpu()), Tensor::ones([4, 3, 8], &Device::cpu()));
/// assert_eq!(model.forward(&src, &tgt, &TransformerMasks::default()).shape().dims(), [4, 3, 8]);
/// ```
#[derive(Module)]
pub struct Transformer {
    encoder: TransformerEncoder,
    decoder: TransformerDecoder,
}

impl Transformer {
    constructors! {
        (d_model: usize, nhead: usize; model: TransformerOptions; options)
        Transformer::build(d_model, nhead, model, &options)
    }

    fn build(
        d_model: usize,
        nhead: usize,
        model: TransformerOptions,
        options: &TensorOptions,
    ) -> Result<Transformer> {
        check_layers("Transformer", model.num_encoder_layers)?;
        check_layers("Transformer", model.num_decoder_layers)?;
        let encoder = |_| TransformerEncoderLayer::try_with_options(d_model, nhead, model.layer, options);
        let decoder = |_| TransformerDecoderLayer::try_with_options(d_model, nhead, model.layer, options);
        let norm = || model.layer.norm(d_model, options).map(Some);
        let layers = (0..model.num_encoder_layers).map(encoder).collect::<Result<_>>()?;
        let encoder = TransformerEncoder::new(layers, norm()?);
        let layers = (0..model.num_decoder_layers).map(decoder).collect::<Result<_>>()?;
        let transformer = Transformer { encoder, decoder: TransformerDecoder::new(layers, norm()?) };
        for parameter in transformer.parameters().iter().filter(|parameter| parameter.shape().rank() > 1) {
            crate::nn::init::xavier_uniform(parameter, 1.0, None)?;
        }
        Ok(transformer)
    }

    /// What the decoder makes of `tgt` (T, B, width) and the encoded `src` (S, B, width).
    #[track_caller]
    pub fn forward(&self, src: &Tensor, tgt: &Tensor, masks: &TransformerMasks) -> Tensor {
        expect(self.try_forward(src, tgt, masks))
    }

    /// [`forward`](Transformer::forward), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward(&self, src: &Tensor, tgt: &Tensor, masks: &TransformerMasks) -> Result<Tensor> {
        let memory = self.encoder.try_forward(src, &masks.src)?;
        self.decoder.try_forward(tgt, &memory, &masks.tgt, &masks.memory)
    }
}

/// Positions as sines and cosines, (length, width): element (p, 2i) is sin(p / 10000^(2i / width)), element (p, 2i + 1)
/// the cosine of the same. Added to embeddings, they tell a transformer where it is.
///
/// ```
/// use flambeau::{nn::sinusoidal_positions, prelude::*};
/// let positions = sinusoidal_positions(2, 2, &Device::cpu());
/// assert_eq!(positions.to_string(), "tensor([[0.0000, 1.0000],\n        [0.8415, 0.5403]])");
/// ```
#[track_caller]
pub fn sinusoidal_positions(length: usize, width: usize, options: impl Into<TensorOptions>) -> Tensor {
    expect(try_sinusoidal_positions(length, width, options))
}

/// [`sinusoidal_positions`], or the error instead of a panic.
#[track_caller]
pub fn try_sinusoidal_positions(
    length: usize,
    width: usize,
    options: impl Into<TensorOptions>,
) -> Result<Tensor> {
    let options = options.into();
    let position = Tensor::try_arange(0.0, length as f64, 1.0, &options)?.try_unsqueeze(1)?;
    let column = Tensor::try_arange(0, width as i64, 1, options.device())?;
    let odd = column.try_bitand(1)?;
    let exponent = column.try_sub(&odd)?.try_to_dtype(position.dtype())?;
    let rate = exponent.try_mul(-(10000f64.ln()) / width.max(1) as f64)?.try_exp()?;
    let angle = position.try_mul(&rate)?;
    odd.try_eq(1)?.try_where_cond(&angle.try_cos()?, &angle.try_sin()?)
}
