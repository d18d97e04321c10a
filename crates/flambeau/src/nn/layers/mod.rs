//! The layers, one topic per file: parameters with PyTorch's names, defaults and first values, and what they compute.

mod activation;
mod adaptive_softmax;
mod attention;
mod batch_norm;
mod conv;
mod distance;
mod dropout;
mod embedding;
mod linear;
mod norm;
mod padding;
mod patches;
mod pool;
mod rare_pool;
mod recurrent;
mod reshape;
mod resize;
mod text;
mod transformer;

pub use activation::{
    Celu, Elu, Gelu, GeluApproximation, Glu, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyRelu,
    LogSigmoid, LogSoftmax, Mish, PRelu, PReluOptions, RRelu, Relu, Relu6, Selu, Sigmoid, Silu, Softmax,
    Softmax2d, Softmin, Softplus, Softshrink, Softsign, Tanh, Tanhshrink, Threshold,
};
pub use adaptive_softmax::{AdaptiveLogSoftmaxWithLoss, AdaptiveSoftmaxOptions};
pub use attention::{AttentionMasks, AttentionWeights, MultiheadAttention, MultiheadAttentionOptions};
pub use batch_norm::{
    BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d, BatchNormOptions, InstanceNorm, InstanceNorm1d,
    InstanceNorm2d, InstanceNorm3d, InstanceNormOptions, RunningStatistics,
};
pub use conv::{
    Conv, Conv1d, Conv2d, Conv3d, ConvLayerOptions, ConvTranspose, ConvTranspose1d, ConvTranspose2d,
    ConvTranspose3d, ConvTransposeLayerOptions, PaddingMode,
};
pub use distance::{CosineSimilarity, PairwiseDistance};
pub use dropout::{AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout};
pub use embedding::{Embedding, EmbeddingBag, EmbeddingBagLayerOptions, EmbeddingOptions, RowOptions};
pub use linear::{Bilinear, Linear, LinearOptions};
pub use norm::{
    CrossMapLrn2d, GroupNorm, GroupNormOptions, LayerNorm, LayerNormOptions, LocalResponseNorm, RmsNorm,
    RmsNormOptions,
};
pub use padding::{
    CircularPad1d, CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d,
    ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d, ReplicationPad2d, ReplicationPad3d,
    Sides, ZeroPad1d, ZeroPad2d, ZeroPad3d,
};
pub use patches::{Fold, Unfold};
pub use pool::{
    AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool,
    AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d, AvgPool, AvgPool1d, AvgPool2d, AvgPool3d,
    MaxPool, MaxPool1d, MaxPool2d, MaxPool3d, OutputSizes,
};
pub use rare_pool::{
    FractionalMaxPool, FractionalMaxPool2d, FractionalMaxPool3d, FractionalOutput, LpPool, LpPool1d,
    LpPool2d, LpPool3d, MaxUnpool, MaxUnpool1d, MaxUnpool2d, MaxUnpool3d,
};
pub use recurrent::{
    CellOptions, Gru, GruCell, GruOptions, Lstm, LstmCell, LstmOptions, Rnn, RnnCell, RnnCellOptions,
    RnnNonlinearity, RnnOptions,
};
pub use reshape::{Flatten, Identity, Unflatten};
pub use resize::{PixelShuffle, PixelUnshuffle, Upsample};
pub use transformer::{
    Transformer, TransformerActivation, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder,
    TransformerEncoderLayer, TransformerLayerOptions, TransformerMasks, TransformerOptions,
    sinusoidal_positions, try_sinusoidal_positions,
};

use crate::error::{Error, Result};

/// The most layers that are made at once: each takes memory of the host, whatever its sizes.
const MAX_LAYERS: usize = 1 << 14;

/// Refuses more layers than are made at once.
pub(crate) fn check_layers(op: &'static str, count: usize) -> Result<()> {
    if count <= MAX_LAYERS {
        return Ok(());
    }
    Err(Error::argument(op, format!("{count} layers are more than {MAX_LAYERS}")))
}

/// The constructors of a layer with parameters, from the body of the last: `new(required, options)`,
/// `with_options(required, layer, options)` and `try_with_options`, where `options` are dtype and device.
macro_rules! constructors {
    (($($arg:ident: $type:ty),*; $layer:ident: $layer_type:ty; $options:ident) $body:expr) => {
        constructors! { ($($arg: $type),*; $layer: $layer_type = Default::default(); $options) $body }
    };
    (($($arg:ident: $type:ty),*; $layer:ident: $layer_type:ty = $default:expr; $options:ident) $body:expr) => {
        /// With the default settings.
        #[track_caller]
        pub fn new($($arg: $type,)* $options: impl Into<$crate::tensor::TensorOptions>) -> Self {
            Self::with_options($($arg,)* $default, $options)
        }

        /// With all settings.
        #[track_caller]
        pub fn with_options(
            $($arg: $type,)*
            $layer: $layer_type,
            $options: impl Into<$crate::tensor::TensorOptions>,
        ) -> Self {
            $crate::error::expect(Self::try_with_options($($arg,)* $layer, $options))
        }

        /// [`with_options`](Self::with_options), or the error instead of a panic.
        #[track_caller]
        pub fn try_with_options(
            $($arg: $type,)*
            $layer: $layer_type,
            $options: impl Into<$crate::tensor::TensorOptions>,
        ) -> $crate::error::Result<Self> {
            let $options = $options.into();
            $body
        }
    };
}
use constructors;

/// `forward` and `try_forward` of a layer with two inputs, from the body of the latter.
macro_rules! forward_of_two {
    (($this:ident, $first:ident, $second:ident) $body:expr) => {
        /// The output for these inputs.
        #[track_caller]
        pub fn forward(&$this, $first: &Tensor, $second: &Tensor) -> Tensor {
            $crate::error::expect($this.try_forward($first, $second))
        }

        /// [`forward`](Self::forward), or the error instead of a panic.
        #[track_caller]
        pub fn try_forward(&$this, $first: &Tensor, $second: &Tensor) -> Result<Tensor> {
            $body
        }
    };
}
use forward_of_two;
