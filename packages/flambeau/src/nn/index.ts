/** Neural networks: layers with PyTorch's names, defaults and first values. */

import type { Tensor } from "../tensor.js";
import type { Sizes } from "../types.js";
import { wasm } from "../wasm.js";
import { adopt } from "../maker.js";
import {
  Cell,
  Decoder,
  EmbeddingBag,
  Encoder,
  Layer,
  Lstm,
  LstmCell,
  MultiheadAttention,
  PairLayer,
  Recurrent,
  Sequential,
  Transformer,
} from "./layer.js";
import type { Module, Parameter } from "./module.js";

export * from "./layer.js";
export * from "./module.js";

/** How values between grid points are found. */
export type Mode = "nearest" | "nearest-exact" | "linear" | "bilinear" | "trilinear" | "bicubic" | "area";

/** Calls one module after the other. */
export const sequential = (...modules: (Module & { forward(input: Tensor): Tensor })[]) => new Sequential(...modules);

/** y = x Wᵀ + b, from (…, inputs) to (…, outputs). */
export const linear = (inputs: number, outputs: number, options: { bias?: boolean } = {}) =>
  new Layer("linear", { inputs, outputs, ...options });

/** yₖ = x₁ᵀ Wₖ x₂ + bₖ. */
export const bilinear = (inputs: number, others: number, outputs: number, options: { bias?: boolean } = {}) =>
  new PairLayer("bilinear", { inputs, others, outputs, ...options });

/** Settings of a convolution. */
export interface ConvOptions {
  stride?: Sizes;
  padding?: Sizes | "same" | "valid";
  dilation?: Sizes;
  groups?: number;
  bias?: boolean;
  paddingMode?: "zeros" | "reflect" | "replicate" | "circular";
}

/** Settings of a transposed convolution. */
export interface ConvTransposeOptions {
  stride?: Sizes;
  padding?: Sizes;
  outputPadding?: Sizes;
  dilation?: Sizes;
  groups?: number;
  bias?: boolean;
}

const conv =
  (kind: string) =>
  (inputs: number, outputs: number, kernel: Sizes, options: ConvOptions = {}) =>
    new Layer(kind, { inputs, outputs, kernel, ...options });
const convTranspose =
  (kind: string) =>
  (inputs: number, outputs: number, kernel: Sizes, options: ConvTransposeOptions = {}) =>
    new Layer(kind, { inputs, outputs, kernel, ...options });

/** A convolution over (N, C, L). */
export const conv1d = conv("conv1d");
/** A convolution over (N, C, H, W). */
export const conv2d = conv("conv2d");
/** A convolution over (N, C, D, H, W). */
export const conv3d = conv("conv3d");
/** The adjoint of a convolution over (N, C, L). */
export const convTranspose1d = convTranspose("conv_transpose1d");
/** The adjoint of a convolution over (N, C, H, W). */
export const convTranspose2d = convTranspose("conv_transpose2d");
/** The adjoint of a convolution over (N, C, D, H, W). */
export const convTranspose3d = convTranspose("conv_transpose3d");

/** Settings of pooling. */
export interface PoolOptions {
  stride?: Sizes;
  padding?: Sizes;
  ceilMode?: boolean;
}

const maxPool =
  (kind: string) =>
  (kernel: Sizes, options: PoolOptions & { dilation?: Sizes } = {}) =>
    new Layer(kind, { kernel, ...options });
const avgPool =
  (kind: string) =>
  (kernel: Sizes, options: PoolOptions & { countIncludePad?: boolean } = {}) =>
    new Layer(kind, { kernel, ...options });
const adaptive = (kind: string) => (output: Sizes) => new Layer(kind, { output });

/** The largest value of each window. */
export const maxPool1d = maxPool("max_pool1d");
/** The largest value of each window. */
export const maxPool2d = maxPool("max_pool2d");
/** The largest value of each window. */
export const maxPool3d = maxPool("max_pool3d");
/** The mean of each window. */
export const avgPool1d = avgPool("avg_pool1d");
/** The mean of each window. */
export const avgPool2d = avgPool("avg_pool2d");
/** The mean of each window. */
export const avgPool3d = avgPool("avg_pool3d");
/** Means of as many windows as the output has places. */
export const adaptiveAvgPool1d = adaptive("adaptive_avg_pool1d");
/** Means of as many windows as the output has places. */
export const adaptiveAvgPool2d = adaptive("adaptive_avg_pool2d");
/** Means of as many windows as the output has places. */
export const adaptiveAvgPool3d = adaptive("adaptive_avg_pool3d");
/** Largest values of as many windows as the output has places. */
export const adaptiveMaxPool1d = adaptive("adaptive_max_pool1d");
/** Largest values of as many windows as the output has places. */
export const adaptiveMaxPool2d = adaptive("adaptive_max_pool2d");
/** Largest values of as many windows as the output has places. */
export const adaptiveMaxPool3d = adaptive("adaptive_max_pool3d");

/** Settings of batch and instance norms. */
export interface BatchNormOptions {
  eps?: number;
  momentum?: number;
  affine?: boolean;
  trackRunningStats?: boolean;
}

const batchNorm =
  (kind: string) =>
  (features: number, options: BatchNormOptions & { cumulative?: true } = {}) =>
    new Layer(kind, { features, ...options });
const instanceNorm =
  (kind: string) =>
  (features: number, options: BatchNormOptions = {}) =>
    new Layer(kind, { features, ...options });

/** Normalises each feature over the batch; `cumulative` averages over all batches instead of by momentum. */
export const batchNorm1d = batchNorm("batch_norm1d");
/** Normalises each channel over the batch. */
export const batchNorm2d = batchNorm("batch_norm2d");
/** Normalises each channel over the batch. */
export const batchNorm3d = batchNorm("batch_norm3d");
/** Normalises each channel of each item. */
export const instanceNorm1d = instanceNorm("instance_norm1d");
/** Normalises each channel of each item. */
export const instanceNorm2d = instanceNorm("instance_norm2d");
/** Normalises each channel of each item. */
export const instanceNorm3d = instanceNorm("instance_norm3d");
/** Normalises over the last dimensions. */
export const layerNorm = (shape: Sizes, options: { eps?: number; affine?: boolean; bias?: boolean } = {}) =>
  new Layer("layer_norm", { shape, ...options });
/** Divides by the root mean square over the last dimensions. */
export const rmsNorm = (shape: Sizes, options: { eps?: number; affine?: boolean } = {}) =>
  new Layer("rms_norm", { shape, ...options });
/** Normalises groups of channels. */
export const groupNorm = (groups: number, channels: number, options: { eps?: number; affine?: boolean } = {}) =>
  new Layer("group_norm", { groups, channels, ...options });
/** Divides by the energy of neighbouring channels. */
export const localResponseNorm = (size: number, options: { alpha?: number; beta?: number; k?: number } = {}) =>
  new Layer("local_response_norm", { size, ...options });

/** Rows of a table, by number. */
export const embedding = (rows: number, width: number, options: { paddingIndex?: number } = {}) =>
  new Layer("embedding", { rows, width, ...options });
/** Sums, means or maxima of rows of a table. */
export const embeddingBag = (
  rows: number,
  width: number,
  options: { mode?: "sum" | "mean" | "max"; paddingIndex?: number } = {},
) => new EmbeddingBag("embedding_bag", { rows, width, ...options });

const dropping =
  (kind: string) =>
  (p = 0.5) =>
    new Layer(kind, { p });
/** Drops elements with probability p while training. */
export const dropout = dropping("dropout");
/** Drops channels with probability p while training. */
export const dropout1d = dropping("dropout1d");
/** Drops channels with probability p while training. */
export const dropout2d = dropping("dropout2d");
/** Drops channels with probability p while training. */
export const dropout3d = dropping("dropout3d");
/** Dropout that keeps mean and variance. */
export const alphaDropout = dropping("alpha_dropout");
/** Dropout of channels that keeps mean and variance. */
export const featureAlphaDropout = dropping("feature_alpha_dropout");

/** Passes its input on. */
export const identity = () => new Layer("identity", {});
/** Joins dimensions. */
export const flatten = (start = 1, end = -1) => new Layer("flatten", { start, end });
/** Splits a dimension. */
export const unflatten = (dim: number, sizes: Sizes) => new Layer("unflatten", { dim, sizes });
/** (C r², H, W) to (C, H r, W r). */
export const pixelShuffle = (factor: number) => new Layer("pixel_shuffle", { factor });
/** (C, H r, W r) to (C r², H, W). */
export const pixelUnshuffle = (factor: number) => new Layer("pixel_unshuffle", { factor });
/** More (or fewer) places, by size or by factor. */
export const upsample = (options: { size?: Sizes; factor?: Sizes; mode?: Mode; alignCorners?: boolean }) =>
  new Layer("upsample", options);

const plain = (kind: string) => () => new Layer(kind, {});
const along =
  (kind: string) =>
  (dim = -1) =>
    new Layer(kind, { dim });
/** max(x, 0). */
export const relu = plain("relu");
/** min(max(x, 0), 6). */
export const relu6 = plain("relu6");
/** ELU that keeps mean and variance. */
export const selu = plain("selu");
/** x · sigmoid(x). */
export const silu = plain("silu");
/** x · tanh(softplus(x)). */
export const mish = plain("mish");
/** 1 / (1 + e⁻ˣ). */
export const sigmoid = plain("sigmoid");
/** log(1 / (1 + e⁻ˣ)). */
export const logSigmoid = plain("log_sigmoid");
/** tanh(x). */
export const tanh = plain("tanh");
/** x − tanh(x). */
export const tanhshrink = plain("tanhshrink");
/** x / (1 + |x|). */
export const softsign = plain("softsign");
/** A sigmoid of straight lines. */
export const hardsigmoid = plain("hardsigmoid");
/** x times its hardsigmoid. */
export const hardswish = plain("hardswish");
/** x Φ(x). */
export const gelu = (options: { approximate?: "none" | "tanh" } = {}) => new Layer("gelu", options);
/** x, and below 0 a small slope. */
export const leakyRelu = (slope = 0.01) => new Layer("leaky_relu", { slope });
/** x, and below 0 α (eˣ − 1). */
export const elu = (alpha = 1) => new Layer("elu", { alpha });
/** x, and below 0 α (e^{x/α} − 1). */
export const celu = (alpha = 1) => new Layer("celu", { alpha });
/** log(1 + e^{βx}) / β. */
export const softplus = (beta = 1, threshold = 20) => new Layer("softplus", { beta, threshold });
/** x between two bounds. */
export const hardtanh = (min = -1, max = 1) => new Layer("hardtanh", { min, max });
/** x, and 0 near 0. */
export const hardshrink = (lambda = 0.5) => new Layer("hardshrink", { lambda });
/** x moved towards 0. */
export const softshrink = (lambda = 0.5) => new Layer("softshrink", { lambda });
/** x above a threshold, else a value. */
export const threshold = (threshold: number, value: number) => new Layer("threshold", { threshold, value });
/** eˣ, summing to 1 along a dimension. */
export const softmax = along("softmax");
/** The logarithm of softmax. */
export const logSoftmax = along("log_softmax");
/** Softmax of −x. */
export const softmin = along("softmin");
/** Softmax over the channels of pictures. */
export const softmax2d = plain("softmax2d");
/** One half times the sigmoid of the other. */
export const glu = along("glu");
/** x, and below 0 a slope that is learned. */
export const prelu = (options: { parameters?: number; init?: number } = {}) => new Layer("prelu", options);
/** x, and below 0 a random slope while training. */
export const rrelu = (lower = 1 / 8, upper = 1 / 3) => new Layer("rrelu", { lower, upper });

const padding = (kind: string) => (padding: Sizes) => new Layer(kind, { padding });
const constantPadding = (kind: string) => (padding: Sizes, value: number) => new Layer(kind, { padding, value });
/** Zeros around the last dimension. */
export const zeroPad1d = padding("zero_pad1d");
/** Zeros around the last two dimensions. */
export const zeroPad2d = padding("zero_pad2d");
/** Zeros around the last three dimensions. */
export const zeroPad3d = padding("zero_pad3d");
/** The input mirrored at its edges. */
export const reflectionPad1d = padding("reflection_pad1d");
/** The input mirrored at its edges. */
export const reflectionPad2d = padding("reflection_pad2d");
/** The input mirrored at its edges. */
export const reflectionPad3d = padding("reflection_pad3d");
/** The edges again and again. */
export const replicationPad1d = padding("replication_pad1d");
/** The edges again and again. */
export const replicationPad2d = padding("replication_pad2d");
/** The edges again and again. */
export const replicationPad3d = padding("replication_pad3d");
/** The input again, as on a ring. */
export const circularPad1d = padding("circular_pad1d");
/** The input again, as on a ring. */
export const circularPad2d = padding("circular_pad2d");
/** The input again, as on a ring. */
export const circularPad3d = padding("circular_pad3d");
/** A number around the last dimension. */
export const constantPad1d = constantPadding("constant_pad1d");
/** A number around the last two dimensions. */
export const constantPad2d = constantPadding("constant_pad2d");
/** A number around the last three dimensions. */
export const constantPad3d = constantPadding("constant_pad3d");

/** The cosine of the angle between vectors. */
export const cosineSimilarity = (options: { dim?: number; eps?: number } = {}) => new PairLayer("cosine_similarity", options);
/** The p-norm of the difference of vectors. */
export const pairwiseDistance = (options: { p?: number; eps?: number; keepdim?: boolean } = {}) =>
  new PairLayer("pairwise_distance", options);

/** Settings of attention. */
export interface AttentionOptions {
  bias?: boolean;
  dropout?: number;
  keyWidth?: number;
  valueWidth?: number;
  batchFirst?: boolean;
}
/** Attention in several heads. */
export const multiheadAttention = (width: number, heads: number, options: AttentionOptions = {}) =>
  new MultiheadAttention("multihead_attention", { width, heads, ...options });

/** Settings of recurrent layers. */
export interface RecurrentOptions {
  layers?: number;
  bias?: boolean;
  batchFirst?: boolean;
  dropout?: number;
  bidirectional?: boolean;
}
/** An Elman network. */
export const rnn = (inputs: number, hidden: number, options: RecurrentOptions & { nonlinearity?: "tanh" | "relu" } = {}) =>
  new Recurrent("rnn", { inputs, hidden, ...options });
/** Gated recurrent units. */
export const gru = (inputs: number, hidden: number, options: RecurrentOptions = {}) =>
  new Recurrent("gru", { inputs, hidden, ...options });
/** Long short-term memory. */
export const lstm = (inputs: number, hidden: number, options: RecurrentOptions & { projection?: number } = {}) =>
  new Lstm("lstm", { inputs, hidden, ...options });
/** One step of an Elman network. */
export const rnnCell = (inputs: number, hidden: number, options: { bias?: boolean; nonlinearity?: "tanh" | "relu" } = {}) =>
  new Cell("rnn_cell", { inputs, hidden, ...options });
/** One step of gated recurrent units. */
export const gruCell = (inputs: number, hidden: number, options: { bias?: boolean } = {}) =>
  new Cell("gru_cell", { inputs, hidden, ...options });
/** One step of long short-term memory. */
export const lstmCell = (inputs: number, hidden: number, options: { bias?: boolean } = {}) =>
  new LstmCell("lstm_cell", { inputs, hidden, ...options });

/** Settings of a transformer's layers. */
export interface TransformerLayerOptions {
  feedForward?: number;
  dropout?: number;
  activation?: "relu" | "gelu";
  eps?: number;
  batchFirst?: boolean;
  normFirst?: boolean;
}
/** Self-attention and a feed-forward network. */
export const transformerEncoderLayer = (width: number, heads: number, options: TransformerLayerOptions = {}) =>
  new Encoder("transformer_encoder_layer", { width, heads, ...options });
/** Self-attention, attention to a memory, and a feed-forward network. */
export const transformerDecoderLayer = (width: number, heads: number, options: TransformerLayerOptions = {}) =>
  new Decoder("transformer_decoder_layer", { width, heads, ...options });
/** Encoder layers on top of each other. */
export const transformerEncoder = (
  width: number,
  heads: number,
  options: TransformerLayerOptions & { layers?: number; norm?: boolean } = {},
) => new Encoder("transformer_encoder", { width, heads, ...options });
/** Decoder layers on top of each other. */
export const transformerDecoder = (
  width: number,
  heads: number,
  options: TransformerLayerOptions & { layers?: number; norm?: boolean } = {},
) => new Decoder("transformer_decoder", { width, heads, ...options });
/** An encoder and a decoder. */
export const transformer = (
  width: number,
  heads: number,
  options: TransformerLayerOptions & { encoderLayers?: number; decoderLayers?: number } = {},
) => new Transformer("transformer", { width, heads, ...options });

/** A perceptron with ReLU between its layers: `mlp(784, 128, 10)`. */
export const mlp = (...sizes: number[]) => new Layer("mlp", { sizes });
/** Two convolutions and two linear layers, for pictures of 28 × 28. */
export const cnn = (classes = 10) => new Layer("cnn", { classes });

/** Scales gradients down so that their norm together is at most `maxNorm`; returns the norm before that. */
export function clipGradNorm(parameters: readonly Parameter[], maxNorm: number, normType = 2): Tensor {
  return adopt(
    wasm().clip_grad_norm(
      Uint32Array.from(parameters, (each) => each.slot),
      maxNorm,
      normType,
    ),
  );
}

/** Brings gradients into [−max, max]. */
export function clipGradValue(parameters: readonly Parameter[], max: number): void {
  wasm().clip_grad_value(
    Uint32Array.from(parameters, (each) => each.slot),
    max,
  );
}
