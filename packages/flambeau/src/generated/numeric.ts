// As written by `cargo test -p flambeau-web`: do not edit by hand.

/**
 * What NumPy has beyond networks: statistics, quantiles, histograms, searching, arranging, polynomials.
 *
 * @packageDocumentation
 */

import type { Dims, DType, Sizes } from "../types.js";
import type { Tensor } from "../tensor.js";
import { args, many, one, two } from "../calls.js";
import { loadPart } from "../wasm.js";

/** Fetches this part of the module ahead of its first use, which otherwise waits for it. */
export function load(): Promise<void> {
  return loadPart("numeric");
}

/** The mean over `dims`, which are taken out, of elements that count as much as their weights, which are broadcast: Σ w x / Σ w. */
export function average(x: Tensor, weights: Tensor, dims?: Dims): Tensor {
  return one(196608, args().t(x).t(weights).d(dims));
}

/** The largest minus the smallest element over `dims`, which are taken out ("peak to peak"). */
export function ptp(x: Tensor, dims?: Dims): Tensor {
  return one(196609, args().t(x).d(dims));
}

/** The covariances of variables (rows) whose observations are the columns: (D, N) → (D, D); of one variable (N), its variance. */
export function cov(x: Tensor, correction?: number, frequencies?: Tensor, weights?: Tensor): Tensor {
  return one(196610, args().t(x).mn(correction).mt(frequencies).mt(weights));
}

/** The correlations of variables (rows) whose observations are the columns: (D, N) → (D, D). */
export function corrcoef(x: Tensor): Tensor {
  return one(196611, args().t(x));
}

/** The sum over `dims`, which are taken out, where NaN counts as 0. */
export function nansum(x: Tensor, dims?: Dims): Tensor {
  return one(196612, args().t(x).d(dims));
}

/** The product over `dims`, which are taken out, where NaN counts as 1. */
export function nanprod(x: Tensor, dims?: Dims): Tensor {
  return one(196613, args().t(x).d(dims));
}

/** The mean over `dims`, which are taken out, of what is not NaN; NaN where there is nothing else. */
export function nanmean(x: Tensor, dims?: Dims): Tensor {
  return one(196614, args().t(x).d(dims));
}

/** The variance over `dims`, which are taken out, of what is not NaN; NaN where no freedom is left. */
export function nanvar(x: Tensor, dims?: Dims, correction: number = 1): Tensor {
  return one(196615, args().t(x).d(dims).n(correction));
}

/** The standard deviation over `dims`, which are taken out, of what is not NaN; NaN where no freedom is left. */
export function nanstd(x: Tensor, dims?: Dims, correction: number = 1): Tensor {
  return one(196616, args().t(x).d(dims).n(correction));
}

/** The largest element over `dims`, which are taken out, that is not NaN; NaN where there is nothing else. */
export function nanmax(x: Tensor, dims?: Dims): Tensor {
  return one(196617, args().t(x).d(dims));
}

/** The smallest element over `dims`, which are taken out, that is not NaN; NaN where there is nothing else. */
export function nanmin(x: Tensor, dims?: Dims): Tensor {
  return one(196618, args().t(x).d(dims));
}

/** The first position (I32) of the largest element that is not NaN, along a dimension, which is taken out, or with `..` in the tensor as one long row; 0 where there is nothing but NaN. */
export function nanargmax(x: Tensor, dims?: Dims): Tensor {
  return one(196619, args().t(x).d(dims));
}

/** The first position (I32) of the smallest element that is not NaN; as `nanargmax`. */
export function nanargmin(x: Tensor, dims?: Dims): Tensor {
  return one(196620, args().t(x).d(dims));
}

/** The running sum along `dim`, where NaN counts as 0. */
export function nancumsum(x: Tensor, dim: number): Tensor {
  return one(196621, args().t(x).n(dim));
}

/** The running product along `dim`, where NaN counts as 1. */
export function nancumprod(x: Tensor, dim: number): Tensor {
  return one(196622, args().t(x).n(dim));
}

/** The quantiles of the elements over `dims`, which are taken out; those of several come in a new first dimension: (q, …). Rows with a NaN have NaN. The derivative goes to the one or two elements a quantile lies between. */
export function quantiles(x: Tensor, q: Sizes, dims?: Dims, method: "linear" | "lower" | "higher" | "nearest" | "midpoint" | "inverted_cdf" | "averaged_inverted_cdf" | "closest_observation" | "interpolated_inverted_cdf" | "hazen" | "weibull" | "median_unbiased" | "normal_unbiased" = "linear"): Tensor {
  return one(196623, args().t(x).ns(q).d(dims).s(method));
}

/** The quantile q, between 0 and 1, over `dims`, which are taken out. q = ½ is the median, of an even number the mean of the two in the middle (PyTorch's `median` is the lower one). */
export function quantile(x: Tensor, q: number, dims?: Dims, method: "linear" | "lower" | "higher" | "nearest" | "midpoint" | "inverted_cdf" | "averaged_inverted_cdf" | "closest_observation" | "interpolated_inverted_cdf" | "hazen" | "weibull" | "median_unbiased" | "normal_unbiased" = "linear"): Tensor {
  return one(196624, args().t(x).n(q).d(dims).s(method));
}

/** `quantile` of a percentage, between 0 and 100. */
export function percentile(x: Tensor, percentage: number, dims?: Dims, method: "linear" | "lower" | "higher" | "nearest" | "midpoint" | "inverted_cdf" | "averaged_inverted_cdf" | "closest_observation" | "interpolated_inverted_cdf" | "hazen" | "weibull" | "median_unbiased" | "normal_unbiased" = "linear"): Tensor {
  return one(196625, args().t(x).n(percentage).d(dims).s(method));
}

/** `quantiles` of the elements that are not NaN; NaN where there are none. */
export function nanquantiles(x: Tensor, q: Sizes, dims?: Dims, method: "linear" | "lower" | "higher" | "nearest" | "midpoint" | "inverted_cdf" | "averaged_inverted_cdf" | "closest_observation" | "interpolated_inverted_cdf" | "hazen" | "weibull" | "median_unbiased" | "normal_unbiased" = "linear"): Tensor {
  return one(196626, args().t(x).ns(q).d(dims).s(method));
}

/** `quantile` of the elements that are not NaN; NaN where there are none. */
export function nanquantile(x: Tensor, q: number, dims?: Dims, method: "linear" | "lower" | "higher" | "nearest" | "midpoint" | "inverted_cdf" | "averaged_inverted_cdf" | "closest_observation" | "interpolated_inverted_cdf" | "hazen" | "weibull" | "median_unbiased" | "normal_unbiased" = "linear"): Tensor {
  return one(196627, args().t(x).n(q).d(dims).s(method));
}

/** How often each of the numbers 0 … length − 1 comes (I32), or the sum of their weights. Numbers outside are an error when the result is computed. */
export function bincountOf(x: Tensor, length: number, weights?: Tensor): Tensor {
  return one(196628, args().t(x).n(length).mt(weights));
}

/** The edges of the bins of a [histogram](Tensor::histogram): of n bins, n + 1. */
export function histogramBinEdges(x: Tensor, count: Tensor | number = 10, between: Sizes = []): Tensor {
  return one(196629, args().t(x).o(count).ns(between));
}

/** How many elements lie in each bin, and the bins' edges. A bin has its first edge, the last one both. Counts are I32, sums of weights have their dtype. Nothing is read: the range is found on the device. */
export function histogram(x: Tensor, count: Tensor | number = 10, between: Sizes = [], weights?: Tensor, density: boolean = false): [Tensor, Tensor] {
  return two(196630, args().t(x).o(count).ns(between).mt(weights).b(density));
}

/** Where values would have to be put into this sorted vector so that it stays sorted (I32): before equal elements, or after them if `right`. Of sorted rows (…, N), values (…, M) are sought in their own row. */
export function searchsorted(x: Tensor, values: Tensor, right: boolean = false): Tensor {
  return one(196631, args().t(x).t(values).b(right));
}

/** The number (I32) of the bin each element lies in; `bins` is an increasing vector of edges. Element x is in bin i if bins\[i − 1\] ≤ x < bins\[i\], or, if `right`, bins\[i − 1\] < x ≤ bins\[i\]. */
export function digitize(x: Tensor, edges: Tensor, right: boolean = false): Tensor {
  return one(196632, args().t(x).t(edges).b(right));
}

/** The order (I32) of columns sorted by the last key, where that is equal by the one before it, and so on. */
export function lexsort(keys: readonly Tensor[]): Tensor {
  return one(196633, args().ts(keys));
}

/** The elements at these positions of the tensor as one long row; the shape is the index's. */
export function take(x: Tensor, index: Tensor, mode: "raise" | "wrap" | "clip" = "raise"): Tensor {
  return one(196634, args().t(x).t(index).s(mode));
}

/** The slices along `dim` at these positions; the index's dimensions take the place of `dim`. */
export function takeSlices(x: Tensor, index: Tensor, dim: number, mode: "raise" | "wrap" | "clip" = "raise"): Tensor {
  return one(196635, args().t(x).t(index).n(dim).s(mode));
}

/** This tensor with values written at these positions of it as one long row. Fewer values than positions are repeated; where a position comes twice the last value stays. */
export function put(x: Tensor, index: Tensor, values: Tensor, mode: "raise" | "wrap" | "clip" = "raise"): Tensor {
  return one(196636, args().t(x).t(index).t(values).s(mode));
}

/** This tensor with values written along `dim` at the positions of an index; index and values are broadcast to this shape along the other dimensions. */
export function putAlongDim(x: Tensor, index: Tensor, values: Tensor | number, dim: number): Tensor {
  return one(196637, args().t(x).t(index).o(values).n(dim));
}

/** This tensor where a mask is false; where it is true, the source's elements, one after the other. A source that is too short begins again. */
export function maskedScatter(x: Tensor, mask: Tensor, source: Tensor): Tensor {
  return one(196638, args().t(x).t(mask).t(source));
}

/** For every element the number of a choice: that choice's element there. All are broadcast together. */
export function choose(x: Tensor, choices: readonly Tensor[], mode: "raise" | "wrap" | "clip" = "raise"): Tensor {
  return one(196639, args().t(x).ts(choices).s(mode));
}

/** At every place the choice of the first condition that is true there, or `default`. With functions of one tensor as choices it is NumPy's `piecewise`. */
export function selectBy(conditions: readonly Tensor[], choices: readonly Tensor[], otherwise: Tensor | number = 0): Tensor {
  return one(196640, args().ts(conditions).ts(choices).o(otherwise));
}

/** Which elements are among those of `others`? NaN is in no set. */
export function isin(x: Tensor, others: Tensor): Tensor {
  return one(196641, args().t(x).t(others));
}

/** Differences of neighbours along `dim`, taken `n` times: x\[k + 1\] − x\[k\]; the dimension is shorter by n. */
export function diff(x: Tensor, n: number = 1, dim: number = -1): Tensor {
  return one(196642, args().t(x).n(n).n(dim));
}

/** Differences of neighbours of the tensor as one long row, with vectors before and after them. */
export function ediff1d(x: Tensor, before?: Tensor, after?: Tensor): Tensor {
  return one(196643, args().t(x).mt(before).mt(after));
}

/** The slope along `dim` of what is sampled at equal distances or at coordinates, by central differences of second order; at both ends by differences of order `edge_order` (1 or 2). The shape stays. */
export function gradient(x: Tensor, distance: Tensor | number = 1, dim: number = -1, edgeOrder: number = 1): Tensor {
  return one(196644, args().t(x).o(distance).n(dim).n(edgeOrder));
}

/** The area below what is sampled along `dim`, which is taken out: trapezoids between neighbours. */
export function trapezoid(x: Tensor, distance: Tensor | number = 1, dim: number = -1): Tensor {
  return one(196645, args().t(x).o(distance).n(dim));
}

/** Angles along `dim` without jumps: where neighbours differ by more than half a `period` (2π where none is given), periods are added. Derivative: 1. */
export function unwrap(x: Tensor, period?: number, dim: number = -1): Tensor {
  return one(196646, args().t(x).mn(period).n(dim));
}

/** Values at these places of the line through the points (places\[k\], values\[k\]), two vectors, of which `places` increase. Outside it is `left` and `right`, or the first and the last value. It has derivatives with respect to all three. */
export function interp(x: Tensor, places: Tensor, values: Tensor, left?: number, right?: number): Tensor {
  return one(196647, args().t(x).t(places).t(values).mn(left).mn(right));
}

/** 0 below zero, 1 above, `at_zero` at zero, NaN for NaN. Derivative: 0. */
export function heaviside(x: Tensor, atZero: Tensor | number): Tensor {
  return one(196648, args().t(x).o(atZero));
}

/** sin(πx) / (πx), and 1 at 0. */
export function sinc(x: Tensor): Tensor {
  return one(196649, args().t(x));
}

/** The third root, that of negative numbers too. Derivative: 1 / (3 ∛x²). */
export function cbrt(x: Tensor): Tensor {
  return one(196650, args().t(x));
}

/** The larger of both, or the one that is not NaN. */
export function fmax(x: Tensor, other: Tensor | number): Tensor {
  return one(196651, args().t(x).o(other));
}

/** The smaller of both, or the one that is not NaN. */
export function fmin(x: Tensor, other: Tensor | number): Tensor {
  return one(196652, args().t(x).o(other));
}

/** Is it +∞? */
export function isposinf(x: Tensor): Tensor {
  return one(196653, args().t(x));
}

/** Is it −∞? */
export function isneginf(x: Tensor): Tensor {
  return one(196654, args().t(x));
}

/** log₂(2ˣ + 2ʸ) without overflow. */
export function logaddexp2(x: Tensor, other: Tensor | number): Tensor {
  return one(196655, args().t(x).o(other));
}

/** ⌊x / y⌋ and x modulo y, with the sign of y. */
export function divmod(x: Tensor, other: Tensor | number): [Tensor, Tensor] {
  return two(196656, args().t(x).o(other));
}

/** What follows the point, and what comes before it; both have the sign of x. */
export function modf(x: Tensor): [Tensor, Tensor] {
  return two(196657, args().t(x));
}

/** x · 2ⁿ, exactly, as long as it is a normal number. Derivative: 2ⁿ. */
export function ldexp(x: Tensor, exponents: Tensor | number): Tensor {
  return one(196658, args().t(x).o(exponents));
}

/** The mantissa m, ½ ≤ |m| < 1, and the exponent e (I32) with x = m · 2ᵉ. Zero, infinities and NaN are their own mantissa, with the exponent 0. */
export function frexp(x: Tensor): [Tensor, Tensor] {
  return two(196659, args().t(x));
}

/** The next number from x towards y, in x's dtype (F32 or F64). Beside 0 that is the smallest normal number: devices may take smaller ones as zero. */
export function nextafter(x: Tensor, towards: Tensor | number): Tensor {
  return one(196660, args().t(x).o(towards));
}

/** The distance from x to the next number away from zero, with the sign of x. */
export function spacing(x: Tensor): Tensor {
  return one(196661, args().t(x));
}

/** The least common multiple of integers, never negative; 0 where one of them is 0. */
export function lcm(x: Tensor, other: Tensor | number): Tensor {
  return one(196662, args().t(x).o(other));
}

/** Is |x − y| ≤ `atol` + `rtol` |y|? Infinities are close to themselves, NaN to NaN if `equal_nan`. NumPy takes rtol = 10⁻⁵ and atol = 10⁻⁸ where none are given. */
export function isclose(x: Tensor, other: Tensor | number, rtol: number = 1e-5, atol: number = 1e-8, equalNan: boolean = false): Tensor {
  return one(196663, args().t(x).o(other).n(rtol).n(atol).b(equalNan));
}

/** Turned by `k` quarters in the plane of two dimensions, from the first towards the second. */
export function rot90(x: Tensor, k: number = 1, dims: Sizes = [0, 1]): Tensor {
  return one(196664, args().t(x).n(k).ns(dims));
}

/** The columns of matrices in reverse order. */
export function fliplr(x: Tensor): Tensor {
  return one(196665, args().t(x));
}

/** The rows in reverse order. */
export function flipud(x: Tensor): Tensor {
  return one(196666, args().t(x));
}

/** With dimensions of size 1 in front, as many as it takes to have at least `rank` (NumPy's `atleast_1d` and `atleast_2d`). */
export function atLeast(x: Tensor, rank: number): Tensor {
  return one(196667, args().t(x).n(rank));
}

/** Tensors joined along their third dimension; vectors are columns of depth one. */
export function dstack(tensors: readonly Tensor[]): Tensor {
  return one(196668, args().ts(tensors));
}

/** Vectors as the columns of a matrix, beside matrices. */
export function columnStack(tensors: readonly Tensor[]): Tensor {
  return one(196669, args().ts(tensors));
}

/** Exactly `count` pieces along a dimension, of which the first are longer by one where it does not come out even. */
export function arraySplit(x: Tensor, count: number, dim: number = 0): Tensor[] {
  return many(196670, args().t(x).n(count).n(dim));
}

/** Pieces along a dimension that begin at 0 and at these places (NumPy's `split` with a list). */
export function splitAt(x: Tensor, places: Sizes, dim: number = 0): Tensor[] {
  return many(196671, args().t(x).ns(places).n(dim));
}

/** With slices put in before position `index` along a dimension; numbers and smaller tensors are broadcast. */
export function insert(x: Tensor, index: number, values: Tensor | number, dim: number): Tensor {
  return one(196672, args().t(x).n(index).o(values).n(dim));
}

/** Without the slices at these positions along a dimension; negative ones count from the back. */
export function deleteAt(x: Tensor, positions: Sizes, dim: number): Tensor {
  return one(196673, args().t(x).ns(positions).n(dim));
}

/** Every element along a dimension as often as its count says, next to itself. */
export function repeatEach(x: Tensor, counts: Sizes, dim: number): Tensor {
  return one(196674, args().t(x).ns(counts).n(dim));
}

/** The elements as one long row, repeated or cut off to fill another shape. */
export function resize(x: Tensor, shape: Sizes): Tensor {
  return one(196675, args().t(x).ns(shape));
}

/** Tensors repeated to the shape they all broadcast to. */
export function broadcastTensors(tensors: readonly Tensor[]): Tensor[] {
  return many(196676, args().ts(tensors));
}

/** A matrix with the tensor, as one long row, on its `offset`-th diagonal. */
export function diagflat(x: Tensor, offset: number = 0): Tensor {
  return one(196677, args().t(x).n(offset));
}

/** Matrices with a number, or values, on their diagonal. */
export function fillDiagonal(x: Tensor, values: Tensor | number): Tensor {
  return one(196678, args().t(x).o(values));
}

/** The matrices of the last two dimensions, transposed. */
export function matrixTranspose(x: Tensor): Tensor {
  return one(196679, args().t(x));
}

/** Bits (anything but zero is 1) along a dimension, eight to a byte (U8), the first the highest; the last byte ends with zeros. */
export function packbits(x: Tensor, dim: number = -1): Tensor {
  return one(196680, args().t(x).n(dim));
}

/** The bits of bytes (U8) along a dimension, the highest first, as U8. */
export function unpackbits(x: Tensor, dim: number = -1): Tensor {
  return one(196681, args().t(x).n(dim));
}

/** `steps` numbers from baseˢᵗᵃʳᵗ to baseᵉⁿᵈ, both included, whose logarithms are at equal distances. */
export function logspace(start: number, end: number, steps: number, base: number = 10, dtype?: DType): Tensor {
  return one(196682, args().n(start).n(end).n(steps).n(base).mty(dtype));
}

/** `steps` numbers from `start` to `end`, both included, each the same multiple of the one before. */
export function geomspace(start: number, end: number, steps: number, dtype?: DType): Tensor {
  return one(196683, args().n(start).n(end).n(steps).mty(dtype));
}

/** The coordinates of every element of a shape, one dimension after the other: (rank, …shape), I32 unless the options say otherwise. */
export function indices(shape: Sizes, dtype?: DType): Tensor {
  return one(196684, args().ns(shape).mty(dtype));
}

/** A matrix of ones on and below its `diagonal`-th diagonal and zeros above. */
export function tri(rows: number, columns: number, diagonal: number = 0, dtype?: DType): Tensor {
  return one(196685, args().n(rows).n(columns).n(diagonal).mty(dtype));
}

/** Rows and columns (I32) of the lower triangle of a matrix, up to the `diagonal`-th diagonal, row by row. */
export function trilIndices(rows: number, columns: number, diagonal: number = 0): [Tensor, Tensor] {
  return two(196686, args().n(rows).n(columns).n(diagonal));
}

/** Rows and columns (I32) of the upper triangle of a matrix, from the `diagonal`-th diagonal on, row by row. */
export function triuIndices(rows: number, columns: number, diagonal: number = 0): [Tensor, Tensor] {
  return two(196687, args().n(rows).n(columns).n(diagonal));
}

/** Places in a tensor of this shape, counted as one long row, as coordinates: one tensor for each dimension. */
export function unravelIndex(x: Tensor, shape: Sizes): Tensor[] {
  return many(196688, args().t(x).ns(shape));
}

/** Coordinates in a tensor of this shape as places in it as one long row. Coordinates outside are not noticed. */
export function ravelMultiIndex(coordinates: readonly Tensor[], shape: Sizes): Tensor {
  return one(196689, args().ts(coordinates).ns(shape));
}

/** Sums of products over the last dimensions of both: (…a, N) and (…b, N) → (…a, …b). */
export function inner(x: Tensor, other: Tensor): Tensor {
  return one(196690, args().t(x).t(other));
}

/** The sum of all products of two tensors of as many elements, as one long row each. */
export function vdot(x: Tensor, other: Tensor): Tensor {
  return one(196691, args().t(x).t(other));
}

/** Sums of products along a dimension, the others broadcast. */
export function vecdot(x: Tensor, other: Tensor, dim: number = -1): Tensor {
  return one(196692, args().t(x).t(other).n(dim));
}

/** Products of matrices with vectors: (…, M, N) and (…, N) → (…, M), the dimensions before broadcast. */
export function matvec(x: Tensor, vectors: Tensor): Tensor {
  return one(196693, args().t(x).t(vectors));
}

/** Products of vectors with matrices: (…, N) and (…, N, M) → (…, M), the dimensions before broadcast. */
export function vecmat(x: Tensor, matrices: Tensor): Tensor {
  return one(196694, args().t(x).t(matrices));
}

/** y\[n\] = Σₖ x\[k\] w\[n − k\] of two vectors, all of it or a part: `Same` is as long as the longer one. For long ones `fftConvolve` is faster. */
export function convolve(x: Tensor, other: Tensor, mode: "full" | "same" | "valid" = "full"): Tensor {
  return one(196695, args().t(x).t(other).s(mode));
}

/** y\[n\] = Σₖ x\[n + k\] w\[k\] of two vectors, all of it or a part, as NumPy's: the first number has the first of x alone. */
export function correlate(x: Tensor, other: Tensor, mode: "full" | "same" | "valid" = "valid"): Tensor {
  return one(196696, args().t(x).t(other).s(mode));
}

/** The coefficients of the polynomial of a degree that is nearest to values `y` at the points x (n), by least squares; `y` is (n), or (n, k) for k polynomials, (degree + 1, k). There must be as many different points as coefficients. */
export function polyfit(x: Tensor, y: Tensor, degree: number): Tensor {
  return one(196697, args().t(x).t(y).n(degree));
}

/** The polynomial's values at x, by Horner's scheme. */
export function polyval(coefficients: Tensor, x: Tensor): Tensor {
  return one(196698, args().t(coefficients).t(x));
}

/** The sum of two polynomials. */
export function polyadd(x: Tensor, other: Tensor): Tensor {
  return one(196699, args().t(x).t(other));
}

/** The difference of two polynomials. */
export function polysub(x: Tensor, other: Tensor): Tensor {
  return one(196700, args().t(x).t(other));
}

/** The product of two polynomials. Zeros in front stay. */
export function polymul(x: Tensor, other: Tensor): Tensor {
  return one(196701, args().t(x).t(other));
}

/** The quotient and the remainder of two polynomials. The divisor's first coefficient must not be 0; zeros in front of the remainder stay. */
export function polydiv(x: Tensor, divisor: Tensor): [Tensor, Tensor] {
  return two(196702, args().t(x).t(divisor));
}

/** The polynomial's derivative, taken `times` times. */
export function polyder(x: Tensor, times: number = 1): Tensor {
  return one(196703, args().t(x).n(times));
}

/** The polynomial's integral, taken `times` times, with these constants; those that are not given are 0. */
export function polyint(x: Tensor, times: number = 1, constants: Sizes = []): Tensor {
  return one(196704, args().t(x).n(times).ns(constants));
}

/** The polynomial with these roots, whose first coefficient is 1. */
export function poly(x: Tensor): Tensor {
  return one(196705, args().t(x));
}
