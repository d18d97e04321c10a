//! From a layer's name and settings to the layer. Names and defaults are PyTorch's.

use super::Layer;
use crate::device::current;
use crate::handles::argument;
use crate::methods::{bag, interpolation};
use crate::options::Options;
use flambeau::nn::functional::InterpolateOptions;
use flambeau::nn::models::{Cnn, Mlp};
use flambeau::nn::*;
use flambeau::{AvgPoolOptions, ConvOptions, ConvTransposeOptions, Device, MaxPoolOptions, Padding, Result};

/// Makes a layer.
pub fn layer(kind: &str, options: &str) -> Result<Layer> {
    let mut o = Options::parse("layer", options)?;
    let device = current()?;
    let layer = match usual(kind, &mut o, &device)? {
        Some(layer) => Layer::Plain(layer),
        None => special(kind, &mut o, &device)?,
    };
    o.done()?;
    Ok(layer)
}

fn boxed(layer: impl Forward + 'static) -> Result<Option<Box<dyn Forward>>> {
    Ok(Some(Box::new(layer)))
}

/// The layers of small models: a page has them with the first part of the module, the others with the second.
fn usual(kind: &str, o: &mut Options, device: &Device) -> Result<Option<Box<dyn Forward>>> {
    match kind {
        "linear" => {
            let layer = LinearOptions { bias: o.flag("bias", true)? };
            boxed(Linear::try_with_options(o.size("inputs")?, o.size("outputs")?, layer, device)?)
        }
        "conv2d" => boxed(conv::<2>(o, device)?),
        "max_pool2d" => boxed(max_pool::<2>(o)?),
        "avg_pool2d" => boxed(avg_pool::<2>(o)?),
        "adaptive_avg_pool2d" => boxed(AdaptiveAvgPool2d::new(o.around::<2>("output", 1)?)),
        "batch_norm1d" => boxed(BatchNorm1d::try_with_options(o.size("features")?, batch_norm(o)?, device)?),
        "batch_norm2d" => boxed(BatchNorm2d::try_with_options(o.size("features")?, batch_norm(o)?, device)?),
        "layer_norm" => {
            let shape: Vec<usize> = o.numbers("shape")?.into_iter().map(|size| size as usize).collect();
            let layer = LayerNormOptions {
                eps: o.number("eps", 1e-5)?,
                elementwise_affine: o.flag("affine", true)?,
                bias: o.flag("bias", true)?,
            };
            boxed(LayerNorm::try_with_options(shape, layer, device)?)
        }
        "embedding" => {
            let layer = EmbeddingOptions { padding_idx: o.maybe_size("padding_index")? };
            boxed(Embedding::try_with_options(o.size("rows")?, o.size("width")?, layer, device)?)
        }
        "dropout" => boxed(Dropout::new(o.number("p", 0.5)?)),
        "dropout2d" => boxed(Dropout2d::new(o.number("p", 0.5)?)),
        "identity" => boxed(Identity),
        "flatten" => boxed(Flatten { start_dim: o.dim("start", 1)?, end_dim: o.dim("end", -1)? }),
        "mlp" => {
            let sizes: Vec<usize> = o.numbers("sizes")?.into_iter().map(|size| size as usize).collect();
            if sizes.len() < 2 {
                return Err(argument("mlp", "sizes must be at least the inputs and the outputs"));
            }
            boxed(Mlp::new(&sizes, device))
        }
        "relu" => boxed(Relu),
        "silu" => boxed(Silu),
        "sigmoid" => boxed(Sigmoid),
        "tanh" => boxed(Tanh),
        "gelu" => {
            let tanh = o.word("approximate", "none")? == "tanh";
            boxed(Gelu { approximate: if tanh { GeluApproximation::Tanh } else { GeluApproximation::None } })
        }
        "leaky_relu" => boxed(LeakyRelu { negative_slope: o.number("slope", 0.01)? }),
        "softmax" => boxed(Softmax { dim: o.dim("dim", -1)? }),
        _ => rare(kind, o, device),
    }
}

#[inline(never)]
fn rare(kind: &str, o: &mut Options, device: &Device) -> Result<Option<Box<dyn Forward>>> {
    match kind {
        "conv1d" => boxed(conv::<1>(o, device)?),
        "conv3d" => boxed(conv::<3>(o, device)?),
        "conv_transpose1d" => boxed(conv_transpose::<1>(o, device)?),
        "conv_transpose2d" => boxed(conv_transpose::<2>(o, device)?),
        "conv_transpose3d" => boxed(conv_transpose::<3>(o, device)?),
        "max_pool1d" => boxed(max_pool::<1>(o)?),
        "max_pool3d" => boxed(max_pool::<3>(o)?),
        "avg_pool1d" => boxed(avg_pool::<1>(o)?),
        "avg_pool3d" => boxed(avg_pool::<3>(o)?),
        "adaptive_avg_pool1d" => boxed(AdaptiveAvgPool1d::new(o.around::<1>("output", 1)?)),
        "adaptive_avg_pool3d" => boxed(AdaptiveAvgPool3d::new(o.around::<3>("output", 1)?)),
        "adaptive_max_pool1d" => boxed(AdaptiveMaxPool1d::new(o.around::<1>("output", 1)?)),
        "adaptive_max_pool2d" => boxed(AdaptiveMaxPool2d::new(o.around::<2>("output", 1)?)),
        "adaptive_max_pool3d" => boxed(AdaptiveMaxPool3d::new(o.around::<3>("output", 1)?)),
        "batch_norm3d" => boxed(BatchNorm3d::try_with_options(o.size("features")?, batch_norm(o)?, device)?),
        "instance_norm1d" => {
            boxed(InstanceNorm1d::try_with_options(o.size("features")?, instance_norm(o)?, device)?)
        }
        "instance_norm2d" => {
            boxed(InstanceNorm2d::try_with_options(o.size("features")?, instance_norm(o)?, device)?)
        }
        "instance_norm3d" => {
            boxed(InstanceNorm3d::try_with_options(o.size("features")?, instance_norm(o)?, device)?)
        }
        "rms_norm" => {
            let shape: Vec<usize> = o.numbers("shape")?.into_iter().map(|size| size as usize).collect();
            let layer =
                RmsNormOptions { eps: o.maybe_number("eps")?, elementwise_affine: o.flag("affine", true)? };
            boxed(RmsNorm::try_with_options(shape, layer, device)?)
        }
        "group_norm" => {
            let layer = GroupNormOptions { eps: o.number("eps", 1e-5)?, affine: o.flag("affine", true)? };
            boxed(GroupNorm::try_with_options(o.size("groups")?, o.size("channels")?, layer, device)?)
        }
        "local_response_norm" => boxed(LocalResponseNorm {
            size: o.size("size")?,
            alpha: o.number("alpha", 1e-4)?,
            beta: o.number("beta", 0.75)?,
            k: o.number("k", 1.0)?,
        }),
        "dropout1d" => boxed(Dropout1d::new(o.number("p", 0.5)?)),
        "dropout3d" => boxed(Dropout3d::new(o.number("p", 0.5)?)),
        "alpha_dropout" => boxed(AlphaDropout::new(o.number("p", 0.5)?)),
        "feature_alpha_dropout" => boxed(FeatureAlphaDropout::new(o.number("p", 0.5)?)),
        "unflatten" => {
            let sizes: Vec<isize> = o.numbers("sizes")?.into_iter().map(|size| size as isize).collect();
            boxed(Unflatten::new(o.dim("dim", 1)?, sizes))
        }
        "pixel_shuffle" => boxed(PixelShuffle { upscale_factor: o.size("factor")? }),
        "pixel_unshuffle" => boxed(PixelUnshuffle { downscale_factor: o.size("factor")? }),
        "upsample" => {
            let size: Vec<usize> = o.numbers("size")?.into_iter().map(|size| size as usize).collect();
            let factors = o.numbers("factor")?;
            let options = if size.is_empty() {
                InterpolateOptions::factor(&factors)
            } else {
                InterpolateOptions::size(&size)
            };
            let options = options.with_mode(interpolation(&o.word("mode", "nearest")?)?);
            let aligned = o.flag("align_corners", false)?;
            boxed(Upsample::with_options(if aligned { options.with_align_corners() } else { options }))
        }
        "cnn" => boxed(Cnn::new(o.size_or("classes", 10)?, device)),
        _ => match activation(kind, o, device)? {
            Some(layer) => Ok(Some(layer)),
            None => padding(kind, o),
        },
    }
}

fn activation(kind: &str, o: &mut Options, device: &Device) -> Result<Option<Box<dyn Forward>>> {
    match kind {
        "relu6" => boxed(Relu6),
        "selu" => boxed(Selu),
        "mish" => boxed(Mish),
        "log_sigmoid" => boxed(LogSigmoid),
        "tanhshrink" => boxed(Tanhshrink),
        "softsign" => boxed(Softsign),
        "hardsigmoid" => boxed(Hardsigmoid),
        "hardswish" => boxed(Hardswish),
        "elu" => boxed(Elu { alpha: o.number("alpha", 1.0)? }),
        "celu" => boxed(Celu { alpha: o.number("alpha", 1.0)? }),
        "softplus" => {
            boxed(Softplus { beta: o.number("beta", 1.0)?, threshold: o.number("threshold", 20.0)? })
        }
        "hardtanh" => boxed(Hardtanh { min_val: o.number("min", -1.0)?, max_val: o.number("max", 1.0)? }),
        "hardshrink" => boxed(Hardshrink { lambda: o.number("lambda", 0.5)? }),
        "softshrink" => boxed(Softshrink { lambda: o.number("lambda", 0.5)? }),
        "threshold" => {
            boxed(Threshold { threshold: o.number("threshold", 0.0)?, value: o.number("value", 0.0)? })
        }
        "log_softmax" => boxed(LogSoftmax { dim: o.dim("dim", -1)? }),
        "softmin" => boxed(Softmin { dim: o.dim("dim", -1)? }),
        "softmax2d" => boxed(Softmax2d),
        "glu" => boxed(Glu { dim: o.dim("dim", -1)? }),
        "prelu" => {
            let layer =
                PReluOptions { num_parameters: o.size_or("parameters", 1)?, init: o.number("init", 0.25)? };
            boxed(PRelu::try_with_options(layer, device)?)
        }
        "rrelu" => boxed(RRelu::new(o.number("lower", 1.0 / 8.0)?, o.number("upper", 1.0 / 3.0)?)),
        _ => Ok(None),
    }
}

fn sides<const N: usize>(o: &mut Options) -> Result<Sides<N>> {
    let sizes: Vec<isize> = o.numbers("padding")?.into_iter().map(|size| size as isize).collect();
    match sizes[..] {
        [each] => Ok(Sides([each; N])),
        _ => {
            let wrong = || argument("pad", format!("padding must be 1 or {N} numbers, not {sizes:?}"));
            <[isize; N]>::try_from(&sizes[..]).map(Sides).map_err(|_| wrong())
        }
    }
}

fn padding(kind: &str, o: &mut Options) -> Result<Option<Box<dyn Forward>>> {
    match kind {
        "zero_pad1d" => boxed(ZeroPad1d::new(sides::<2>(o)?)),
        "zero_pad2d" => boxed(ZeroPad2d::new(sides::<4>(o)?)),
        "zero_pad3d" => boxed(ZeroPad3d::new(sides::<6>(o)?)),
        "reflection_pad1d" => boxed(ReflectionPad1d::new(sides::<2>(o)?)),
        "reflection_pad2d" => boxed(ReflectionPad2d::new(sides::<4>(o)?)),
        "reflection_pad3d" => boxed(ReflectionPad3d::new(sides::<6>(o)?)),
        "replication_pad1d" => boxed(ReplicationPad1d::new(sides::<2>(o)?)),
        "replication_pad2d" => boxed(ReplicationPad2d::new(sides::<4>(o)?)),
        "replication_pad3d" => boxed(ReplicationPad3d::new(sides::<6>(o)?)),
        "circular_pad1d" => boxed(CircularPad1d::new(sides::<2>(o)?)),
        "circular_pad2d" => boxed(CircularPad2d::new(sides::<4>(o)?)),
        "circular_pad3d" => boxed(CircularPad3d::new(sides::<6>(o)?)),
        "constant_pad1d" => boxed(ConstantPad1d::new(sides::<2>(o)?, o.number("value", 0.0)?)),
        "constant_pad2d" => boxed(ConstantPad2d::new(sides::<4>(o)?, o.number("value", 0.0)?)),
        "constant_pad3d" => boxed(ConstantPad3d::new(sides::<6>(o)?, o.number("value", 0.0)?)),
        _ => Ok(None),
    }
}

#[inline(never)]
fn special(kind: &str, o: &mut Options, device: &Device) -> Result<Layer> {
    Ok(match kind {
        "bilinear" => {
            let (first, second, outputs) = (o.size("inputs")?, o.size("others")?, o.size("outputs")?);
            let layer = LinearOptions { bias: o.flag("bias", true)? };
            Layer::Bilinear(Bilinear::try_with_options(first, second, outputs, layer, device)?)
        }
        "cosine_similarity" => {
            Layer::CosineSimilarity(CosineSimilarity { dim: o.dim("dim", 1)?, eps: o.number("eps", 1e-8)? })
        }
        "pairwise_distance" => Layer::PairwiseDistance(PairwiseDistance {
            p: o.number("p", 2.0)?,
            eps: o.number("eps", 1e-6)?,
            keepdim: o.flag("keepdim", false)?,
        }),
        "embedding_bag" => {
            let layer = EmbeddingBagLayerOptions {
                mode: bag(&o.word("mode", "mean")?)?,
                padding_idx: o.maybe_size("padding_index")?,
            };
            Layer::EmbeddingBag(EmbeddingBag::try_with_options(
                o.size("rows")?,
                o.size("width")?,
                layer,
                device,
            )?)
        }
        "multihead_attention" => {
            let layer = MultiheadAttentionOptions {
                bias: o.flag("bias", true)?,
                dropout: o.number("dropout", 0.0)?,
                kdim: o.maybe_size("key_width")?,
                vdim: o.maybe_size("value_width")?,
                batch_first: o.flag("batch_first", false)?,
            };
            Layer::Attention(MultiheadAttention::try_with_options(
                o.size("width")?,
                o.size("heads")?,
                layer,
                device,
            )?)
        }
        "rnn" => {
            let layer = RnnOptions {
                num_layers: o.size_or("layers", 1)?,
                bias: o.flag("bias", true)?,
                batch_first: o.flag("batch_first", false)?,
                dropout: o.number("dropout", 0.0)?,
                bidirectional: o.flag("bidirectional", false)?,
                nonlinearity: nonlinearity(o)?,
            };
            Layer::Rnn(Rnn::try_with_options(o.size("inputs")?, o.size("hidden")?, layer, device)?)
        }
        "gru" => {
            let layer = GruOptions {
                num_layers: o.size_or("layers", 1)?,
                bias: o.flag("bias", true)?,
                batch_first: o.flag("batch_first", false)?,
                dropout: o.number("dropout", 0.0)?,
                bidirectional: o.flag("bidirectional", false)?,
            };
            Layer::Gru(Gru::try_with_options(o.size("inputs")?, o.size("hidden")?, layer, device)?)
        }
        "lstm" => {
            let layer = LstmOptions {
                num_layers: o.size_or("layers", 1)?,
                bias: o.flag("bias", true)?,
                batch_first: o.flag("batch_first", false)?,
                dropout: o.number("dropout", 0.0)?,
                bidirectional: o.flag("bidirectional", false)?,
                proj_size: o.maybe_size("projection")?,
            };
            Layer::Lstm(Lstm::try_with_options(o.size("inputs")?, o.size("hidden")?, layer, device)?)
        }
        "rnn_cell" => {
            let cell = RnnCellOptions { bias: o.flag("bias", true)?, nonlinearity: nonlinearity(o)? };
            Layer::RnnCell(RnnCell::try_with_options(o.size("inputs")?, o.size("hidden")?, cell, device)?)
        }
        "gru_cell" => {
            let cell = CellOptions { bias: o.flag("bias", true)? };
            Layer::GruCell(GruCell::try_with_options(o.size("inputs")?, o.size("hidden")?, cell, device)?)
        }
        "lstm_cell" => {
            let cell = CellOptions { bias: o.flag("bias", true)? };
            Layer::LstmCell(LstmCell::try_with_options(o.size("inputs")?, o.size("hidden")?, cell, device)?)
        }
        "transformer_encoder_layer" => {
            let (width, heads, layer) = transformer_layer(o)?;
            Layer::EncoderBlock(TransformerEncoderLayer::try_with_options(width, heads, layer, device)?)
        }
        "transformer_decoder_layer" => {
            let (width, heads, layer) = transformer_layer(o)?;
            Layer::DecoderBlock(TransformerDecoderLayer::try_with_options(width, heads, layer, device)?)
        }
        "transformer_encoder" => {
            let (count, norm) = (o.size_or("layers", 6)?, o.flag("norm", false)?);
            let (width, heads, layer) = transformer_layer(o)?;
            let one = |_| TransformerEncoderLayer::try_with_options(width, heads, layer, device);
            let layers = (0..count).map(one).collect::<Result<Vec<_>>>()?;
            Layer::Encoder(TransformerEncoder::new(layers, final_norm(norm, width, &layer, device)?))
        }
        "transformer_decoder" => {
            let (count, norm) = (o.size_or("layers", 6)?, o.flag("norm", false)?);
            let (width, heads, layer) = transformer_layer(o)?;
            let one = |_| TransformerDecoderLayer::try_with_options(width, heads, layer, device);
            let layers = (0..count).map(one).collect::<Result<Vec<_>>>()?;
            Layer::Decoder(TransformerDecoder::new(layers, final_norm(norm, width, &layer, device)?))
        }
        "transformer" => {
            let num_encoder_layers = o.size_or("encoder_layers", 6)?;
            let num_decoder_layers = o.size_or("decoder_layers", 6)?;
            let (width, heads, layer) = transformer_layer(o)?;
            let model = TransformerOptions { num_encoder_layers, num_decoder_layers, layer };
            Layer::Transformer(Transformer::try_with_options(width, heads, model, device)?)
        }
        other => return Err(argument("layer", format!("there is no layer {other}"))),
    })
}

/// The norm after the last layer, with the same ε as within the layers.
fn final_norm(
    wanted: bool,
    width: usize,
    layer: &TransformerLayerOptions,
    device: &Device,
) -> Result<Option<LayerNorm>> {
    let norm = LayerNormOptions { eps: layer.layer_norm_eps, ..Default::default() };
    wanted.then(|| LayerNorm::try_with_options(width, norm, device)).transpose()
}

fn nonlinearity(o: &mut Options) -> Result<RnnNonlinearity> {
    match o.word("nonlinearity", "tanh")?.as_str() {
        "tanh" => Ok(RnnNonlinearity::Tanh),
        "relu" => Ok(RnnNonlinearity::Relu),
        other => Err(argument("rnn", format!("nonlinearity {other} is neither tanh nor relu"))),
    }
}

fn transformer_layer(o: &mut Options) -> Result<(usize, usize, TransformerLayerOptions)> {
    let activation = match o.word("activation", "relu")?.as_str() {
        "relu" => TransformerActivation::Relu,
        "gelu" => TransformerActivation::Gelu,
        other => return Err(argument("transformer", format!("activation {other} is neither relu nor gelu"))),
    };
    let layer = TransformerLayerOptions {
        dim_feedforward: o.size_or("feed_forward", 2048)?,
        dropout: o.number("dropout", 0.1)?,
        activation,
        layer_norm_eps: o.number("eps", 1e-5)?,
        batch_first: o.flag("batch_first", false)?,
        norm_first: o.flag("norm_first", false)?,
    };
    Ok((o.size("width")?, o.size("heads")?, layer))
}

fn conv<const N: usize>(o: &mut Options, device: &Device) -> Result<Conv<N>> {
    let padding = match o.take("padding") {
        None => Padding::from([0; N]),
        Some(serde_json::Value::String(word)) => match word.as_str() {
            "same" => Padding::Same,
            "valid" => Padding::Valid,
            other => return Err(argument("conv", format!("padding {other} is neither same nor valid"))),
        },
        Some(value) => {
            let mut one = Options::from_value("conv", serde_json::json!({ "padding": value }))?;
            Padding::from(one.around::<N>("padding", 0)?)
        }
    };
    let conv = ConvOptions {
        stride: o.around("stride", 1)?,
        padding,
        dilation: o.around("dilation", 1)?,
        groups: o.size_or("groups", 1)?,
    };
    let padding_mode = match o.word("padding_mode", "zeros")?.as_str() {
        "zeros" => PaddingMode::Zeros,
        "reflect" => PaddingMode::Reflect,
        "replicate" => PaddingMode::Replicate,
        "circular" => PaddingMode::Circular,
        other => {
            return Err(argument(
                "conv",
                format!("padding_mode {other} is none of zeros, reflect, replicate, circular"),
            ));
        }
    };
    let layer = ConvLayerOptions { conv, bias: o.flag("bias", true)?, padding_mode };
    let kernel = o.around::<N>("kernel", 1)?;
    Conv::try_with_options(o.size("inputs")?, o.size("outputs")?, kernel, layer, device)
}

fn conv_transpose<const N: usize>(o: &mut Options, device: &Device) -> Result<ConvTranspose<N>> {
    let conv = ConvTransposeOptions {
        stride: o.around("stride", 1)?,
        padding: o.around("padding", 0)?,
        output_padding: o.around("output_padding", 0)?,
        dilation: o.around("dilation", 1)?,
        groups: o.size_or("groups", 1)?,
    };
    let layer = ConvTransposeLayerOptions { conv, bias: o.flag("bias", true)? };
    let kernel = o.around::<N>("kernel", 1)?;
    ConvTranspose::try_with_options(o.size("inputs")?, o.size("outputs")?, kernel, layer, device)
}

fn max_pool<const N: usize>(o: &mut Options) -> Result<MaxPool<N>> {
    let kernel = o.around::<N>("kernel", 1)?;
    let options = MaxPoolOptions::default()
        .with_padding(o.around::<N>("padding", 0)?)
        .with_dilation(o.around::<N>("dilation", 1)?)
        .with_ceil_mode(o.flag("ceil_mode", false)?);
    let stride = o.around::<N>("stride", 0)?;
    Ok(MaxPool::with_options(kernel, if stride == [0; N] { options } else { options.with_stride(stride) }))
}

fn avg_pool<const N: usize>(o: &mut Options) -> Result<AvgPool<N>> {
    let kernel = o.around::<N>("kernel", 1)?;
    let options = AvgPoolOptions::default()
        .with_padding(o.around::<N>("padding", 0)?)
        .with_ceil_mode(o.flag("ceil_mode", false)?)
        .with_count_include_pad(o.flag("count_include_pad", true)?);
    let stride = o.around::<N>("stride", 0)?;
    Ok(AvgPool::with_options(kernel, if stride == [0; N] { options } else { options.with_stride(stride) }))
}

fn batch_norm(o: &mut Options) -> Result<BatchNormOptions> {
    // `null` asks for the mean over all batches; left out, the default holds.
    let momentum = match o.take("cumulative") {
        Some(_) => None,
        None => Some(o.number("momentum", 0.1)?),
    };
    Ok(BatchNormOptions {
        eps: o.number("eps", 1e-5)?,
        momentum,
        affine: o.flag("affine", true)?,
        track_running_stats: o.flag("track_running_stats", true)?,
    })
}

fn instance_norm(o: &mut Options) -> Result<InstanceNormOptions> {
    Ok(InstanceNormOptions {
        eps: o.number("eps", 1e-5)?,
        momentum: o.number("momentum", 0.1)?,
        affine: o.flag("affine", false)?,
        track_running_stats: o.flag("track_running_stats", false)?,
    })
}
