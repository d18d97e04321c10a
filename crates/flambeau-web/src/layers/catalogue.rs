//! The layers that scripts can make, one entry each. Names are PyTorch's where JavaScript's are no others.

use super::Layer;
use crate::catalogue::catalogue;
use crate::device::current;
use crate::handles::argument;
use flambeau::nn::functional::{InterpolateMode, InterpolateOptions};
use flambeau::nn::models::{Cnn, Gpt, GptConfig, Mlp, ResNet, ResNetDepth, ResNetOptions};
use flambeau::nn::*;
use flambeau::settings::{SettingMap, Settings};
use flambeau::{AvgPoolOptions, Device, MaxPoolOptions, Result};

/// Makes a layer.
pub fn layer(kind: &str, options: &str) -> Result<Layer> {
    make(kind, options, &current()?)
}

/// Makes a layer on a device.
pub fn make(kind: &str, options: &str, device: &Device) -> Result<Layer> {
    usual(kind, &mut SettingMap::parse("layer", options)?, device)
}

/// Numbers that are given one by one: `mlp(784, 128, 10)`.
type Spread = Vec<usize>;

catalogue! {
    /// The layers of small models: a page has them with the first part of the module, the others with the second.
    fn usual(kind, given, device: &Device) -> Layer {
        else rare(kind, given, device)
    }
    usual_entries;

    linear: Layer = Linear(inputs: usize, outputs: usize; options: LinearOptions) {
        Linear::try_with_options(inputs, outputs, options, device)
    }
    conv2d: Layer = Conv2d(inputs: usize, outputs: usize, kernel: [usize; 2]; options: ConvLayerOptions<2>) {
        Conv2d::try_with_options(inputs, outputs, kernel, options, device)
    }
    max_pool2d: Layer = MaxPool2d(kernel: [usize; 2]; options: MaxPoolOptions<2>) {
        Ok(MaxPool2d::with_options(kernel, options))
    }
    avg_pool2d: Layer = AvgPool2d(kernel: [usize; 2]; options: AvgPoolOptions<2>) {
        Ok(AvgPool2d::with_options(kernel, options))
    }
    adaptive_avg_pool2d: Layer = AdaptiveAvgPool2d(output: [usize; 2]) { Ok(AdaptiveAvgPool2d::new(output)) }
    batch_norm1d: Layer = BatchNorm1d(features: usize; options: BatchNormSettings) {
        BatchNorm1d::try_with_options(features, options.norm(), device)
    }
    batch_norm2d: Layer = BatchNorm2d(features: usize; options: BatchNormSettings) {
        BatchNorm2d::try_with_options(features, options.norm(), device)
    }
    layer_norm: Layer = LayerNorm(shape: Vec<usize>; options: LayerNormOptions) {
        LayerNorm::try_with_options(shape, options, device)
    }
    embedding: Layer = Embedding(rows: usize, width: usize; options: EmbeddingOptions) {
        Embedding::try_with_options(rows, width, options, device)
    }
    dropout: Layer = Dropout(; layer: Dropout) { Ok(layer) }
    dropout2d: Layer = Dropout2d(; layer: Dropout2d) { Ok(layer) }
    identity: Layer = Identity() { Ok(Identity) }
    flatten: Layer = Flatten(; layer: Flatten) { Ok(layer) }
    mlp: Layer = Mlp(sizes: Spread) {
        match sizes.len() {
            0 | 1 => Err(argument("mlp", "sizes must be at least the inputs and the outputs")),
            _ => Mlp::try_with_options(&sizes, Default::default(), device),
        }
    }
    relu: Layer = Relu() { Ok(Relu) }
    silu: Layer = Silu() { Ok(Silu) }
    sigmoid: Layer = Sigmoid() { Ok(Sigmoid) }
    tanh: Layer = Tanh() { Ok(Tanh) }
    gelu: Layer = Gelu(; options: Gelu) { Ok(options) }
    leaky_relu: Layer = LeakyRelu(; layer: LeakyRelu) { Ok(layer) }
    softmax: Layer = Softmax(dim: isize = -1) { Ok(Softmax { dim }) }
}

catalogue! {
    #[inline(never)]
    fn rare(kind, given, device: &Device) -> Layer {
        else special(kind, given, device)
    }
    rare_entries;

    conv1d: Layer = Conv1d(inputs: usize, outputs: usize, kernel: [usize; 1]; options: ConvLayerOptions<1>) {
        Conv1d::try_with_options(inputs, outputs, kernel, options, device)
    }
    conv3d: Layer = Conv3d(inputs: usize, outputs: usize, kernel: [usize; 3]; options: ConvLayerOptions<3>) {
        Conv3d::try_with_options(inputs, outputs, kernel, options, device)
    }
    conv_transpose1d: Layer = ConvTranspose1d(inputs: usize, outputs: usize, kernel: [usize; 1];
        options: ConvTransposeLayerOptions<1>)
    {
        ConvTranspose1d::try_with_options(inputs, outputs, kernel, options, device)
    }
    conv_transpose2d: Layer = ConvTranspose2d(inputs: usize, outputs: usize, kernel: [usize; 2];
        options: ConvTransposeLayerOptions<2>)
    {
        ConvTranspose2d::try_with_options(inputs, outputs, kernel, options, device)
    }
    conv_transpose3d: Layer = ConvTranspose3d(inputs: usize, outputs: usize, kernel: [usize; 3];
        options: ConvTransposeLayerOptions<3>)
    {
        ConvTranspose3d::try_with_options(inputs, outputs, kernel, options, device)
    }
    max_pool1d: Layer = MaxPool1d(kernel: [usize; 1]; options: MaxPoolOptions<1>) {
        Ok(MaxPool1d::with_options(kernel, options))
    }
    max_pool3d: Layer = MaxPool3d(kernel: [usize; 3]; options: MaxPoolOptions<3>) {
        Ok(MaxPool3d::with_options(kernel, options))
    }
    avg_pool1d: Layer = AvgPool1d(kernel: [usize; 1]; options: AvgPoolOptions<1>) {
        Ok(AvgPool1d::with_options(kernel, options))
    }
    avg_pool3d: Layer = AvgPool3d(kernel: [usize; 3]; options: AvgPoolOptions<3>) {
        Ok(AvgPool3d::with_options(kernel, options))
    }
    adaptive_avg_pool1d: Layer = AdaptiveAvgPool1d(output: [usize; 1]) { Ok(AdaptiveAvgPool1d::new(output)) }
    adaptive_avg_pool3d: Layer = AdaptiveAvgPool3d(output: [usize; 3]) { Ok(AdaptiveAvgPool3d::new(output)) }
    adaptive_max_pool1d: Layer = AdaptiveMaxPool1d(output: [usize; 1]) { Ok(AdaptiveMaxPool1d::new(output)) }
    adaptive_max_pool2d: Layer = AdaptiveMaxPool2d(output: [usize; 2]) { Ok(AdaptiveMaxPool2d::new(output)) }
    adaptive_max_pool3d: Layer = AdaptiveMaxPool3d(output: [usize; 3]) { Ok(AdaptiveMaxPool3d::new(output)) }
    batch_norm3d: Layer = BatchNorm3d(features: usize; options: BatchNormSettings) {
        BatchNorm3d::try_with_options(features, options.norm(), device)
    }
    instance_norm1d: Layer = InstanceNorm1d(features: usize; options: InstanceNormOptions) {
        InstanceNorm1d::try_with_options(features, options, device)
    }
    instance_norm2d: Layer = InstanceNorm2d(features: usize; options: InstanceNormOptions) {
        InstanceNorm2d::try_with_options(features, options, device)
    }
    instance_norm3d: Layer = InstanceNorm3d(features: usize; options: InstanceNormOptions) {
        InstanceNorm3d::try_with_options(features, options, device)
    }
    rms_norm: Layer = RmsNorm(shape: Vec<usize>; options: RmsNormOptions) {
        RmsNorm::try_with_options(shape, options, device)
    }
    group_norm: Layer = GroupNorm(groups: usize, channels: usize; options: GroupNormOptions) {
        GroupNorm::try_with_options(groups, channels, options, device)
    }
    local_response_norm: Layer = LocalResponseNorm(size: usize;
        options: LocalResponseNorm = LocalResponseNorm::new(size))
    {
        Ok(options)
    }
    dropout1d: Layer = Dropout1d(; layer: Dropout1d) { Ok(layer) }
    dropout3d: Layer = Dropout3d(; layer: Dropout3d) { Ok(layer) }
    alpha_dropout: Layer = AlphaDropout(; layer: AlphaDropout) { Ok(layer) }
    feature_alpha_dropout: Layer = FeatureAlphaDropout(; layer: FeatureAlphaDropout) { Ok(layer) }
    unflatten: Layer = Unflatten(dim: isize, sizes: Vec<isize>) { Ok(Unflatten::new(dim, sizes)) }
    pixel_shuffle: Layer = PixelShuffle(factor: usize) { Ok(PixelShuffle { upscale_factor: factor }) }
    pixel_unshuffle: Layer = PixelUnshuffle(factor: usize) { Ok(PixelUnshuffle { downscale_factor: factor }) }
    upsample: Layer = Upsample(; options: UpsampleOptions) { Ok(Upsample::with_options(options.interpolation())) }
    cnn: Layer = Cnn(classes: usize = 10) { Cnn::try_with_options(classes, Default::default(), device) }
    resnet18: Layer = ResNet(classes: usize = 1000; options: ResNetOptions) {
        ResNet::try_with_options(ResNetDepth::Resnet18, classes, options, device)
    }
    resnet34: Layer = ResNet(classes: usize = 1000; options: ResNetOptions) {
        ResNet::try_with_options(ResNetDepth::Resnet34, classes, options, device)
    }
    resnet50: Layer = ResNet(classes: usize = 1000; options: ResNetOptions) {
        ResNet::try_with_options(ResNetDepth::Resnet50, classes, options, device)
    }
    relu6: Layer = Relu6() { Ok(Relu6) }
    selu: Layer = Selu() { Ok(Selu) }
    mish: Layer = Mish() { Ok(Mish) }
    log_sigmoid: Layer = LogSigmoid() { Ok(LogSigmoid) }
    tanhshrink: Layer = Tanhshrink() { Ok(Tanhshrink) }
    softsign: Layer = Softsign() { Ok(Softsign) }
    hardsigmoid: Layer = Hardsigmoid() { Ok(Hardsigmoid) }
    hardswish: Layer = Hardswish() { Ok(Hardswish) }
    softmax2d: Layer = Softmax2d() { Ok(Softmax2d) }
    elu: Layer = Elu(; layer: Elu) { Ok(layer) }
    celu: Layer = Celu(; layer: Celu) { Ok(layer) }
    softplus: Layer = Softplus(; layer: Softplus) { Ok(layer) }
    hardtanh: Layer = Hardtanh(; layer: Hardtanh) { Ok(layer) }
    hardshrink: Layer = Hardshrink(; layer: Hardshrink) { Ok(layer) }
    softshrink: Layer = Softshrink(; layer: Softshrink) { Ok(layer) }
    glu: Layer = Glu(; layer: Glu) { Ok(layer) }
    rrelu: Layer = RRelu(; layer: RRelu) { Ok(layer) }
    threshold: Layer = Threshold(threshold: f64, value: f64) { Ok(Threshold { threshold, value }) }
    log_softmax: Layer = LogSoftmax(dim: isize = -1) { Ok(LogSoftmax { dim }) }
    softmin: Layer = Softmin(dim: isize = -1) { Ok(Softmin { dim }) }
    prelu: Layer = PRelu(; options: PReluOptions) { PRelu::try_with_options(options, device) }
    zero_pad1d: Layer = ZeroPad1d(padding: Sides<2>) { Ok(ZeroPad1d::new(padding)) }
    zero_pad2d: Layer = ZeroPad2d(padding: Sides<4>) { Ok(ZeroPad2d::new(padding)) }
    zero_pad3d: Layer = ZeroPad3d(padding: Sides<6>) { Ok(ZeroPad3d::new(padding)) }
    reflection_pad1d: Layer = ReflectionPad1d(padding: Sides<2>) { Ok(ReflectionPad1d::new(padding)) }
    reflection_pad2d: Layer = ReflectionPad2d(padding: Sides<4>) { Ok(ReflectionPad2d::new(padding)) }
    reflection_pad3d: Layer = ReflectionPad3d(padding: Sides<6>) { Ok(ReflectionPad3d::new(padding)) }
    replication_pad1d: Layer = ReplicationPad1d(padding: Sides<2>) { Ok(ReplicationPad1d::new(padding)) }
    replication_pad2d: Layer = ReplicationPad2d(padding: Sides<4>) { Ok(ReplicationPad2d::new(padding)) }
    replication_pad3d: Layer = ReplicationPad3d(padding: Sides<6>) { Ok(ReplicationPad3d::new(padding)) }
    circular_pad1d: Layer = CircularPad1d(padding: Sides<2>) { Ok(CircularPad1d::new(padding)) }
    circular_pad2d: Layer = CircularPad2d(padding: Sides<4>) { Ok(CircularPad2d::new(padding)) }
    circular_pad3d: Layer = CircularPad3d(padding: Sides<6>) { Ok(CircularPad3d::new(padding)) }
    constant_pad1d: Layer = ConstantPad1d(padding: Sides<2>, value: f64) { Ok(ConstantPad1d::new(padding, value)) }
    constant_pad2d: Layer = ConstantPad2d(padding: Sides<4>, value: f64) { Ok(ConstantPad2d::new(padding, value)) }
    constant_pad3d: Layer = ConstantPad3d(padding: Sides<6>, value: f64) { Ok(ConstantPad3d::new(padding, value)) }
}

catalogue! {
    #[inline(never)]
    fn special(kind, given, device: &Device) -> Layer {
        else Err(argument("layer", format!("there is no layer {kind}")))
    }
    special_entries;

    bilinear: PairLayer = Bilinear(inputs: usize, others: usize, outputs: usize; options: LinearOptions) {
        Bilinear::try_with_options(inputs, others, outputs, options, device)
    }
    cosine_similarity: PairLayer = CosineSimilarity(; options: CosineSimilarity) { Ok(options) }
    pairwise_distance: PairLayer = PairwiseDistance(; options: PairwiseDistance) { Ok(options) }
    embedding_bag: EmbeddingBag = EmbeddingBag(rows: usize, width: usize; options: EmbeddingBagLayerOptions) {
        EmbeddingBag::try_with_options(rows, width, options, device)
    }
    multihead_attention: MultiheadAttention = MultiheadAttention(width: usize, heads: usize;
        options: MultiheadAttentionOptions)
    {
        MultiheadAttention::try_with_options(width, heads, options, device)
    }
    rnn: Recurrent = Rnn(inputs: usize, hidden: usize; options: RnnOptions) {
        Rnn::try_with_options(inputs, hidden, options, device)
    }
    gru: Recurrent = Gru(inputs: usize, hidden: usize; options: GruOptions) {
        Gru::try_with_options(inputs, hidden, options, device)
    }
    lstm: Lstm = Lstm(inputs: usize, hidden: usize; options: LstmOptions) {
        Lstm::try_with_options(inputs, hidden, options, device)
    }
    rnn_cell: Cell = RnnCell(inputs: usize, hidden: usize; options: RnnCellOptions) {
        RnnCell::try_with_options(inputs, hidden, options, device)
    }
    gru_cell: Cell = GruCell(inputs: usize, hidden: usize; options: CellOptions) {
        GruCell::try_with_options(inputs, hidden, options, device)
    }
    lstm_cell: LstmCell = LstmCell(inputs: usize, hidden: usize; options: CellOptions) {
        LstmCell::try_with_options(inputs, hidden, options, device)
    }
    transformer_encoder_layer: Encoder = TransformerEncoderLayer(width: usize, heads: usize;
        options: TransformerLayerOptions)
    {
        TransformerEncoderLayer::try_with_options(width, heads, options, device)
    }
    transformer_decoder_layer: Decoder = TransformerDecoderLayer(width: usize, heads: usize;
        options: TransformerLayerOptions)
    {
        TransformerDecoderLayer::try_with_options(width, heads, options, device)
    }
    transformer_encoder: Encoder = TransformerEncoder(width: usize, heads: usize; options: TransformerStackOptions) {
        let layer = |_| TransformerEncoderLayer::try_with_options(width, heads, options.layer, device);
        let layers = (0..options.num_layers).map(layer).collect::<Result<Vec<_>>>()?;
        Ok(TransformerEncoder::new(layers, options.final_norm(width, device)?))
    }
    transformer_decoder: Decoder = TransformerDecoder(width: usize, heads: usize; options: TransformerStackOptions) {
        let layer = |_| TransformerDecoderLayer::try_with_options(width, heads, options.layer, device);
        let layers = (0..options.num_layers).map(layer).collect::<Result<Vec<_>>>()?;
        Ok(TransformerDecoder::new(layers, options.final_norm(width, device)?))
    }
    gpt: Gpt = Gpt(; options: GptConfig) { Gpt::try_new(options, device) }
    transformer: Transformer = Transformer(width: usize, heads: usize; options: TransformerOptions) {
        Transformer::try_with_options(width, heads, options, device)
    }
}

/// The settings of batch norms.
#[derive(Default, Settings)]
struct BatchNormSettings {
    #[setting(flatten)]
    norm: BatchNormOptions,
    /// Running statistics are the mean over all batches, not by momentum: as `momentum: null`.
    cumulative: bool,
}

impl BatchNormSettings {
    fn norm(self) -> BatchNormOptions {
        BatchNormOptions { momentum: self.norm.momentum.filter(|_| !self.cumulative), ..self.norm }
    }
}

/// How large an upsampled input is, and how it is made.
#[derive(Settings)]
struct UpsampleOptions {
    /// The sizes of the dimensions after (N, C); one stands for all of them.
    size: Vec<usize>,
    /// The factors by which they grow, if no sizes are given.
    factor: Vec<f64>,
    /// How values between the input's are found.
    mode: InterpolateMode,
    /// The first and last places of input and result coincide, instead of their outer edges; for linear and cubic.
    align_corners: bool,
}

impl Default for UpsampleOptions {
    fn default() -> Self {
        let InterpolateOptions { mode, align_corners, .. } = InterpolateOptions::size(&[]);
        UpsampleOptions { size: Vec::new(), factor: Vec::new(), mode, align_corners }
    }
}

impl UpsampleOptions {
    fn interpolation(&self) -> InterpolateOptions {
        let options = match self.size.is_empty() {
            true => InterpolateOptions::factor(&self.factor),
            false => InterpolateOptions::size(&self.size),
        };
        InterpolateOptions { mode: self.mode, align_corners: self.align_corners, ..options }
    }
}

/// Layers of a transformer on top of each other.
#[derive(Settings)]
struct TransformerStackOptions {
    #[setting(flatten)]
    layer: TransformerLayerOptions,
    /// How many layers.
    #[setting(name = "layers")]
    num_layers: usize,
    /// Is there a norm after the last layer? Its ε is that of the layers' norms.
    norm: bool,
}

impl Default for TransformerStackOptions {
    fn default() -> Self {
        let TransformerOptions { num_encoder_layers, layer, .. } = TransformerOptions::default();
        TransformerStackOptions { layer, num_layers: num_encoder_layers, norm: false }
    }
}

impl TransformerStackOptions {
    fn final_norm(&self, width: usize, device: &Device) -> Result<Option<LayerNorm>> {
        let norm = LayerNormOptions { eps: self.layer.layer_norm_eps, ..Default::default() };
        self.norm.then(|| LayerNorm::try_with_options(width, norm, device)).transpose()
    }
}
