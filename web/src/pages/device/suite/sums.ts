/** Cases of the ops that sum: reductions, products, convolutions, norms and losses. */

import { CaseMaker, floats, given, integers, of, truths, type Case } from "./case.js";

const MATRIX = floats([12, 40]);
const CUBE = floats([4, 5, 6]);

const reductions = new CaseMaker("Reductions")
  .smooth("sum", [floats([7, 900])], ([x]) => of(x).sum(1))
  .smooth("mean", [CUBE], ([x]) => of(x).mean([0, 2]))
  .smooth("prod", [floats([6, 8], 0.5, 1.5)], ([x]) => of(x).prod(1))
  .smooth("amax", [MATRIX], ([x]) => of(x).amax(1))
  .smooth("amin", [MATRIX], ([x]) => of(x).amin(0))
  .smooth("max", [MATRIX], ([x]) => of(x).max())
  .smooth("min", [MATRIX], ([x]) => of(x).min())
  .smooth("maxDim", [MATRIX], ([x]) => of(x).maxDim(1))
  .smooth("minDim", [MATRIX], ([x]) => of(x).minDim(0))
  .plain("argmax", [MATRIX], ([x]) => of(x).argmax(1))
  .plain("argmin", [MATRIX], ([x]) => of(x).argmin())
  .plain("countNonzero", [integers([12, 40], 0, 2)], ([x]) => of(x).countNonzero(1))
  .plain("all", [truths([30, 3])], ([x]) => of(x).all(1))
  .plain("any", [truths([30, 3])], ([x]) => of(x).any(1))
  .smooth("cumsum", [MATRIX], ([x]) => of(x).cumsum(1))
  .smooth("cumprod", [floats([6, 20], 0.5, 1.5)], ([x]) => of(x).cumprod(1))
  .smooth("var", [MATRIX], ([x]) => of(x).var(1))
  .smooth("varMean", [MATRIX], ([x]) => of(x).varMean(0, 0))
  .smooth("std", [MATRIX], ([x]) => of(x).std(1, 1, true))
  .smooth("norm", [MATRIX], ([x]) => of(x).norm(2, 1))
  .smooth("norm", [floats([6, 8], 0.5, 2)], ([x]) => of(x).norm(3, 0))
  .smooth("logsumexp", [MATRIX], ([x]) => of(x).logsumexp(1));

const products = new CaseMaker("Products")
  .smooth("matmul", [floats([70, 45]), floats([45, 66])], ([a, b]) => of(a).matmul(of(b)))
  .smooth("matmul", [floats([3, 1, 9, 17]), floats([2, 17, 5])], ([a, b]) => of(a).matmul(of(b)))
  .smooth("mm", [floats([20, 30]), floats([30, 10])], ([a, b]) => of(a).mm(of(b)))
  .smooth("bmm", [floats([4, 9, 17]), floats([4, 17, 5])], ([a, b]) => of(a).bmm(of(b)))
  .smooth("mv", [floats([20, 30]), floats([30])], ([a, b]) => of(a).mv(of(b)))
  .smooth("dot", [floats([300]), floats([300])], ([a, b]) => of(a).dot(of(b)))
  .smooth("outer", [floats([13]), floats([9])], ([a, b]) => of(a).outer(of(b)))
  .smooth("addmm", [floats([10]), floats([20, 30]), floats([30, 10])], ([x, a, b]) => of(x).addmm(of(a), of(b), 0.5, 2))
  .smooth("baddbmm", [floats([4, 9, 5]), floats([4, 9, 17]), floats([4, 17, 5])], ([x, a, b]) =>
    of(x).baddbmm(of(a), of(b), 0.5, 2),
  )
  .smooth("tensordot", [CUBE, floats([6, 5, 3])], ([a, b]) => of(a).tensordot(of(b), [1, 2], [1, 0]))
  .smooth("trace", [floats([8, 9])], ([x]) => of(x).trace())
  .smooth("kron", [floats([3, 4]), floats([2, 5])], ([a, b]) => of(a).kron(of(b)))
  .smooth("bilinear", [floats([6, 4]), floats([6, 5]), floats([3, 4, 5]), floats([3])], ([a, b, weight, bias]) =>
    of(a).bilinear(of(b), of(weight), of(bias)),
  );

const windows = new CaseMaker("Convolution and pooling")
  .smooth("conv1d", [floats([2, 4, 20]), floats([6, 2, 3]), floats([6])], ([x, weight, bias]) =>
    of(x).conv1d(of(weight), of(bias), 2, 1, 1, 2),
  )
  .smooth("conv2d", [floats([2, 3, 12, 11]), floats([8, 3, 3, 3]), floats([8])], ([x, weight, bias]) =>
    of(x).conv2d(of(weight), of(bias), 1, 1),
  )
  .smooth("conv2d", [floats([2, 4, 9, 8]), floats([4, 1, 3, 2])], ([x, weight]) =>
    of(x).conv2d(of(weight), undefined, [2, 1], [1, 0], [1, 2], 4),
  )
  .smooth("conv3d", [floats([1, 2, 5, 6, 7]), floats([3, 2, 2, 3, 2]), floats([3])], ([x, weight, bias]) =>
    of(x).conv3d(of(weight), of(bias), 1, [0, 1, 0]),
  )
  .smooth("convTranspose1d", [floats([2, 4, 9]), floats([4, 3, 3]), floats([3])], ([x, weight, bias]) =>
    of(x).convTranspose1d(of(weight), of(bias), 2, 1, 1),
  )
  .smooth("convTranspose2d", [floats([2, 4, 5, 6]), floats([4, 3, 3, 3]), floats([3])], ([x, weight, bias]) =>
    of(x).convTranspose2d(of(weight), of(bias), 2, 1),
  )
  .smooth("convTranspose3d", [floats([1, 2, 3, 4, 3]), floats([2, 2, 2, 2, 2]), floats([2])], ([x, weight, bias]) =>
    of(x).convTranspose3d(of(weight), of(bias), 2),
  )
  .smooth("maxPool1d", [floats([2, 3, 17])], ([x]) => of(x).maxPool1d(3, 2, 1))
  .smooth("maxPool2d", [floats([2, 3, 9, 11])], ([x]) => of(x).maxPool2d(3, 2, 1))
  .smooth("maxPool3d", [floats([1, 2, 5, 6, 7])], ([x]) => of(x).maxPool3d(2))
  .smooth("maxPool1dWithIndices", [floats([2, 3, 17])], ([x]) => of(x).maxPool1dWithIndices(2))
  .smooth("maxPool2dWithIndices", [floats([2, 3, 9, 11])], ([x]) => of(x).maxPool2dWithIndices(2))
  .smooth("maxPool3dWithIndices", [floats([1, 2, 5, 6, 7])], ([x]) => of(x).maxPool3dWithIndices(2))
  .smooth("avgPool1d", [floats([2, 3, 17])], ([x]) => of(x).avgPool1d(3, 2, 1))
  .smooth("avgPool2d", [floats([2, 3, 9, 11])], ([x]) => of(x).avgPool2d(3, 2, 1, false, false))
  .smooth("avgPool3d", [floats([1, 2, 5, 6, 7])], ([x]) => of(x).avgPool3d(2))
  .smooth("adaptiveAvgPool1d", [floats([2, 3, 17])], ([x]) => of(x).adaptiveAvgPool1d(5))
  .smooth("adaptiveAvgPool2d", [floats([2, 3, 9, 11])], ([x]) => of(x).adaptiveAvgPool2d([4, 3]))
  .smooth("adaptiveMaxPool1d", [floats([2, 3, 17])], ([x]) => of(x).adaptiveMaxPool1d(5))
  .smooth("adaptiveMaxPool2d", [floats([2, 3, 9, 11])], ([x]) => of(x).adaptiveMaxPool2d([4, 3]));

const CHANNELS = floats([3, 4, 5]);
const WEIGHT = floats([4], 0.5, 1.5);
const BIAS = floats([4]);

const norms = new CaseMaker("Normalisation and attention")
  .smooth("layerNorm", [MATRIX, floats([40], 0.5, 1.5), floats([40])], ([x, weight, bias]) =>
    of(x).layerNorm([40], of(weight), of(bias)),
  )
  .smooth("rmsNorm", [MATRIX, floats([40], 0.5, 1.5)], ([x, weight]) => of(x).rmsNorm([40], of(weight)))
  .smooth("groupNorm", [CHANNELS, WEIGHT, BIAS], ([x, weight, bias]) => of(x).groupNorm(2, of(weight), of(bias)))
  .smooth("instanceNorm", [CHANNELS, WEIGHT, BIAS], ([x, weight, bias]) => of(x).instanceNorm(of(weight), of(bias)))
  .smooth("batchNorm", [CHANNELS, BIAS, WEIGHT, WEIGHT, BIAS], ([x, mean, variance, weight, bias]) =>
    of(x).batchNorm(of(mean), of(variance), of(weight), of(bias)),
  )
  .smooth("localResponseNorm", [floats([2, 6, 5])], ([x]) => of(x).localResponseNorm(3, 0.1, 0.75, 1))
  .smooth("normalize", [MATRIX], ([x]) => of(x).normalize(2, 1))
  .smooth("pairwiseDistance", [MATRIX, MATRIX], ([a, b]) => of(a).pairwiseDistance(of(b)))
  .smooth("cosineSimilarity", [MATRIX, MATRIX], ([a, b]) => of(a).cosineSimilarity(of(b), 1))
  .smooth(
    "scaledDotProductAttention",
    [floats([2, 3, 10, 8]), floats([2, 3, 12, 8]), floats([2, 3, 12, 6])],
    ([query, key, value]) => of(query).scaledDotProductAttention(of(key), of(value)),
  )
  .smooth("scaledDotProductAttention", [floats([2, 9, 8]), floats([2, 9, 8]), floats([2, 9, 8])], ([query, key, value]) =>
    of(query).scaledDotProductAttention(of(key), of(value), undefined, true),
  );

const LOGITS = floats([9, 5]);
const CLASSES = integers([9], 0, 5);
const PROBABILITIES = floats([9, 5], 0.05, 0.95);
const SIGNS = given([1, -1, -1, 1, 1, -1, 1, 1, -1], [9]);

const losses = new CaseMaker("Losses")
  .smooth("crossEntropy", [LOGITS, CLASSES], ([x, y]) => of(x).crossEntropy(of(y)))
  .smooth("crossEntropy", [LOGITS, CLASSES, floats([5], 0.5, 1.5)], ([x, y, weight]) =>
    of(x).crossEntropy(of(y), of(weight), -100, "sum", 0.1),
  )
  .smooth("nllLoss", [LOGITS, CLASSES], ([x, y]) => of(x).nllLoss(of(y)))
  .smooth("binaryCrossEntropy", [PROBABILITIES, PROBABILITIES], ([x, y]) => of(x).binaryCrossEntropy(of(y)))
  .smooth("binaryCrossEntropyWithLogits", [LOGITS, PROBABILITIES], ([x, y]) => of(x).binaryCrossEntropyWithLogits(of(y)))
  .smooth("mseLoss", [LOGITS, LOGITS], ([x, y]) => of(x).mseLoss(of(y)))
  .smooth("l1Loss", [LOGITS, LOGITS], ([x, y]) => of(x).l1Loss(of(y)))
  .smooth("smoothL1Loss", [LOGITS, LOGITS], ([x, y]) => of(x).smoothL1Loss(of(y), "sum", 0.5))
  .smooth("huberLoss", [LOGITS, LOGITS], ([x, y]) => of(x).huberLoss(of(y), "none", 0.7))
  .smooth("klDiv", [LOGITS, PROBABILITIES], ([x, y]) => of(x).klDiv(of(y), "sum"))
  .smooth("poissonNllLoss", [LOGITS, PROBABILITIES], ([x, y]) => of(x).poissonNllLoss(of(y)))
  .smooth("gaussianNllLoss", [LOGITS, LOGITS, PROBABILITIES], ([x, y, variance]) => of(x).gaussianNllLoss(of(y), of(variance)))
  .smooth("hingeEmbeddingLoss", [floats([9]), SIGNS], ([x, y]) => of(x).hingeEmbeddingLoss(of(y)))
  .smooth("marginRankingLoss", [floats([9]), floats([9]), SIGNS], ([a, b, y]) => of(a).marginRankingLoss(of(b), of(y), 0.2))
  .smooth("tripletMarginLoss", [LOGITS, LOGITS, LOGITS], ([anchor, positive, negative]) =>
    of(anchor).tripletMarginLoss(of(positive), of(negative)),
  )
  .smooth("cosineEmbeddingLoss", [LOGITS, LOGITS, SIGNS], ([a, b, y]) => of(a).cosineEmbeddingLoss(of(b), of(y), 0.1))
  .smooth("multiMarginLoss", [LOGITS, CLASSES], ([x, y]) => of(x).multiMarginLoss(of(y)))
  .smooth("multiLabelMarginLoss", [floats([2, 4]), given([3, 0, -1, 1, 0, -1, 2, 3], [2, 4], "i32")], ([x, y]) =>
    of(x).multiLabelMarginLoss(of(y)),
  )
  .smooth("softMarginLoss", [floats([9]), SIGNS], ([x, y]) => of(x).softMarginLoss(of(y)))
  .smooth("multiLabelSoftMarginLoss", [LOGITS, integers([9, 5], 0, 2)], ([x, y]) =>
    of(x).multiLabelSoftMarginLoss(of(y).toDtype("f32")),
  )
  .smooth("ctcLoss", [floats([12, 2, 5]), integers([2, 3], 1, 5)], ([x, targets]) =>
    of(x).logSoftmax(2).ctcLoss(of(targets), [12, 10], [3, 2]),
  );

/** Every case of this file. */
export const sums: readonly Case[] = [reductions, products, windows, norms, losses].flatMap(({ cases }) => cases);
