// The layers of the catalogue, as written by `cargo test -p flambeau-web`: do not edit by hand.

import type { Sizes } from "../types.js";
import { Cell, Decoder, EmbeddingBag, Encoder, Gpt, Layer, Lstm, LstmCell, MultiheadAttention, PairLayer, Recurrent, Transformer } from "../nn/layer.js";

/** The settings of `Linear` and `Bilinear`. */
export interface LinearOptions {
  /** Is a bias added? Default: true. */
  bias?: boolean;
}

/** The settings of `Conv1d`, `Conv2d` and `Conv3d`. What concerns the windows alone converts into it. */
export interface ConvOptions {
  /** Steps between windows. Default: 1. */
  stride?: Sizes;
  /** Zeros around the input. Default: 0. */
  padding?: Sizes | "same" | "valid";
  /** Steps between the elements of a window. Default: 1. */
  dilation?: Sizes;
  /** Groups of channels that do not see each other. Default: 1. */
  groups?: number;
  /** Is a bias added? Default: true. */
  bias?: boolean;
  /** What the padding is made of. Default: "zeros". */
  paddingMode?: "zeros" | "reflect" | "replicate" | "circular";
}

/** How a maximum over windows goes over N dimensions: as PyTorch's `stride`, `padding`, `dilation`, `ceil_mode`. */
export interface MaxPoolOptions {
  /** Steps between windows; the size of the window if none are given. */
  stride?: Sizes;
  /** Places around the input that belong to windows and have no element; at most half a window. Default: 0. */
  padding?: Sizes;
  /** Steps between the elements of a window. Default: 1. */
  dilation?: Sizes;
  /** Is a last window that reaches past the end kept? Default: false. */
  ceilMode?: boolean;
}

/** How a mean over windows goes over N dimensions: as PyTorch's `stride`, `padding`, `ceil_mode`, `count_include_pad`, `divisor_override`. */
export interface AvgPoolOptions {
  /** Steps between windows; the size of the window if none are given. */
  stride?: Sizes;
  /** Zeros around the input; at most half a window. Default: 0. */
  padding?: Sizes;
  /** Is a last window that reaches past the end kept? Default: false. */
  ceilMode?: boolean;
  /** Do the zeros count as elements of the mean? Default: true. */
  countIncludePad?: boolean;
  /** What sums are divided by, instead of the number of elements. */
  divisorOverride?: number;
}

/** The settings of batch norms. */
export interface BatchNormOptions {
  /** Added to variances. Default: 0.00001. */
  eps?: number;
  /** The share a new batch has in the running statistics; `None`: they are the mean over all batches. Default: 0.1. */
  momentum?: number | null;
  /** Are there a weight and a bias? Default: true. */
  affine?: boolean;
  /** Are statistics kept for evaluation? Without them it uses the batch's too. Default: true. */
  trackRunningStats?: boolean;
  /** Running statistics are the mean over all batches, not by momentum: as `momentum: null`. Default: false. */
  cumulative?: boolean;
}

/** The settings of `LayerNorm`. */
export interface LayerNormOptions {
  /** Added to variances. Default: 0.00001. */
  eps?: number;
  /** Are there a weight and a bias? Default: true. */
  affine?: boolean;
  /** Another name of `affine`. */
  elementwiseAffine?: boolean;
  /** Is there a bias beside the weight? Default: true. */
  bias?: boolean;
}

/** The settings of `Embedding`. */
export interface EmbeddingOptions {
  /** The row that is 0 at first and gets no gradient. */
  paddingIndex?: number;
  /** Another name of `paddingIndex`. */
  paddingIdx?: number;
}

/** The settings of `gelu`. */
export interface GeluOptions {
  /** How Φ is computed. Default: "none". */
  approximate?: "none" | "tanh";
}

/** The settings of `ConvTranspose1d`, `ConvTranspose2d` and `ConvTranspose3d`. What concerns the windows alone converts into it. */
export interface ConvTransposeOptions {
  /** Steps between windows of the result. Default: 1. */
  stride?: Sizes;
  /** Elements taken away from both ends of the result. Default: 0. */
  padding?: Sizes;
  /** Elements added to the end of the result, less than stride or dilation. Default: 0. */
  outputPadding?: Sizes;
  /** Steps between the elements of a window. Default: 1. */
  dilation?: Sizes;
  /** Groups of channels that do not see each other. Default: 1. */
  groups?: number;
  /** Is a bias added? Default: true. */
  bias?: boolean;
}

/** The settings of instance norm. */
export interface InstanceNormOptions {
  /** Added to variances. Default: 0.00001. */
  eps?: number;
  /** The share a new batch has in the running statistics. Default: 0.1. */
  momentum?: number;
  /** Are there a weight and a bias? Default: false. */
  affine?: boolean;
  /** Are statistics kept for evaluation? Without them it uses the input's too. Default: false. */
  trackRunningStats?: boolean;
}

/** The settings of `RmsNorm`. */
export interface RmsNormOptions {
  /** Added to the mean of squares; `None`: the smallest step above 1 of the input's dtype. */
  eps?: number;
  /** Is there a weight? Default: true. */
  affine?: boolean;
  /** Another name of `affine`. */
  elementwiseAffine?: boolean;
}

/** The settings of `GroupNorm`. */
export interface GroupNormOptions {
  /** Added to variances. Default: 0.00001. */
  eps?: number;
  /** Are there a weight and a bias? Default: true. */
  affine?: boolean;
}

/** The settings of `localResponseNorm`. */
export interface LocalResponseNormOptions {
  /** α. Default: 0.0001. */
  alpha?: number;
  /** β. Default: 0.75. */
  beta?: number;
  /** k. Default: 1. */
  k?: number;
}

/** How large an upsampled input is, and how it is made. */
export interface UpsampleOptions {
  /** The sizes of the dimensions after (N, C); one stands for all of them. */
  size?: Sizes;
  /** The factors by which they grow, if no sizes are given. */
  factor?: Sizes;
  /** How values between the input's are found. Default: "nearest". */
  mode?: "nearest" | "nearest-exact" | "linear" | "bilinear" | "trilinear" | "bicubic" | "area";
  /** The first and last places of input and result coincide, instead of their outer edges; for linear and cubic. Default: false. */
  alignCorners?: boolean;
}

/** The settings of `ResNet`. */
export interface ResNetOptions {
  /** Channels of the image. Default: 3. */
  inputs?: number;
  /** Channels of the first stage; each later one has twice as many. Default: 64. */
  width?: number;
  /** How it begins. Default: "imagenet". */
  stem?: "imagenet" | "cifar";
  /** Does every block begin as the identity (the weight of its last norm being 0)? Default: false. */
  zeroInitResidual?: boolean;
}

/** The settings of `PRelu`. */
export interface PReluOptions {
  /** The number of slopes: 1, or one for each channel. Default: 1. */
  parameters?: number;
  /** Another name of `parameters`. */
  numParameters?: number;
  /** The first value of the slopes. Default: 0.25. */
  init?: number;
}

/** The settings of `cosineSimilarity`. */
export interface CosineSimilarityOptions {
  /** The vectors' dimension. Default: 1. */
  dim?: number;
  /** ε. Default: 1e-8. */
  eps?: number;
}

/** The settings of `pairwiseDistance`. */
export interface PairwiseDistanceOptions {
  /** p. Default: 2. */
  p?: number;
  /** ε. Default: 1e-6. */
  eps?: number;
  /** Does the last dimension stay, with size 1? Default: false. */
  keepdim?: boolean;
}

/** The settings of `EmbeddingBag`. */
export interface EmbeddingBagOptions {
  /** How the rows of a bag are joined. Default: "mean". */
  mode?: "sum" | "mean" | "max";
  /** The row that counts in no bag, is 0 at first and gets no gradient. */
  paddingIndex?: number;
  /** Another name of `paddingIndex`. */
  paddingIdx?: number;
}

/** The settings of `MultiheadAttention`; the defaults are PyTorch's. */
export interface AttentionOptions {
  /** Are biases added to the projections? Default: true. */
  bias?: boolean;
  /** The probability with which a weight of the attention is dropped in training. Default: 0. */
  dropout?: number;
  /** Features of the keys; those of the queries if absent. */
  keyWidth?: number;
  /** Another name of `keyWidth`. */
  kdim?: number;
  /** Features of the values; those of the queries if absent. */
  valueWidth?: number;
  /** Another name of `valueWidth`. */
  vdim?: number;
  /** Is the batch the first dimension of inputs and output? Default: false. */
  batchFirst?: boolean;
}

/** The settings of `Rnn`; the defaults are PyTorch's. */
export interface RnnOptions {
  /** Layers on top of each other. Default: 1. */
  layers?: number;
  /** Another name of `layers`. */
  numLayers?: number;
  /** Are biases added? Default: true. */
  bias?: boolean;
  /** Is the batch the first dimension of input and output? Default: false. */
  batchFirst?: boolean;
  /** The probability with which outputs of all layers but the last are dropped in training. Default: 0. */
  dropout?: number;
  /** Is the sequence also read backwards? The outputs of both directions are joined. Default: false. */
  bidirectional?: boolean;
  /** The function applied at each step. Default: "tanh". */
  nonlinearity?: "tanh" | "relu";
}

/** The settings of `Gru`; the defaults are PyTorch's. */
export interface GruOptions {
  /** Layers on top of each other. Default: 1. */
  layers?: number;
  /** Another name of `layers`. */
  numLayers?: number;
  /** Are biases added? Default: true. */
  bias?: boolean;
  /** Is the batch the first dimension of input and output? Default: false. */
  batchFirst?: boolean;
  /** The probability with which outputs of all layers but the last are dropped in training. Default: 0. */
  dropout?: number;
  /** Is the sequence also read backwards? The outputs of both directions are joined. Default: false. */
  bidirectional?: boolean;
}

/** The settings of `Lstm`; the defaults are PyTorch's. */
export interface LstmOptions {
  /** Layers on top of each other. Default: 1. */
  layers?: number;
  /** Another name of `layers`. */
  numLayers?: number;
  /** Are biases added? Default: true. */
  bias?: boolean;
  /** Is the batch the first dimension of input and output? Default: false. */
  batchFirst?: boolean;
  /** The probability with which outputs of all layers but the last are dropped in training. Default: 0. */
  dropout?: number;
  /** Is the sequence also read backwards? The outputs of both directions are joined. Default: false. */
  bidirectional?: boolean;
  /** The size to which the hidden state is projected; below the hidden size. */
  projection?: number;
  /** Another name of `projection`. */
  projSize?: number;
}

/** The settings of `RnnCell`; the defaults are PyTorch's. */
export interface RnnCellOptions {
  /** Are biases added? Default: true. */
  bias?: boolean;
  /** The function applied. Default: "tanh". */
  nonlinearity?: "tanh" | "relu";
}

/** The settings of `GruCell` and `LstmCell`; the defaults are PyTorch's. */
export interface CellOptions {
  /** Are biases added? Default: true. */
  bias?: boolean;
}

/** The settings of a transformer's layers; the defaults are PyTorch's. */
export interface TransformerLayerOptions {
  /** Features between the two linear maps. Default: 2048. */
  feedForward?: number;
  /** Another name of `feedForward`. */
  dimFeedforward?: number;
  /** The probability of dropout, everywhere. Default: 0.1. */
  dropout?: number;
  /** The function between the two linear maps. Default: "relu". */
  activation?: "relu" | "gelu";
  /** What is added to variances. Default: 0.00001. */
  eps?: number;
  /** Another name of `eps`. */
  layerNormEps?: number;
  /** Is the batch the first dimension? Default: false. */
  batchFirst?: boolean;
  /** Is normalised before attention and maps, instead of after? Default: false. */
  normFirst?: boolean;
}

/** Layers of a transformer on top of each other. */
export interface TransformerStackOptions {
  /** Features between the two linear maps. Default: 2048. */
  feedForward?: number;
  /** Another name of `feedForward`. */
  dimFeedforward?: number;
  /** The probability of dropout, everywhere. Default: 0.1. */
  dropout?: number;
  /** The function between the two linear maps. Default: "relu". */
  activation?: "relu" | "gelu";
  /** What is added to variances. Default: 0.00001. */
  eps?: number;
  /** Another name of `eps`. */
  layerNormEps?: number;
  /** Is the batch the first dimension? Default: false. */
  batchFirst?: boolean;
  /** Is normalised before attention and maps, instead of after? Default: false. */
  normFirst?: boolean;
  /** How many layers. Default: 6. */
  layers?: number;
  /** Another name of `layers`. */
  numLayers?: number;
  /** Is there a norm after the last layer? Its ε is that of the layers' norms. Default: false. */
  norm?: boolean;
}

/** The settings of `Gpt`. */
export interface GptConfigOptions {
  /** Different tokens. Default: 50257. */
  vocabulary?: number;
  /** Tokens that it can look back on. Default: 1024. */
  context?: number;
  /** Layers. Default: 12. */
  layers?: number;
  /** Heads of each layer's attention. Default: 12. */
  heads?: number;
  /** Features of a token. Default: 768. */
  width?: number;
  /** The probability of dropout, everywhere. Default: 0. */
  dropout?: number;
  /** Have linear layers and norms biases? Default: true. */
  bias?: boolean;
  /** Is the table of embeddings also the last layer's weight? Default: true. */
  tied?: boolean;
}

/** The settings of `Transformer`; the defaults are PyTorch's. */
export interface TransformerOptions {
  /** Layers of the encoder. Default: 6. */
  encoderLayers?: number;
  /** Another name of `encoderLayers`. */
  numEncoderLayers?: number;
  /** Layers of the decoder. Default: 6. */
  decoderLayers?: number;
  /** Another name of `decoderLayers`. */
  numDecoderLayers?: number;
  /** Features between the two linear maps. Default: 2048. */
  feedForward?: number;
  /** Another name of `feedForward`. */
  dimFeedforward?: number;
  /** The probability of dropout, everywhere. Default: 0.1. */
  dropout?: number;
  /** The function between the two linear maps. Default: "relu". */
  activation?: "relu" | "gelu";
  /** What is added to variances. Default: 0.00001. */
  eps?: number;
  /** Another name of `eps`. */
  layerNormEps?: number;
  /** Is the batch the first dimension? Default: false. */
  batchFirst?: boolean;
  /** Is normalised before attention and maps, instead of after? Default: false. */
  normFirst?: boolean;
}

/** y = x Wᵀ + b, from (…, in) to (…, out). W (out, in) and b (out) begin in U(−1/√in, 1/√in). */
export const linear = (inputs: number, outputs: number, options: LinearOptions = {}) => new Layer("linear", { inputs, outputs, ...options });
/** The convolution of images (N, C, H, W) or (C, H, W), as PyTorch's; see `Tensor.conv2d`. Weight and bias begin in U(−1/√n, 1/√n), where n is the number of weights of an output channel. */
export const conv2d = (inputs: number, outputs: number, kernel: Sizes, options: ConvOptions = {}) => new Layer("conv2d", { inputs, outputs, kernel, ...options });
/** The largest element of every window of (N, C, H, W) or (C, H, W); see `Tensor.maxPool2d`. */
export const maxPool2d = (kernel: Sizes, options: MaxPoolOptions = {}) => new Layer("max_pool2d", { kernel, ...options });
/** The mean of every window of (N, C, H, W) or (C, H, W); see `Tensor.avgPool2d`. */
export const avgPool2d = (kernel: Sizes, options: AvgPoolOptions = {}) => new Layer("avg_pool2d", { kernel, ...options });
/** The means of as many windows as asked for over (N, C, H, W) or (C, H, W). */
export const adaptiveAvgPool2d = (output: Sizes) => new Layer("adaptive_avg_pool2d", { output });
/** Batch norm of vectors (N, C) or sequences (N, C, L); see `BatchNorm2d`. */
export const batchNorm1d = (features: number, options: BatchNormOptions = {}) => new Layer("batch_norm1d", { features, ...options });
/** Batch norm of images (N, C, H, W): (x − mean) / √(var + ε) · weight + bias for each channel, with the batch's mean and variance in training and running ones in evaluation: running ← running + momentum · (batch − running), where the batch's variance is the unbiased one. */
export const batchNorm2d = (features: number, options: BatchNormOptions = {}) => new Layer("batch_norm2d", { features, ...options });
/** (x − mean) / √(var + ε) · weight + bias over the last dimensions, whose sizes are given. */
export const layerNorm = (shape: Sizes, options: LayerNormOptions = {}) => new Layer("layer_norm", { shape, ...options });
/** The rows of a table (V, D) that integers name: (…) to (…, D). The table begins in N(0, 1). */
export const embedding = (rows: number, width: number, options: EmbeddingOptions = {}) => new Layer("embedding", { rows, width, ...options });
/** Each element is 0 with probability p in training; the others are divided by 1 − p. */
export const dropout = (p = 0.5) => new Layer("dropout", { p });
/** Whole channels of (N, C, H, W) are 0 with probability p in training. */
export const dropout2d = (p = 0.5) => new Layer("dropout2d", { p });
/** Passes its input on. */
export const identity = () => new Layer("identity", {});
/** The dimensions from `start_dim` to `end_dim`, both included, as one; all but the batch's by default. */
export const flatten = (start = 1, end = -1) => new Layer("flatten", { start, end });
/** Linear layers named `fc1`, `fc2`, …, with a function between them. An input (B, …) is flattened to (B, features). */
export const mlp = (...sizes: number[]) => new Layer("mlp", { sizes });
/** max(x, 0). */
export const relu = () => new Layer("relu", {});
/** x σ(x), also called swish. */
export const silu = () => new Layer("silu", {});
/** 1 / (1 + e⁻ˣ). */
export const sigmoid = () => new Layer("sigmoid", {});
/** The hyperbolic tangent. */
export const tanh = () => new Layer("tanh", {});
/** x Φ(x), with the distribution function Φ of N(0, 1). */
export const gelu = (options: GeluOptions = {}) => new Layer("gelu", options);
/** x, and below 0 a small slope times x. */
export const leakyRelu = (slope = 0.01) => new Layer("leaky_relu", { slope });
/** exp(x) / Σ exp(x) along a dimension. */
export const softmax = (dim = -1) => new Layer("softmax", { dim });
/** The convolution of sequences (N, C, L) or (C, L), as PyTorch's; see `Tensor.conv1d`. */
export const conv1d = (inputs: number, outputs: number, kernel: Sizes, options: ConvOptions = {}) => new Layer("conv1d", { inputs, outputs, kernel, ...options });
/** The convolution of volumes (N, C, D, H, W) or (C, D, H, W), as PyTorch's; see `Tensor.conv3d`. */
export const conv3d = (inputs: number, outputs: number, kernel: Sizes, options: ConvOptions = {}) => new Layer("conv3d", { inputs, outputs, kernel, ...options });
/** The transposed convolution of sequences (N, C, L) or (C, L); see `Tensor.convTranspose1d`. */
export const convTranspose1d = (inputs: number, outputs: number, kernel: Sizes, options: ConvTransposeOptions = {}) => new Layer("conv_transpose1d", { inputs, outputs, kernel, ...options });
/** The transposed convolution of images (N, C, H, W) or (C, H, W); see `Tensor.convTranspose2d`. */
export const convTranspose2d = (inputs: number, outputs: number, kernel: Sizes, options: ConvTransposeOptions = {}) => new Layer("conv_transpose2d", { inputs, outputs, kernel, ...options });
/** The transposed convolution of volumes (N, C, D, H, W) or (C, D, H, W); see `Tensor.convTranspose3d`. */
export const convTranspose3d = (inputs: number, outputs: number, kernel: Sizes, options: ConvTransposeOptions = {}) => new Layer("conv_transpose3d", { inputs, outputs, kernel, ...options });
/** The largest element of every window of (N, C, L) or (C, L); see `Tensor.maxPool1d`. */
export const maxPool1d = (kernel: Sizes, options: MaxPoolOptions = {}) => new Layer("max_pool1d", { kernel, ...options });
/** The largest element of every window of (N, C, D, H, W) or (C, D, H, W); see `Tensor.maxPool3d`. */
export const maxPool3d = (kernel: Sizes, options: MaxPoolOptions = {}) => new Layer("max_pool3d", { kernel, ...options });
/** The mean of every window of (N, C, L) or (C, L); see `Tensor.avgPool1d`. */
export const avgPool1d = (kernel: Sizes, options: AvgPoolOptions = {}) => new Layer("avg_pool1d", { kernel, ...options });
/** The mean of every window of (N, C, D, H, W) or (C, D, H, W); see `Tensor.avgPool3d`. */
export const avgPool3d = (kernel: Sizes, options: AvgPoolOptions = {}) => new Layer("avg_pool3d", { kernel, ...options });
/** The means of as many windows as asked for over (N, C, L) or (C, L). */
export const adaptiveAvgPool1d = (output: Sizes) => new Layer("adaptive_avg_pool1d", { output });
/** The means of as many windows as asked for over (N, C, D, H, W) or (C, D, H, W). */
export const adaptiveAvgPool3d = (output: Sizes) => new Layer("adaptive_avg_pool3d", { output });
/** The largest elements of as many windows as asked for over (N, C, L) or (C, L). */
export const adaptiveMaxPool1d = (output: Sizes) => new Layer("adaptive_max_pool1d", { output });
/** The largest elements of as many windows as asked for over (N, C, H, W) or (C, H, W). */
export const adaptiveMaxPool2d = (output: Sizes) => new Layer("adaptive_max_pool2d", { output });
/** The largest elements of as many windows as asked for over (N, C, D, H, W) or (C, D, H, W). */
export const adaptiveMaxPool3d = (output: Sizes) => new Layer("adaptive_max_pool3d", { output });
/** Batch norm of volumes (N, C, D, H, W); see `BatchNorm2d`. */
export const batchNorm3d = (features: number, options: BatchNormOptions = {}) => new Layer("batch_norm3d", { features, ...options });
/** Instance norm of sequences (N, C, L) or (C, L); see `InstanceNorm2d`. */
export const instanceNorm1d = (features: number, options: InstanceNormOptions = {}) => new Layer("instance_norm1d", { features, ...options });
/** Instance norm of images (N, C, H, W) or (C, H, W): (x − mean) / √(var + ε) · weight + bias for each channel of each image. */
export const instanceNorm2d = (features: number, options: InstanceNormOptions = {}) => new Layer("instance_norm2d", { features, ...options });
/** Instance norm of volumes (N, C, D, H, W) or (C, D, H, W); see `InstanceNorm2d`. */
export const instanceNorm3d = (features: number, options: InstanceNormOptions = {}) => new Layer("instance_norm3d", { features, ...options });
/** x / √(mean(x²) + ε) · weight over the last dimensions, whose sizes are given. */
export const rmsNorm = (shape: Sizes, options: RmsNormOptions = {}) => new Layer("rms_norm", { shape, ...options });
/** (x − mean) / √(var + ε) · weight + bias over groups of channels of (N, C, …) and what follows them. */
export const groupNorm = (groups: number, channels: number, options: GroupNormOptions = {}) => new Layer("group_norm", { groups, channels, ...options });
/** x / (k + α · mean of x² over neighbouring channels)^β for (N, C, …). */
export const localResponseNorm = (size: number, options: LocalResponseNormOptions = {}) => new Layer("local_response_norm", { size, ...options });
/** Whole channels of (N, C, L) or (C, L) are 0 with probability p in training. */
export const dropout1d = (p = 0.5) => new Layer("dropout1d", { p });
/** Whole channels of (N, C, D, H, W) or (C, D, H, W) are 0 with probability p in training. */
export const dropout3d = (p = 0.5) => new Layer("dropout3d", { p });
/** Dropout that keeps mean 0 and variance 1 in training, for networks of `Selu`s. */
export const alphaDropout = (p = 0.5) => new Layer("alpha_dropout", { p });
/** `AlphaDropout` of whole channels of (N, C, …). */
export const featureAlphaDropout = (p = 0.5) => new Layer("feature_alpha_dropout", { p });
/** One dimension as several. */
export const unflatten = (dim: number, sizes: Sizes) => new Layer("unflatten", { dim, sizes });
/** (…, C r², H, W) to (…, C, H r, W r): channels become the pixels of r × r blocks. */
export const pixelShuffle = (factor: number) => new Layer("pixel_shuffle", { factor });
/** (…, C, H r, W r) to (…, C r², H, W): the pixels of r × r blocks become channels. */
export const pixelUnshuffle = (factor: number) => new Layer("pixel_unshuffle", { factor });
/** The dimensions after (N, C) resized, to sizes or by factors; see `Tensor.interpolate`. */
export const upsample = (options: UpsampleOptions = {}) => new Layer("upsample", options);
/** Twice a convolution 3 × 3, ReLU and the maximum of 2 × 2; then two linear layers with ReLU between: `conv1`, `conv2`, `fc1`, `fc2`. From (B, inputs, H, W) to (B, classes). */
export const cnn = (classes = 10) => new Layer("cnn", { classes });
/** A residual network, from images (B, inputs, H, W) to (B, classes). Names, first values and layers are torchvision's: `conv1`, `bn1`, `layer1.0.conv1`, …, `layer2.0.downsample.0`, …, `fc`. */
export const resnet18 = (classes = 1000, options: ResNetOptions = {}) => new Layer("resnet18", { classes, ...options });
/** A residual network, from images (B, inputs, H, W) to (B, classes). Names, first values and layers are torchvision's: `conv1`, `bn1`, `layer1.0.conv1`, …, `layer2.0.downsample.0`, …, `fc`. */
export const resnet34 = (classes = 1000, options: ResNetOptions = {}) => new Layer("resnet34", { classes, ...options });
/** A residual network, from images (B, inputs, H, W) to (B, classes). Names, first values and layers are torchvision's: `conv1`, `bn1`, `layer1.0.conv1`, …, `layer2.0.downsample.0`, …, `fc`. */
export const resnet50 = (classes = 1000, options: ResNetOptions = {}) => new Layer("resnet50", { classes, ...options });
/** min(max(x, 0), 6). */
export const relu6 = () => new Layer("relu6", {});
/** The exponential linear unit, scaled so that mean 0 and variance 1 are kept through layers. */
export const selu = () => new Layer("selu", {});
/** x tanh(softplus(x)). */
export const mish = () => new Layer("mish", {});
/** log σ(x). */
export const logSigmoid = () => new Layer("log_sigmoid", {});
/** x − tanh x. */
export const tanhshrink = () => new Layer("tanhshrink", {});
/** x / (1 + |x|). */
export const softsign = () => new Layer("softsign", {});
/** x / 6 + ½, brought into [0, 1]. */
export const hardsigmoid = () => new Layer("hardsigmoid", {});
/** x times its `Hardsigmoid`. */
export const hardswish = () => new Layer("hardswish", {});
/** `Softmax` over the channels of images (N, C, H, W) or (C, H, W). */
export const softmax2d = () => new Layer("softmax2d", {});
/** x where x > 0, else α (eˣ − 1). */
export const elu = (alpha = 1) => new Layer("elu", { alpha });
/** x where x > 0, else α (e^(x/α) − 1). */
export const celu = (alpha = 1) => new Layer("celu", { alpha });
/** log(1 + e^(βx)) / β, and x where βx is above a threshold. */
export const softplus = (beta = 1, threshold = 20) => new Layer("softplus", { beta, threshold });
/** x brought into an interval. */
export const hardtanh = (min = -1, max = 1) => new Layer("hardtanh", { min, max });
/** x where |x| > λ, else 0. */
export const hardshrink = (lambda = 0.5) => new Layer("hardshrink", { lambda });
/** x moved by λ towards 0, and 0 where |x| ≤ λ. */
export const softshrink = (lambda = 0.5) => new Layer("softshrink", { lambda });
/** The gated linear unit: a σ(b), with the halves a and b of the input. */
export const glu = (dim = -1) => new Layer("glu", { dim });
/** x, and below 0 a slope times x: random for each element in training, the mean of the bounds in evaluation. */
export const rrelu = (lower = 0.125, upper = 0.3333333333333333) => new Layer("rrelu", { lower, upper });
/** x where x > threshold, else a number. */
export const threshold = (threshold: number, value: number) => new Layer("threshold", { threshold, value });
/** The logarithm of `Softmax`, without overflow. */
export const logSoftmax = (dim = -1) => new Layer("log_softmax", { dim });
/** `Softmax` of −x. */
export const softmin = (dim = -1) => new Layer("softmin", { dim });
/** x, and below 0 a slope that is learned times x: one slope, or one for each channel (dimension 1). */
export const prelu = (options: PReluOptions = {}) => new Layer("prelu", options);
/** Zeros around the last dimension. */
export const zeroPad1d = (padding: Sizes) => new Layer("zero_pad1d", { padding });
/** Zeros around the last two dimensions. */
export const zeroPad2d = (padding: Sizes) => new Layer("zero_pad2d", { padding });
/** Zeros around the last three dimensions. */
export const zeroPad3d = (padding: Sizes) => new Layer("zero_pad3d", { padding });
/** The last dimension mirrored at its ends, which are not repeated. */
export const reflectionPad1d = (padding: Sizes) => new Layer("reflection_pad1d", { padding });
/** The last two dimensions mirrored at their ends, which are not repeated. */
export const reflectionPad2d = (padding: Sizes) => new Layer("reflection_pad2d", { padding });
/** The last three dimensions mirrored at their ends, which are not repeated. */
export const reflectionPad3d = (padding: Sizes) => new Layer("reflection_pad3d", { padding });
/** The ends of the last dimension again and again. */
export const replicationPad1d = (padding: Sizes) => new Layer("replication_pad1d", { padding });
/** The ends of the last two dimensions again and again. */
export const replicationPad2d = (padding: Sizes) => new Layer("replication_pad2d", { padding });
/** The ends of the last three dimensions again and again. */
export const replicationPad3d = (padding: Sizes) => new Layer("replication_pad3d", { padding });
/** The last dimension as on a ring. */
export const circularPad1d = (padding: Sizes) => new Layer("circular_pad1d", { padding });
/** The last two dimensions as on rings. */
export const circularPad2d = (padding: Sizes) => new Layer("circular_pad2d", { padding });
/** The last three dimensions as on rings. */
export const circularPad3d = (padding: Sizes) => new Layer("circular_pad3d", { padding });
/** A number around the last dimension. */
export const constantPad1d = (padding: Sizes, value: number) => new Layer("constant_pad1d", { padding, value });
/** A number around the last two dimensions. */
export const constantPad2d = (padding: Sizes, value: number) => new Layer("constant_pad2d", { padding, value });
/** A number around the last three dimensions. */
export const constantPad3d = (padding: Sizes, value: number) => new Layer("constant_pad3d", { padding, value });
/** yₖ = x₁ᵀ Wₖ x₂ + bₖ, from (…, in1) and (…, in2) to (…, out). W (out, in1, in2) and b (out) begin in U(−1/√in1, 1/√in1). */
export const bilinear = (inputs: number, others: number, outputs: number, options: LinearOptions = {}) => new PairLayer("bilinear", { inputs, others, outputs, ...options });
/** x · y / (|x| |y|) along a dimension, which is taken out; lengths count as at least ε. */
export const cosineSimilarity = (options: CosineSimilarityOptions = {}) => new PairLayer("cosine_similarity", options);
/** The p-norm of x − y + ε over the last dimension, which is taken out. */
export const pairwiseDistance = (options: PairwiseDistanceOptions = {}) => new PairLayer("pairwise_distance", options);
/** The mean, sum or maximum of the rows of a table (V, D) that each bag of integers names: (B, L) to (B, D). The table begins in N(0, 1). */
export const embeddingBag = (rows: number, width: number, options: EmbeddingBagOptions = {}) => new EmbeddingBag("embedding_bag", { rows, width, ...options });
/** softmax(Q Kᵀ / √d) V in several heads, of d = embed / heads features each, with linear projections before and after. */
export const multiheadAttention = (width: number, heads: number, options: AttentionOptions = {}) => new MultiheadAttention("multihead_attention", { width, heads, ...options });
/** A simple recurrent network: hₜ = tanh(W_ih xₜ + b_ih + W_hh hₜ₋₁ + b_hh), or relu instead of tanh. */
export const rnn = (inputs: number, hidden: number, options: RnnOptions = {}) => new Recurrent("rnn", { inputs, hidden, ...options });
/** Gated recurrent units: r, z = σ(W_ih xₜ + b_ih + W_hh hₜ₋₁ + b_hh), n = tanh(W_in xₜ + b_in + r (W_hn hₜ₋₁ + b_hn)), hₜ = (1 − z) n + z hₜ₋₁. A weight's rows are those of r, z, n. Named and begun as `Rnn`'s. */
export const gru = (inputs: number, hidden: number, options: GruOptions = {}) => new Recurrent("gru", { inputs, hidden, ...options });
/** Long short-term memory: i, f, o = σ(W_ih xₜ + b_ih + W_hh hₜ₋₁ + b_hh), g = tanh of the like, cₜ = f cₜ₋₁ + i g, hₜ = o tanh(cₜ). A weight's rows are those of i, f, g, o. Named and begun as `Rnn`'s; with `proj_size` the hidden state is W_hr (o tanh(cₜ)), W_hr being `weight_hr_l0` (proj, hidden). */
export const lstm = (inputs: number, hidden: number, options: LstmOptions = {}) => new Lstm("lstm", { inputs, hidden, ...options });
/** One step of `Rnn`: tanh(W_ih x + b_ih + W_hh h + b_hh). Parameters are `weight_ih`, `weight_hh`, `bias_ih`, `bias_hh`. */
export const rnnCell = (inputs: number, hidden: number, options: RnnCellOptions = {}) => new Cell("rnn_cell", { inputs, hidden, ...options });
/** One step of `Gru`, with the parameters `weight_ih`, `weight_hh`, `bias_ih`, `bias_hh`. */
export const gruCell = (inputs: number, hidden: number, options: CellOptions = {}) => new Cell("gru_cell", { inputs, hidden, ...options });
/** One step of `Lstm`, with the parameters `weight_ih`, `weight_hh`, `bias_ih`, `bias_hh`. */
export const lstmCell = (inputs: number, hidden: number, options: CellOptions = {}) => new LstmCell("lstm_cell", { inputs, hidden, ...options });
/** Self-attention and two linear maps, each with dropout, added to its input and normalised. */
export const transformerEncoderLayer = (width: number, heads: number, options: TransformerLayerOptions = {}) => new Encoder("transformer_encoder_layer", { width, heads, ...options });
/** Self-attention, attention to a memory and two linear maps, each with dropout, added to its input and normalised. */
export const transformerDecoderLayer = (width: number, heads: number, options: TransformerLayerOptions = {}) => new Decoder("transformer_decoder_layer", { width, heads, ...options });
/** Encoder layers on top of each other, with an optional norm at the end. Unlike PyTorch's, whose layers are copies, each layer begins with its own random weights. */
export const transformerEncoder = (width: number, heads: number, options: TransformerStackOptions = {}) => new Encoder("transformer_encoder", { width, heads, ...options });
/** Decoder layers on top of each other, with an optional norm at the end; see `TransformerEncoder`. */
export const transformerDecoder = (width: number, heads: number, options: TransformerStackOptions = {}) => new Decoder("transformer_decoder", { width, heads, ...options });
/** A GPT: from tokens (B, T) to the scores (B, T, vocabulary) of the token after each. */
export const gpt = (options: GptConfigOptions = {}) => new Gpt("gpt", options);
/** An encoder and a decoder, each with a norm at the end ("Attention is all you need"). Matrices begin in Xavier's uniform distribution. */
export const transformer = (width: number, heads: number, options: TransformerOptions = {}) => new Transformer("transformer", { width, heads, ...options });
