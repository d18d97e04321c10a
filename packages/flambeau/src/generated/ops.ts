// The ops of the table and their kin, as written by `cargo test -p flambeau-web`: do not edit by hand.

import type { Dims, DType, Generator, Sizes } from "../types.js";
import type { Tensor } from "../tensor.js";
import { args, many, one, two } from "../calls.js";

/** What every tensor can do. */
export abstract class Ops {
  /** The tensor's number in the module. */
  abstract readonly handle: number;

  /** `x σ(x)`, also called swish. Derivative: σ(x) (1 + x (1 − σ(x))). */
  silu(): Tensor {
    return one(0, args(this));
  }

  /** `x Φ(x)` with the normal distribution's Φ(x) = ½ (1 + erf(x/√2)). Derivative: Φ(x) + x e^(−x²/2) / √(2π). */
  gelu(): Tensor {
    return one(1, args(this));
  }

  /** GELU by a hyperbolic tangent: `½ x (1 + tanh u)` with u = √(2/π) (x + 0.044715 x³). Derivative: ½ (1 + tanh u) + ½ x (1 − tanh²u) u′. */
  geluTanh(): Tensor {
    return one(2, args(this));
  }

  /** `x tanh(log(1 + e^x))`. With t that tangent, the derivative is t + x (1 − t²) σ(x). */
  mish(): Tensor {
    return one(3, args(this));
  }

  /** `min(max(x, 0), 6)`. Derivative: 1 where 0 < x < 6, else 0. */
  relu6(): Tensor {
    return one(4, args(this));
  }

  /** `relu6(x + 3) / 6`. Derivative: 1/6 where −3 < x < 3, else 0. */
  hardsigmoid(): Tensor {
    return one(5, args(this));
  }

  /** `x relu6(x + 3) / 6`, 0 at −∞. Derivative: x/3 + ½ where −3 ≤ x ≤ 3, 0 below and 1 above. */
  hardswish(): Tensor {
    return one(6, args(this));
  }

  /** `x + y`. Derivatives: 1 and 1. */
  add(other: Tensor | number): Tensor {
    return one(7, args(this).o(other));
  }

  /** `x − y`. Derivatives: 1 and −1. */
  sub(other: Tensor | number): Tensor {
    return one(8, args(this).o(other));
  }

  /** `x · y`. Derivatives: y and x. */
  mul(other: Tensor | number): Tensor {
    return one(9, args(this).o(other));
  }

  /** `x / y`, true division: integers give F32. Derivatives: 1/y and −x/y². */
  div(other: Tensor | number): Tensor {
    return one(10, args(this).o(other));
  }

  /** `−x`. Derivative: −1. */
  neg(): Tensor {
    return one(11, args(this));
  }

  /** `1 / x`. Derivative: −1/x². */
  reciprocal(): Tensor {
    return one(12, args(this));
  }

  /** `|x|`. Derivative: the sign of x, 0 at 0. */
  abs(): Tensor {
    return one(13, args(this));
  }

  /** −1, 0 or 1, the sign of x; 0 for NaN. Derivative: 0. */
  sign(): Tensor {
    return one(14, args(this));
  }

  /** The larger of x and y; NaN if either is. Derivatives: 1 for the larger one, ½ for both where they are equal. */
  maximum(other: Tensor | number): Tensor {
    return one(15, args(this).o(other));
  }

  /** The smaller of x and y; NaN if either is. Derivatives: 1 for the smaller one, ½ for both where they are equal. */
  minimum(other: Tensor | number): Tensor {
    return one(16, args(this).o(other));
  }

  /** `max(x, min)`; NaN where x or min is. Derivative: 1 where x ≥ min, else 0; min gets the gradient where it was taken. */
  clampMin(min: Tensor | number): Tensor {
    return one(17, args(this).o(min));
  }

  /** `min(x, max)`; NaN where x or max is. Derivative: 1 where x ≤ max, else 0; max gets the gradient where it was taken. */
  clampMax(max: Tensor | number): Tensor {
    return one(18, args(this).o(max));
  }

  /** x brought into [min, max]: `min(max(x, min), max)`, NaN where x or a bound is. Derivative: 1 where min ≤ x ≤ max, else 0; a bound that was taken gets the gradient. */
  clamp(min: Tensor | number, max: Tensor | number): Tensor {
    return one(19, args(this).o(min).o(max));
  }

  /** `x · x · x`. Derivative: 3 x². */
  cube(): Tensor {
    return one(20, args(this));
  }

  /** `x − y ⌊x / y⌋`: x modulo y with the sign of y, as the operator `%`. Derivatives: 1 and −⌊x / y⌋. */
  remainder(other: Tensor | number): Tensor {
    return one(21, args(this).o(other));
  }

  /** `x − y trunc(x / y)`: x modulo y with the sign of x. Derivatives: 1 and −trunc(x / y). */
  fmod(other: Tensor | number): Tensor {
    return one(22, args(this).o(other));
  }

  /** `⌊x / y⌋`; integers stay integers. Derivatives: 0 and 0. */
  floorDivide(other: Tensor | number): Tensor {
    return one(23, args(this).o(other));
  }

  /** `√(x² + y²)` without overflow on the way. Derivatives: x / √(x² + y²) and y / √(x² + y²). */
  hypot(other: Tensor | number): Tensor {
    return one(24, args(this).o(other));
  }

  /** `x > y`; false if either is NaN. */
  gt(other: Tensor | number): Tensor {
    return one(25, args(this).o(other));
  }

  /** `x ≥ y`; false if either is NaN. */
  ge(other: Tensor | number): Tensor {
    return one(26, args(this).o(other));
  }

  /** `x < y`; false if either is NaN. */
  lt(other: Tensor | number): Tensor {
    return one(27, args(this).o(other));
  }

  /** `x ≤ y`; false if either is NaN. */
  le(other: Tensor | number): Tensor {
    return one(28, args(this).o(other));
  }

  /** `x = y`; false if either is NaN. */
  eq(other: Tensor | number): Tensor {
    return one(29, args(this).o(other));
  }

  /** `x ≠ y`; true if either is NaN. */
  ne(other: Tensor | number): Tensor {
    return one(30, args(this).o(other));
  }

  /** Is x NaN? */
  isnan(): Tensor {
    return one(31, args(this));
  }

  /** Is x infinite? */
  isinf(): Tensor {
    return one(32, args(this));
  }

  /** Is x neither infinite nor NaN? */
  isfinite(): Tensor {
    return one(33, args(this));
  }

  /** `e^x`. Derivative: `e^x`. */
  exp(): Tensor {
    return one(34, args(this));
  }

  /** The natural logarithm. Derivative: 1/x. */
  log(): Tensor {
    return one(35, args(this));
  }

  /** `√x`. Derivative: 1 / (2√x). */
  sqrt(): Tensor {
    return one(36, args(this));
  }

  /** The hyperbolic tangent. Derivative: 1 − tanh²x. */
  tanh(): Tensor {
    return one(37, args(this));
  }

  /** `max(x, 0)`. Derivative: 1 where x > 0, else 0. */
  relu(): Tensor {
    return one(38, args(this));
  }

  /** `2^x`. Derivative: `2^x ln 2`. */
  exp2(): Tensor {
    return one(39, args(this));
  }

  /** `e^x − 1`, accurate near 0. Derivative: `e^x`. */
  expm1(): Tensor {
    return one(40, args(this));
  }

  /** The logarithm to base 2. Derivative: 1 / (x ln 2). */
  log2(): Tensor {
    return one(41, args(this));
  }

  /** The logarithm to base 10. Derivative: 1 / (x ln 10). */
  log10(): Tensor {
    return one(42, args(this));
  }

  /** `log(1 + x)`, accurate near 0. Derivative: 1 / (1 + x). */
  log1p(): Tensor {
    return one(43, args(this));
  }

  /** `1 / √x`. Derivative: −½ x^(−3/2). */
  rsqrt(): Tensor {
    return one(44, args(this));
  }

  /** The logistic function `1 / (1 + e^−x)`. Derivative: σ(x) (1 − σ(x)). */
  sigmoid(): Tensor {
    return one(45, args(this));
  }

  /** `log(1 + e^x)`, a smooth ReLU, without overflow. Derivative: σ(x). */
  softplus(): Tensor {
    return one(46, args(this));
  }

  /** The error function `2/√π ∫₀ˣ e^(−t²) dt`. Derivative: 2/√π e^(−x²). */
  erf(): Tensor {
    return one(47, args(this));
  }

  /** `1 − erf x`, accurate where that is close to 0. Derivative: −2/√π e^(−x²). */
  erfc(): Tensor {
    return one(48, args(this));
  }

  /** `log(e^x + e^y)`, without overflow. Derivatives: σ(x − y) and σ(y − x). */
  logaddexp(other: Tensor | number): Tensor {
    return one(49, args(this).o(other));
  }

  /** `x and y`, bit by bit. */
  bitand(other: Tensor | number): Tensor {
    return one(50, args(this).o(other));
  }

  /** `x or y`, bit by bit. */
  bitor(other: Tensor | number): Tensor {
    return one(51, args(this).o(other));
  }

  /** `x` exclusive-or `y`, bit by bit. */
  bitxor(other: Tensor | number): Tensor {
    return one(52, args(this).o(other));
  }

  /** `not x`, bit by bit; of booleans, the other one. */
  bitnot(): Tensor {
    return one(53, args(this));
  }

  /** `x · 2^y`: the bits moved up; 0 where y is negative or at least the number of bits. */
  shiftLeft(other: Tensor | number): Tensor {
    return one(54, args(this).o(other));
  }

  /** `⌊x / 2^y⌋`: the bits moved down; the sign alone where y is negative or at least the number of bits. */
  shiftRight(other: Tensor | number): Tensor {
    return one(55, args(this).o(other));
  }

  /** `x and y`; anything but zero is true. */
  logicalAnd(other: Tensor | number): Tensor {
    return one(56, args(this).o(other));
  }

  /** `x or y`; anything but zero is true. */
  logicalOr(other: Tensor | number): Tensor {
    return one(57, args(this).o(other));
  }

  /** Either x or y, not both; anything but zero is true. */
  logicalXor(other: Tensor | number): Tensor {
    return one(58, args(this).o(other));
  }

  /** `not x`: true where x is zero. */
  logicalNot(): Tensor {
    return one(59, args(this));
  }

  /** The largest integer not above x. Derivative: 0. */
  floor(): Tensor {
    return one(60, args(this));
  }

  /** The smallest integer not below x. Derivative: 0. */
  ceil(): Tensor {
    return one(61, args(this));
  }

  /** The nearest integer; halves go to the even one. Derivative: 0. */
  round(): Tensor {
    return one(62, args(this));
  }

  /** The integer part: x without what follows the point. Derivative: 0. */
  trunc(): Tensor {
    return one(63, args(this));
  }

  /** The sine. Derivative: cos x. */
  sin(): Tensor {
    return one(64, args(this));
  }

  /** The cosine. Derivative: −sin x. */
  cos(): Tensor {
    return one(65, args(this));
  }

  /** The tangent. Derivative: 1 + tan²x. */
  tan(): Tensor {
    return one(66, args(this));
  }

  /** The inverse sine, in [−π/2, π/2]; NaN outside [−1, 1]. Derivative: 1 / √(1 − x²). */
  asin(): Tensor {
    return one(67, args(this));
  }

  /** The inverse cosine, in [0, π]; NaN outside [−1, 1]. Derivative: −1 / √(1 − x²). */
  acos(): Tensor {
    return one(68, args(this));
  }

  /** The inverse tangent, in [−π/2, π/2]. Derivative: 1 / (1 + x²). */
  atan(): Tensor {
    return one(69, args(this));
  }

  /** The hyperbolic sine `(e^x − e^−x) / 2`. Derivative: cosh x. */
  sinh(): Tensor {
    return one(70, args(this));
  }

  /** The hyperbolic cosine `(e^x + e^−x) / 2`. Derivative: sinh x. */
  cosh(): Tensor {
    return one(71, args(this));
  }

  /** The inverse hyperbolic sine `log(x + √(x² + 1))`. Derivative: 1 / √(x² + 1). */
  asinh(): Tensor {
    return one(72, args(this));
  }

  /** The inverse hyperbolic cosine `log(x + √(x² − 1))`; NaN below 1. Derivative: 1 / √(x² − 1). */
  acosh(): Tensor {
    return one(73, args(this));
  }

  /** The inverse hyperbolic tangent `½ log((1 + x) / (1 − x))`; NaN outside [−1, 1]. Derivative: 1 / (1 − x²). */
  atanh(): Tensor {
    return one(74, args(this));
  }

  /** The angle of the point (x, y), in [−π, π]; self is y. Derivatives: x / (x² + y²) and −y / (x² + y²), 0 at the origin. */
  atan2(other: Tensor | number): Tensor {
    return one(75, args(this).o(other));
  }

  /** Zeros with this tensor's shape, dtype and device. */
  zerosLike(): Tensor {
    return one(79, args(this));
  }

  /** Ones with this tensor's shape, dtype and device. */
  onesLike(): Tensor {
    return one(80, args(this));
  }

  /** One number everywhere, with this tensor's shape, dtype and device. */
  fullLike(fill: number): Tensor {
    return one(81, args(this).n(fill));
  }

  /** Uniform random numbers with this tensor's shape, dtype and device. */
  randLike(generator?: Generator): Tensor {
    return one(89, args(this).g(generator));
  }

  /** Standard normal random numbers with this tensor's shape, dtype and device. */
  randnLike(generator?: Generator): Tensor {
    return one(90, args(this).g(generator));
  }

  /** 1 with the probability each element gives, else 0; same dtype. */
  bernoulli(generator?: Generator): Tensor {
    return one(91, args(this).g(generator));
  }

  /** 1 with probability p, else 0, with this tensor's shape, dtype and device. */
  bernoulliP(p: number, generator?: Generator): Tensor {
    return one(92, args(this).n(p).g(generator));
  }

  /** The same values in another dtype. Floats become integers towards zero; anything but zero is true. */
  toDtype(dtype: DType): Tensor {
    return one(100, args(this).ty(dtype));
  }

  /** The same value without history. */
  detach(): Tensor {
    return one(101, args(this));
  }

  /** Every element of a contiguous buffer, in order. */
  contiguous(): Tensor {
    return one(102, args(this));
  }

  /** The same elements, in the same order, in another shape. One size may be -1: it becomes what is missing. */
  reshape(shape: Sizes): Tensor {
    return one(103, args(this).ns(shape));
  }

  /** `reshape`: every reshape is a view here, and never copies. */
  view(shape: Sizes): Tensor {
    return one(104, args(this).ns(shape));
  }

  /** The dimensions from `start` to `end`, both included, as one. */
  flatten(start: number = 0, end: number = -1): Tensor {
    return one(105, args(this).n(start).n(end));
  }

  /** One dimension as several; one of the sizes may be -1. */
  unflatten(dim: number, sizes: Sizes): Tensor {
    return one(106, args(this).n(dim).ns(sizes));
  }

  /** Dimensions in another order: dimension i of the result is dimension `order[i]`. */
  permute(order: Sizes): Tensor {
    return one(107, args(this).ns(order));
  }

  /** Two dimensions exchanged. */
  transpose(first: number, second: number): Tensor {
    return one(108, args(this).n(first).n(second));
  }

  /** `transpose` under NumPy's name. */
  swapaxes(first: number, second: number): Tensor {
    return one(109, args(this).n(first).n(second));
  }

  /** The transpose of a matrix; vectors and numbers stay as they are. */
  t(): Tensor {
    return one(110, args(this));
  }

  /** Dimensions moved to other places; the others keep their order. */
  movedim(from: Dims, to: Dims): Tensor {
    return one(111, args(this).d(from).d(to));
  }

  /** Dimensions of size 1 repeated to fill `shape`; new dimensions may be put in front, and -1 keeps a size. */
  expand(shape: Sizes): Tensor {
    return one(112, args(this).ns(shape));
  }

  /** `expand` under NumPy's name. */
  broadcastTo(shape: Sizes): Tensor {
    return one(113, args(this).ns(shape));
  }

  /** A dimension of size 1 put in at `dim`. */
  unsqueeze(dim: number): Tensor {
    return one(114, args(this).n(dim));
  }

  /** Dimensions of size 1 taken out: all with `..`, or those named; others stay as they are. */
  squeeze(dims?: Dims): Tensor {
    return one(115, args(this).d(dims));
  }

  /** The tensor repeated `times[d]` times along every dimension d; further dimensions may come in front. */
  repeat(times: Sizes): Tensor {
    return one(116, args(this).ns(times));
  }

  /** `repeat`, where missing leading dimensions are repeated once. */
  tile(times: Sizes): Tensor {
    return one(117, args(this).ns(times));
  }

  /** Every element `times` times, next to itself, along a dimension. */
  repeatInterleave(times: number, dim: number): Tensor {
    return one(118, args(this).n(times).n(dim));
  }

  /** `length` elements along a dimension, from `start` on. The start may change from call to call at no cost. */
  narrow(dim: number, start: number, length: number): Tensor {
    return one(119, args(this).n(dim).n(start).n(length));
  }

  /** Every `step`-th element of a range along a dimension. As in Python, negative bounds count from the back and what lies outside is left out. */
  slice(dim: number, start: number = 0, end?: number, step: number = 1): Tensor {
    return one(120, args(this).n(dim).n(start).mn(end).n(step));
  }

  /** One position along a dimension, which is taken out. Negative counts from the back. */
  select(dim: number, index: number): Tensor {
    return one(121, args(this).n(dim).n(index));
  }

  /** Dimensions in reverse order. */
  flip(dims: Dims): Tensor {
    return one(122, args(this).d(dims));
  }

  /** Elements shifted along dimensions, those pushed out coming in at the other end. Without dimensions the tensor is rolled as one long row. */
  roll(shifts: Sizes, dims: Sizes): Tensor {
    return one(123, args(this).ns(shifts).ns(dims));
  }

  /** Windows of `size` elements along a dimension, `step` apart; the window's elements become the last dimension. */
  unfold(dim: number, size: number, step: number): Tensor {
    return one(124, args(this).n(dim).n(size).n(step));
  }

  /** Pieces along a dimension: of one size (the last may be smaller), or of the sizes listed. */
  split(sizes: Sizes, dim: number = 0): Tensor[] {
    return many(125, args(this).ns(sizes).n(dim));
  }

  /** At most `count` pieces of equal size along a dimension; the last may be smaller. */
  chunk(count: number, dim: number = 0): Tensor[] {
    return many(126, args(this).n(count).n(dim));
  }

  /** The slices along a dimension, which is taken out. */
  unbind(dim: number = 0): Tensor[] {
    return many(127, args(this).n(dim));
  }

  /** The `offset`-th diagonal of the matrices in two dimensions, which are taken out; the diagonal comes last. */
  diagonal(offset: number = 0, rows: number = 0, columns: number = 1): Tensor {
    return one(128, args(this).n(offset).n(rows).n(columns));
  }

  /** Square matrices with the last dimension on their `offset`-th diagonal and zeros elsewhere. */
  diagEmbed(offset: number = 0): Tensor {
    return one(129, args(this).n(offset));
  }

  /** The `offset`-th diagonal of a matrix, or the matrix that has a vector there. */
  diag(offset: number = 0): Tensor {
    return one(130, args(this).n(offset));
  }

  /** The lower triangle of each matrix: what is above the `diagonal`-th diagonal is 0. */
  tril(diagonal: number = 0): Tensor {
    return one(131, args(this).n(diagonal));
  }

  /** The upper triangle of each matrix: what is below the `diagonal`-th diagonal is 0. */
  triu(diagonal: number = 0): Tensor {
    return one(132, args(this).n(diagonal));
  }

  /** For every class number a row of `classes` integers that is 1 there and 0 elsewhere. A class outside is an error when the result is computed. */
  oneHot(classes: number): Tensor {
    return one(133, args(this).n(classes));
  }

  /** Elements added before and after the last dimension, then the one before it, and so on: `[left, right, top, bottom, …]`, as PyTorch's `F.pad`. Negative numbers take elements away. */
  pad(pads: Sizes, mode: string = "constant", value: number = 0): Tensor {
    return one(134, args(this).ns(pads).s(mode).n(value));
  }

  /** out[c] = self[c with c\[dim\] replaced by index[c]], for every coordinate c of the index. An index outside the dimension (negative ones too) is an error when the result is computed. */
  gather(dim: number, index: Tensor): Tensor {
    return one(135, args(this).n(dim).t(index));
  }

  /** `gather` where the index is repeated to this tensor's shape along the other dimensions. */
  takeAlongDim(index: Tensor, dim: number): Tensor {
    return one(136, args(this).t(index).n(dim));
  }

  /** The slices along `dim` that a vector of positions names. */
  indexSelect(dim: number, index: Tensor): Tensor {
    return one(137, args(this).n(dim).t(index));
  }

  /** This tensor with a number where a mask is true. */
  maskedFill(mask: Tensor, value: Tensor | number): Tensor {
    return one(138, args(this).t(mask).o(value));
  }

  /** Σ x·y of two vectors of one length. */
  dot(other: Tensor): Tensor {
    return one(139, args(this).t(other));
  }

  /** All products of the elements of two vectors: out[i, j] = x[i]·y[j]. */
  outer(other: Tensor): Tensor {
    return one(140, args(this).t(other));
  }

  /** The sum of a matrix's diagonal. */
  trace(): Tensor {
    return one(141, args(this));
  }

  /** The Kronecker product: every element of the left times the whole right. */
  kron(other: Tensor): Tensor {
    return one(142, args(this).t(other));
  }

  /** The sum over `dims` (`..` for all), which are taken out. */
  sum(dims?: Dims, keepdim: boolean = false): Tensor {
    return one(143, args(this).d(dims).b(keepdim));
  }

  /** The mean over `dims`, which are taken out. */
  mean(dims?: Dims, keepdim: boolean = false): Tensor {
    return one(144, args(this).d(dims).b(keepdim));
  }

  /** The product over `dims` (`..` for all), which are taken out. */
  prod(dims?: Dims, keepdim: boolean = false): Tensor {
    return one(145, args(this).d(dims).b(keepdim));
  }

  /** The largest value over `dims`, which are taken out. Equal ones share the gradient evenly. */
  amax(dims?: Dims, keepdim: boolean = false): Tensor {
    return one(146, args(this).d(dims).b(keepdim));
  }

  /** The smallest value over `dims`, which are taken out. Equal ones share the gradient evenly. */
  amin(dims?: Dims, keepdim: boolean = false): Tensor {
    return one(147, args(this).d(dims).b(keepdim));
  }

  /** `amax`: `x.max(..)` is PyTorch's `x.max()`. With positions it is `maxDim`. */
  max(dims?: Dims): Tensor {
    return one(148, args(this).d(dims));
  }

  /** `amin`: `x.min(..)` is PyTorch's `x.min()`. With positions it is `minDim`. */
  min(dims?: Dims): Tensor {
    return one(149, args(this).d(dims));
  }

  /** The largest value along a dimension, which is taken out, and its first position (I32). The gradient goes to that position alone. */
  maxDim(dim: number, keepdim: boolean = false): [Tensor, Tensor] {
    return two(150, args(this).n(dim).b(keepdim));
  }

  /** The smallest value along a dimension, which is taken out, and its first position (I32). The gradient goes to that position alone. */
  minDim(dim: number, keepdim: boolean = false): [Tensor, Tensor] {
    return two(151, args(this).n(dim).b(keepdim));
  }

  /** The first position (I32) of the largest value along a dimension, which is taken out; with `..` the position in the tensor as one long row. */
  argmax(dims?: Dims, keepdim: boolean = false): Tensor {
    return one(152, args(this).d(dims).b(keepdim));
  }

  /** The first position (I32) of the smallest value along a dimension, which is taken out; with `..` the position in the tensor as one long row. */
  argmin(dims?: Dims, keepdim: boolean = false): Tensor {
    return one(153, args(this).d(dims).b(keepdim));
  }

  /** How many elements are not zero over `dims`, which are taken out (I32). */
  countNonzero(dims?: Dims): Tensor {
    return one(154, args(this).d(dims));
  }

  /** Are all elements not zero over `dims`, which are taken out? True where there are none. */
  all(dims?: Dims, keepdim: boolean = false): Tensor {
    return one(155, args(this).d(dims).b(keepdim));
  }

  /** Is some element not zero over `dims`, which are taken out? False where there are none. */
  any(dims?: Dims, keepdim: boolean = false): Tensor {
    return one(156, args(this).d(dims).b(keepdim));
  }

  /** The variance over `dims`, which are taken out: Σ(x − mean)² / max(0, n − correction). A correction of 1 is PyTorch's default, 0 the biased estimate. */
  var(dims?: Dims, correction: number = 1, keepdim: boolean = false): Tensor {
    return one(157, args(this).d(dims).n(correction).b(keepdim));
  }

  /** The variance and the mean over `dims`, which are taken out. */
  varMean(dims?: Dims, correction: number = 1, keepdim: boolean = false): [Tensor, Tensor] {
    return two(158, args(this).d(dims).n(correction).b(keepdim));
  }

  /** The standard deviation over `dims`, which are taken out: √var. Its derivative is 0 where it is 0. */
  std(dims?: Dims, correction: number = 1, keepdim: boolean = false): Tensor {
    return one(159, args(this).d(dims).n(correction).b(keepdim));
  }

  /** The p-norm over `dims`, which are taken out: (Σ|x|ᵖ)^(1/p); the largest |x| for p = ∞, the smallest for −∞, the number of elements that are not zero for 0. Its derivative is 0 where it is 0. */
  norm(p: number = 2, dims?: Dims, keepdim: boolean = false): Tensor {
    return one(160, args(this).n(p).d(dims).b(keepdim));
  }

  /** log Σ exp(x) over `dims`, which are taken out, without overflow. Derivative: softmax. */
  logsumexp(dims?: Dims, keepdim: boolean = false): Tensor {
    return one(161, args(this).d(dims).b(keepdim));
  }

  /** exp(x) / Σ exp(x) along `dim`, without overflow. Derivative of y: y · (g − Σ g·y). */
  softmax(dim: number = -1): Tensor {
    return one(162, args(this).n(dim));
  }

  /** x − log Σ exp(x) along `dim`, without overflow. Derivative of y: g − exp(y) · Σ g. */
  logSoftmax(dim: number = -1): Tensor {
    return one(163, args(this).n(dim));
  }

  /** softmax(−x) along `dim`. */
  softmin(dim: number = -1): Tensor {
    return one(164, args(this).n(dim));
  }

  /** `x^y`, element by element. Derivatives: y x^(y−1) and x^y log x, with their limits at x = 0. */
  pow(exponent: Tensor | number): Tensor {
    return one(165, args(this).o(exponent));
  }

  /** `x²`. Derivative: 2x. */
  square(): Tensor {
    return one(166, args(this));
  }

  /** `other − x`. Derivative: −1, and 1 for other. */
  rsub(other: Tensor | number): Tensor {
    return one(167, args(this).o(other));
  }

  /** Linear interpolation: `x + weight (end − x)`; from the end, `end − (1 − weight) (end − x)`, for weights from ½ on, so that a weight of 1 gives the end itself. */
  lerp(end: Tensor | number, weight: Tensor | number): Tensor {
    return one(168, args(this).o(end).o(weight));
  }

  /** `log(1 + e^(βx)) / β`, and x itself where βx > threshold, as PyTorch's softplus with arguments. */
  softplusWith(beta: number, threshold: number = 20): Tensor {
    return one(169, args(this).n(beta).n(threshold));
  }

  /** `log σ(x) = −log(1 + e^−x)`, without overflow. Derivative: σ(−x). */
  logSigmoid(): Tensor {
    return one(170, args(this));
  }

  /** `log(x / (1 − x))`, the inverse of the sigmoid; with `eps`, of x clamped to [eps, 1 − eps]. */
  logit(eps?: number): Tensor {
    return one(171, args(this).mn(eps));
  }

  /** `x − trunc x`, what follows the point. Derivative: 1. */
  frac(): Tensor {
    return one(172, args(this));
  }

  /** Degrees to radians: `x π / 180`. */
  deg2rad(): Tensor {
    return one(173, args(this));
  }

  /** Radians to degrees: `x 180 / π`. */
  rad2deg(): Tensor {
    return one(174, args(this));
  }

  /** NaN, ∞ and −∞ replaced by numbers. Derivative: 1 where x is finite, else 0. */
  nanToNum(nan: number = 0, positive: number = 3.4028234663852886e38, negative: number = -3.4028234663852886e38): Tensor {
    return one(175, args(this).n(nan).n(positive).n(negative));
  }

  /** `condition ? a : b`, element by element; self is the condition. */
  where(a: Tensor | number, b: Tensor | number): Tensor {
    return one(176, args(this).o(a).o(b));
  }

  /** x where x > 0, else α (e^x − 1). Derivative: 1, else α e^x. PyTorch's α is 1. */
  elu(alpha: number = 1): Tensor {
    return one(177, args(this).n(alpha));
  }

  /** x where x > 0, else α (e^(x/α) − 1): smooth for every α. Derivative: 1, else e^(x/α). PyTorch's α is 1. */
  celu(alpha: number = 1): Tensor {
    return one(178, args(this).n(alpha));
  }

  /** s · elu(x) with the s and α that keep mean 0 and variance 1 through layers. */
  selu(): Tensor {
    return one(179, args(this));
  }

  /** x where x > 0, else `slope · x`; at 0 the derivative is the slope. PyTorch's slope is 0.01. */
  leakyRelu(slope: number = 0.01): Tensor {
    return one(180, args(this).n(slope));
  }

  /** x where x > 0, else `weight · x`, with one weight, or one for each channel of dimension 1. */
  prelu(weight: Tensor): Tensor {
    return one(181, args(this).t(weight));
  }

  /** x where x > 0, else a · x with a random in [lower, upper) for each element, as in training; in evaluation PyTorch uses `leakyRelu` with the mean slope. PyTorch's bounds are 1/8 and 1/3. */
  rrelu(lower: number = 1 / 8, upper: number = 1 / 3, generator?: Generator): Tensor {
    return one(182, args(this).n(lower).n(upper).g(generator));
  }

  /** x brought into [min, max]. Derivative: 1 where min < x < max, else 0 (unlike `clamp`, 0 at the bounds). PyTorch's bounds are −1 and 1. */
  hardtanh(min: number = -1, max: number = 1): Tensor {
    return one(183, args(this).n(min).n(max));
  }

  /** x where |x| > λ, else 0; the derivative is 1 and 0. PyTorch's λ is ½. */
  hardshrink(lambda: number = 0.5): Tensor {
    return one(184, args(this).n(lambda));
  }

  /** x − λ where x > λ, x + λ where x < −λ, else 0; the derivative is 1, 1 and 0. PyTorch's λ is ½. */
  softshrink(lambda: number = 0.5): Tensor {
    return one(185, args(this).n(lambda));
  }

  /** x where x > threshold, else a number; the derivative is 1 and 0. */
  threshold(threshold: number, value: number): Tensor {
    return one(186, args(this).n(threshold).n(value));
  }

  /** `x / (1 + |x|)`. Derivative: 1 / (1 + |x|)². */
  softsign(): Tensor {
    return one(187, args(this));
  }

  /** `x − tanh x`. Derivative: tanh²x. */
  tanhshrink(): Tensor {
    return one(188, args(this));
  }

  /** The gated linear unit: a · σ(b), where a and b are the halves along `dim`. */
  glu(dim: number = -1): Tensor {
    return one(189, args(this).n(dim));
  }

  /** (x − mean) / √(var + ε) · weight + bias over the last dimensions, whose sizes are given; weight and bias have that shape. PyTorch's ε is 1e-5. */
  layerNorm(normalizedShape: Sizes, weight?: Tensor, bias?: Tensor, eps: number = 1e-5): Tensor {
    return one(190, args(this).ns(normalizedShape).mt(weight).mt(bias).n(eps));
  }

  /** x / √(mean(x²) + ε) · weight over the last dimensions, whose sizes are given; the weight has that shape. */
  rmsNorm(normalizedShape: Sizes, weight?: Tensor, eps: number = 1.1920929e-7): Tensor {
    return one(191, args(this).ns(normalizedShape).mt(weight).n(eps));
  }

  /** (x − mean) / √(var + ε) · weight + bias over groups of channels of (N, C, …) and what follows them; weight and bias have shape (C). PyTorch's ε is 1e-5. */
  groupNorm(groups: number, weight?: Tensor, bias?: Tensor, eps: number = 1e-5): Tensor {
    return one(192, args(this).n(groups).mt(weight).mt(bias).n(eps));
  }

  /** (x − mean) / √(var + ε) · weight + bias over what follows the channels of (N, C, …), for each channel of each example; weight and bias have shape (C). PyTorch's ε is 1e-5. */
  instanceNorm(weight?: Tensor, bias?: Tensor, eps: number = 1e-5): Tensor {
    return one(193, args(this).mt(weight).mt(bias).n(eps));
  }

  /** (x − mean) / √(var + ε) · weight + bias for each channel of (N, C, …), with a mean and variance that are given, such as running statistics: as in evaluation. All four have shape (C). */
  batchNorm(mean: Tensor, variance: Tensor, weight?: Tensor, bias?: Tensor, eps: number = 1e-5): Tensor {
    return one(194, args(this).t(mean).t(variance).mt(weight).mt(bias).n(eps));
  }

  /** x / (k + α · mean of x² over `size` neighbouring channels)^β for (N, C, …); the mean counts channels beyond the ends as 0. PyTorch's α is 1e-4, β ¾, k 1. */
  localResponseNorm(size: number, alpha: number = 1e-4, beta: number = 0.75, k: number = 1): Tensor {
    return one(195, args(this).n(size).n(alpha).n(beta).n(k));
  }

  /** Each element is 0 with probability p, else x / (1 − p): as in training. In evaluation there is nothing to do. */
  dropout(p: number = 0.5, generator?: Generator): Tensor {
    return one(196, args(this).n(p).g(generator));
  }

  /** `dropout` of whole channels of (N, C, …): PyTorch's dropout1d, dropout2d and dropout3d. */
  featureDropout(p: number = 0.5, generator?: Generator): Tensor {
    return one(197, args(this).n(p).g(generator));
  }

  /** Dropout that keeps mean 0 and variance 1, for use with `selu`. */
  alphaDropout(p: number = 0.5, generator?: Generator): Tensor {
    return one(198, args(this).n(p).g(generator));
  }

  /** `alphaDropout` of whole channels of (N, C, …). */
  featureAlphaDropout(p: number = 0.5, generator?: Generator): Tensor {
    return one(199, args(this).n(p).g(generator));
  }

  /** The rows of this table (V, D) that indexes of any shape name: (…) to (…, D). A row named twice gets both gradients; the padding row gets none. An index outside is an error when the result is computed. */
  embedding(indices: Tensor, paddingIndex?: number): Tensor {
    return one(200, args(this).t(indices).mn(paddingIndex));
  }

  /** The sum, mean or maximum of the rows of this table (V, D) that each bag of indexes names: (B, D). Bags are the rows of indexes (B, L), or parts of a vector of indexes that start at the offsets. An empty bag is 0. */
  embeddingBag(indices: Tensor, mode: "sum" | "mean" | "max" = "mean", offsets: Sizes = [], weights?: Tensor, paddingIndex?: number): Tensor {
    return one(201, args(this).t(indices).s(mode).ns(offsets).mt(weights).mn(paddingIndex));
  }

  /** softmax(Q Kᵀ · scale + mask) V for queries (…, L, E), keys (…, S, E) and values (…, S, V). */
  scaledDotProductAttention(key: Tensor, value: Tensor, mask?: Tensor, causal: boolean = false, dropout: number = 0, scale?: number, generator?: Generator, enableGqa: boolean = false): Tensor {
    return one(202, args(this).t(key).t(value).mt(mask).b(causal).n(dropout).mn(scale).g(generator).b(enableGqa));
  }

  /** This tensor (N, C, d1, …) with the dimensions after (N, C) resized. */
  interpolate(size: Sizes, mode: "nearest" | "nearest-exact" | "linear" | "bilinear" | "trilinear" | "bicubic" | "area" = "nearest", alignCorners: boolean = false): Tensor {
    return one(203, args(this).ns(size).s(mode).b(alignCorners));
  }

  /** Resizes the last dimensions by a factor each; `interpolate` takes the sizes. */
  interpolateBy(factors: Sizes, mode: "nearest" | "nearest-exact" | "linear" | "bilinear" | "trilinear" | "bicubic" | "area" = "nearest", alignCorners: boolean = false): Tensor {
    return one(204, args(this).ns(factors).s(mode).b(alignCorners));
  }

  /** (…, C r², H, W) to (…, C, H r, W r): channels become the pixels of r × r blocks. */
  pixelShuffle(factor: number): Tensor {
    return one(205, args(this).n(factor));
  }

  /** (…, C, H r, W r) to (…, C r², H, W): the pixels of r × r blocks become channels; the inverse of `pixelShuffle`. */
  pixelUnshuffle(factor: number): Tensor {
    return one(206, args(this).n(factor));
  }

  /** The p-norm of x − y + ε over the last dimension, which is taken out. PyTorch's p is 2, its ε 1e-6. */
  pairwiseDistance(other: Tensor, p: number = 2, eps: number = 1e-6): Tensor {
    return one(207, args(this).t(other).n(p).n(eps));
  }

  /** x · y / (|x| |y|) along `dim` of both, broadcast to one shape; the dimension is taken out, and lengths count as at least ε. PyTorch's ε is 1e-8. */
  cosineSimilarity(other: Tensor, dim: number = 1, eps: number = 1e-8): Tensor {
    return one(208, args(this).t(other).n(dim).n(eps));
  }

  /** x divided by its p-norm along `dim`, which counts as at least ε. PyTorch's p is 2, its ε 1e-12. */
  normalize(p: number = 2, dim: number = 1, eps: number = 1e-12): Tensor {
    return one(209, args(this).n(p).n(dim).n(eps));
  }

  /** yₖ = x₁ᵀ Wₖ x₂ + bₖ for x₁ (…, I), x₂ (…, J), weight (K, I, J) and bias (K). */
  bilinear(other: Tensor, weight: Tensor, bias?: Tensor): Tensor {
    return one(210, args(this).t(other).t(weight).mt(bias));
  }

  /** The mean cross entropy of these logits (N, C, d1, …) against class numbers (N, d1, …) or probabilities; `CrossEntropyLoss` has options. */
  crossEntropy(target: Tensor, weight?: Tensor, ignoreIndex: number = -100, reduction: "mean" | "sum" | "none" = "mean", labelSmoothing: number = 0): Tensor {
    return one(211, args(this).t(target).mt(weight).n(ignoreIndex).s(reduction).n(labelSmoothing));
  }

  /** The mean negative log likelihood of these log probabilities (N, C, d1, …) against class numbers; `NllLoss` has options. */
  nllLoss(target: Tensor, weight?: Tensor, ignoreIndex: number = -100, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(212, args(this).t(target).mt(weight).n(ignoreIndex).s(reduction));
  }

  /** The mean binary cross entropy of these probabilities; `BceLoss` has options. */
  binaryCrossEntropy(target: Tensor, weight?: Tensor, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(213, args(this).t(target).mt(weight).s(reduction));
  }

  /** The mean binary cross entropy of these logits; `BceWithLogitsLoss` has options. */
  binaryCrossEntropyWithLogits(target: Tensor, weight?: Tensor, reduction: "mean" | "sum" | "none" = "mean", posWeight?: Tensor): Tensor {
    return one(214, args(this).t(target).mt(weight).s(reduction).mt(posWeight));
  }

  /** The mean squared error; `MseLoss` has options. */
  mseLoss(target: Tensor, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(215, args(this).t(target).s(reduction));
  }

  /** The mean absolute error; `L1Loss` has options. */
  l1Loss(target: Tensor, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(216, args(this).t(target).s(reduction));
  }

  /** The mean smooth L1 loss with β = 1; `SmoothL1Loss` has options. */
  smoothL1Loss(target: Tensor, reduction: "mean" | "sum" | "none" = "mean", beta: number = 1): Tensor {
    return one(217, args(this).t(target).s(reduction).n(beta));
  }

  /** The mean Huber loss with δ = 1; `HuberLoss` has options. */
  huberLoss(target: Tensor, reduction: "mean" | "sum" | "none" = "mean", delta: number = 1): Tensor {
    return one(218, args(this).t(target).s(reduction).n(delta));
  }

  /** The Kullback–Leibler divergence of these log probabilities from a target, as the mean over all elements; `KlDivLoss` has options, among them the mean over the batch. */
  klDiv(target: Tensor, reduction: "mean" | "batchmean" | "sum" | "none" = "mean", logTarget: boolean = false): Tensor {
    return one(219, args(this).t(target).s(reduction).b(logTarget));
  }

  /** Negative log likelihood of counts y under Poisson distributions: eˣ − y x for logarithms of rates (the default), else x − y log(x + ε); the mean. */
  poissonNllLoss(target: Tensor, logInput: boolean = true, full: boolean = false, eps: number = 1e-8, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(220, args(this).t(target).b(logInput).b(full).n(eps).s(reduction));
  }

  /** Negative log likelihood of numbers y under normal distributions of mean x and variance v: ½ (log v + (x − y)² / v), the mean; v is taken as at least ε, without a change of derivative. */
  gaussianNllLoss(target: Tensor, variance: Tensor, full: boolean = false, eps: number = 1e-6, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(221, args(this).t(target).t(variance).b(full).n(eps).s(reduction));
  }

  /** x where the target is 1, max(0, margin − x) where it is −1; the mean. */
  hingeEmbeddingLoss(target: Tensor, margin: number = 1, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(222, args(this).t(target).n(margin).s(reduction));
  }

  /** max(0, −y (x₁ − x₂) + margin): the first should be larger where y is 1, smaller where it is −1; the mean. */
  marginRankingLoss(other: Tensor, target: Tensor, margin: number = 0, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(223, args(this).t(other).t(target).n(margin).s(reduction));
  }

  /** max(0, d(anchor, positive) − d(anchor, negative) + margin), where d is the p-norm of the difference over the last dimension; the mean. With `swap` the negative's distance is the smaller one of those to anchor and positive. */
  tripletMarginLoss(positive: Tensor, negative: Tensor, margin: number = 1, p: number = 2, eps: number = 1e-6, swap: boolean = false, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(224, args(this).t(positive).t(negative).n(margin).n(p).n(eps).b(swap).s(reduction));
  }

  /** 1 − cos(x₁, x₂) where the target is 1, max(0, cos(x₁, x₂) − margin) where it is −1; the mean. */
  cosineEmbeddingLoss(other: Tensor, target: Tensor, margin: number = 0, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(225, args(this).t(other).t(target).n(margin).s(reduction));
  }

  /** Σ over the other classes j of max(0, margin − x\[y\] + x\[j\])ᵖ / C, times the weight of y; the mean. */
  multiMarginLoss(target: Tensor, p: number = 1, margin: number = 1, weight?: Tensor, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(226, args(this).t(target).n(p).n(margin).mt(weight).s(reduction));
  }

  /** For rows that have several right classes: Σ over right k and wrong j of max(0, 1 − x\[k\] + x\[j\]) / C; the mean. */
  multiLabelMarginLoss(target: Tensor, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(227, args(this).t(target).s(reduction));
  }

  /** log(1 + e^(−y x)) for targets y of 1 and −1, without overflow; the mean. */
  softMarginLoss(target: Tensor, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(228, args(this).t(target).s(reduction));
  }

  /** The mean over classes of −(y log σ(x) + (1 − y) log σ(−x)), for rows that may have several classes; then the mean over rows. */
  multiLabelSoftMarginLoss(target: Tensor, weight?: Tensor, reduction: "mean" | "sum" | "none" = "mean"): Tensor {
    return one(229, args(this).t(target).mt(weight).s(reduction));
  }

  /** −log p(labels | x), where p sums over all alignments of the labels with the time steps. */
  ctcLoss(targets: Tensor, inputLengths: Sizes, targetLengths: Sizes, blank: number = 0, reduction: "mean" | "sum" | "none" = "mean", zeroInfinity: boolean = false): Tensor {
    return one(230, args(this).t(targets).ns(inputLengths).ns(targetLengths).n(blank).s(reduction).b(zeroInfinity));
  }

  /** The matrix product. Vectors count as a row (left) or a column (right), which is taken out again; leading dimensions are batches and are broadcast. */
  matmul(other: Tensor): Tensor {
    return one(231, args(this).t(other));
  }

  /** The product of two matrices, without broadcasting. */
  mm(other: Tensor): Tensor {
    return one(232, args(this).t(other));
  }

  /** The products of as many matrices, without broadcasting: (B, N, K) and (B, K, M) give (B, N, M). */
  bmm(other: Tensor): Tensor {
    return one(233, args(this).t(other));
  }

  /** The product of a matrix and a vector. */
  mv(vector: Tensor): Tensor {
    return one(234, args(this).t(vector));
  }

  /** beta · self + alpha · (a @ b), for matrices a and b; self is repeated to the product's shape. With beta 0, self is left out, NaN and all. */
  addmm(a: Tensor, b: Tensor, beta: number = 1, alpha: number = 1): Tensor {
    return one(235, args(this).t(a).t(b).n(beta).n(alpha));
  }

  /** beta · self + alpha · (a @ b), for batches of matrices; self is repeated to the product's shape. */
  baddbmm(a: Tensor, b: Tensor, beta: number = 1, alpha: number = 1): Tensor {
    return one(236, args(this).t(a).t(b).n(beta).n(alpha));
  }

  /** The sum of products over some dimensions of both tensors; the others stay, the left's first. */
  tensordot(other: Tensor, dims: Sizes, others: Sizes): Tensor {
    return one(237, args(this).t(other).ns(dims).ns(others));
  }

  /** This tensor with values, or one number, written at indexed places along `dim`; where an index comes twice the last value stays. */
  scatter(dim: number, index: Tensor, values: Tensor | number): Tensor {
    return one(238, args(this).n(dim).t(index).o(values));
  }

  /** This tensor with values added at indexed places along `dim`; the adjoint of gather. Of larger values only the part that the index covers is used. */
  scatterAdd(dim: number, index: Tensor, values: Tensor | number): Tensor {
    return one(239, args(this).n(dim).t(index).o(values));
  }

  /** This tensor with slices of `source` added at the positions along `dim` that a vector names. */
  indexAdd(dim: number, index: Tensor, source: Tensor): Tensor {
    return one(240, args(this).n(dim).t(index).t(source));
  }

  /** The positions along `dim` of the elements in increasing order, or decreasing, as I32. Equal elements keep their order; NaN counts as larger than every number. */
  argsort(dim: number = -1, descending: boolean = false): Tensor {
    return one(241, args(this).n(dim).b(descending));
  }

  /** The elements along `dim` in increasing order, or decreasing, and the positions they come from. Equal elements keep their order; NaN counts as larger than every number. The gradient goes back to those positions. */
  sort(dim: number = -1, descending: boolean = false): [Tensor, Tensor] {
    return two(242, args(this).n(dim).b(descending));
  }

  /** The elements along the first dimension in increasing order. */
  msort(): Tensor {
    return one(243, args(this));
  }

  /** The `k` largest elements along `dim`, or the smallest, and the positions they come from. They come in order, also when `sorted` does not ask for it; of equal ones the first come first. */
  topk(k: number, dim: number = -1, largest: boolean = true, sorted: boolean = true): [Tensor, Tensor] {
    return two(244, args(this).n(k).n(dim).b(largest).b(sorted));
  }

  /** The `k`-th smallest element along `dim` (counted from 1) and its position; the dimension is taken out. */
  kthvalue(k: number, dim: number = -1): [Tensor, Tensor] {
    return two(245, args(this).n(k).n(dim));
  }

  /** The median along `dim` and its position; the dimension is taken out. Of an even number of elements it is the lower of the two in the middle; where there is a NaN it is NaN. */
  median(dim: number = -1): [Tensor, Tensor] {
    return two(246, args(this).n(dim));
  }

  /** The running sum along `dim`: out\[k\] = x\[0\] + … + x\[k\]. Booleans and bytes are summed as I32. */
  cumsum(dim: number): Tensor {
    return one(247, args(this).n(dim));
  }

  /** The running product along `dim`: out\[k\] = x\[0\] · … · x\[k\]. Booleans and bytes are multiplied as I32. */
  cumprod(dim: number): Tensor {
    return one(248, args(this).n(dim));
  }

  /** The convolution (as everywhere in deep learning, a cross-correlation) of an input (N, C, L) or (C, L) with a weight (O, C / groups, K), plus a bias (O): (N, O, L′) with L′ = ⌊(L + padding − dilation · (K − 1) − 1) / stride⌋ + 1. */
  conv1d(weight: Tensor, bias?: Tensor, stride: Sizes = 1, padding: Sizes = 0, dilation: Sizes = 1, groups: number = 1): Tensor {
    return one(249, args(this).t(weight).mt(bias).ns(stride).ns(padding).ns(dilation).n(groups));
  }

  /** The convolution of an input (N, C, H, W) or (C, H, W) with a weight (O, C / groups, KH, KW), plus a bias (O): out[n, o, i, j] = bias[o] + Σ x[n, c, i·stride − padding + k·dilation, …] · weight[o, c, k, …]. */
  conv2d(weight: Tensor, bias?: Tensor, stride: Sizes = 1, padding: Sizes = 0, dilation: Sizes = 1, groups: number = 1): Tensor {
    return one(250, args(this).t(weight).mt(bias).ns(stride).ns(padding).ns(dilation).n(groups));
  }

  /** The convolution of an input (N, C, D, H, W) or (C, D, H, W) with a weight (O, C / groups, KD, KH, KW), plus a bias (O). */
  conv3d(weight: Tensor, bias?: Tensor, stride: Sizes = 1, padding: Sizes = 0, dilation: Sizes = 1, groups: number = 1): Tensor {
    return one(251, args(this).t(weight).mt(bias).ns(stride).ns(padding).ns(dilation).n(groups));
  }

  /** The transposed convolution of an input (N, C, L) or (C, L) with a weight (C, O / groups, K), plus a bias (O): (N, O, L′) with L′ = (L − 1) · stride − 2 · padding + dilation · (K − 1) + output_padding + 1. It is the gradient of `conv1d` with respect to its input. */
  convTranspose1d(weight: Tensor, bias?: Tensor, stride: Sizes = 1, padding: Sizes = 0, outputPadding: Sizes = 0, groups: number = 1, dilation: Sizes = 1): Tensor {
    return one(252, args(this).t(weight).mt(bias).ns(stride).ns(padding).ns(outputPadding).n(groups).ns(dilation));
  }

  /** The transposed convolution of an input (N, C, H, W) or (C, H, W) with a weight (C, O / groups, KH, KW), plus a bias (O). */
  convTranspose2d(weight: Tensor, bias?: Tensor, stride: Sizes = 1, padding: Sizes = 0, outputPadding: Sizes = 0, groups: number = 1, dilation: Sizes = 1): Tensor {
    return one(253, args(this).t(weight).mt(bias).ns(stride).ns(padding).ns(outputPadding).n(groups).ns(dilation));
  }

  /** The transposed convolution of an input (N, C, D, H, W) or (C, D, H, W) with a weight (C, O / groups, KD, KH, KW), plus a bias (O). */
  convTranspose3d(weight: Tensor, bias?: Tensor, stride: Sizes = 1, padding: Sizes = 0, outputPadding: Sizes = 0, groups: number = 1, dilation: Sizes = 1): Tensor {
    return one(254, args(this).t(weight).mt(bias).ns(stride).ns(padding).ns(outputPadding).n(groups).ns(dilation));
  }

  /** The largest element of every window of (N, C, L) or (C, L). The gradient goes to that element, the first of equal ones. */
  maxPool1d(kernel: Sizes, stride: Sizes = [], padding: Sizes = 0, dilation: Sizes = 1, ceilMode: boolean = false): Tensor {
    return one(255, args(this).ns(kernel).ns(stride).ns(padding).ns(dilation).b(ceilMode));
  }

  /** The largest element of every window of (N, C, H, W) or (C, H, W): H′ = ⌊(H + 2 · padding − dilation · (kernel − 1) − 1) / stride⌋ + 1, or ⌈…⌉ + 1 in ceil mode. */
  maxPool2d(kernel: Sizes, stride: Sizes = [], padding: Sizes = 0, dilation: Sizes = 1, ceilMode: boolean = false): Tensor {
    return one(256, args(this).ns(kernel).ns(stride).ns(padding).ns(dilation).b(ceilMode));
  }

  /** The largest element of every window of (N, C, D, H, W) or (C, D, H, W). */
  maxPool3d(kernel: Sizes, stride: Sizes = [], padding: Sizes = 0, dilation: Sizes = 1, ceilMode: boolean = false): Tensor {
    return one(257, args(this).ns(kernel).ns(stride).ns(padding).ns(dilation).b(ceilMode));
  }

  /** `maxPool1d`, and the position of every maximum in its row (I32). */
  maxPool1dWithIndices(kernel: Sizes, stride: Sizes = [], padding: Sizes = 0, dilation: Sizes = 1, ceilMode: boolean = false): [Tensor, Tensor] {
    return two(258, args(this).ns(kernel).ns(stride).ns(padding).ns(dilation).b(ceilMode));
  }

  /** `maxPool2d`, and the position of every maximum in its channel, row · W + column (I32). */
  maxPool2dWithIndices(kernel: Sizes, stride: Sizes = [], padding: Sizes = 0, dilation: Sizes = 1, ceilMode: boolean = false): [Tensor, Tensor] {
    return two(259, args(this).ns(kernel).ns(stride).ns(padding).ns(dilation).b(ceilMode));
  }

  /** `maxPool3d`, and the position of every maximum in its channel (I32). */
  maxPool3dWithIndices(kernel: Sizes, stride: Sizes = [], padding: Sizes = 0, dilation: Sizes = 1, ceilMode: boolean = false): [Tensor, Tensor] {
    return two(260, args(this).ns(kernel).ns(stride).ns(padding).ns(dilation).b(ceilMode));
  }

  /** The mean of every window of (N, C, L) or (C, L). */
  avgPool1d(kernel: Sizes, stride: Sizes = [], padding: Sizes = 0, ceilMode: boolean = false, countIncludePad: boolean = true): Tensor {
    return one(261, args(this).ns(kernel).ns(stride).ns(padding).b(ceilMode).b(countIncludePad));
  }

  /** The mean of every window of (N, C, H, W) or (C, H, W); zeros around the input count as elements unless the options say otherwise. */
  avgPool2d(kernel: Sizes, stride: Sizes = [], padding: Sizes = 0, ceilMode: boolean = false, countIncludePad: boolean = true): Tensor {
    return one(262, args(this).ns(kernel).ns(stride).ns(padding).b(ceilMode).b(countIncludePad));
  }

  /** The mean of every window of (N, C, D, H, W) or (C, D, H, W). */
  avgPool3d(kernel: Sizes, stride: Sizes = [], padding: Sizes = 0, ceilMode: boolean = false, countIncludePad: boolean = true): Tensor {
    return one(263, args(this).ns(kernel).ns(stride).ns(padding).b(ceilMode).b(countIncludePad));
  }

  /** The means of as many windows as asked for, over (N, C, L) or (C, L): window i goes from ⌊i · L / output⌋ to before ⌈(i + 1) · L / output⌉. */
  adaptiveAvgPool1d(output: Sizes): Tensor {
    return one(264, args(this).ns(output));
  }

  /** The means of as many windows as asked for, over (N, C, H, W) or (C, H, W). */
  adaptiveAvgPool2d(output: Sizes): Tensor {
    return one(265, args(this).ns(output));
  }

  /** The values of `adaptiveMaxPool1dWithIndices`. */
  adaptiveMaxPool1d(output: Sizes): Tensor {
    return one(266, args(this).ns(output));
  }

  /** The values of `adaptiveMaxPool2dWithIndices`. */
  adaptiveMaxPool2d(output: Sizes): Tensor {
    return one(267, args(this).ns(output));
  }
}

/** A tensor filled with a number; without a dtype in the options, the number's kind gives it. */
export function full(shape: Sizes, fill: number, dtype?: DType): Tensor {
  return one(76, args().ns(shape).n(fill).mty(dtype));
}

/** Zeros. */
export function zeros(shape: Sizes, dtype?: DType): Tensor {
  return one(77, args().ns(shape).mty(dtype));
}

/** Ones. */
export function ones(shape: Sizes, dtype?: DType): Tensor {
  return one(78, args().ns(shape).mty(dtype));
}

/** start, start + step, … up to but not including `end`: ⌈(end − start) / step⌉ numbers. Integers give I32, floats F32, unless the options name a dtype. */
export function arange(start: number, end: number, step: number = 1, dtype?: DType): Tensor {
  return one(82, args().n(start).n(end).n(step).mty(dtype));
}

/** `steps` numbers at equal distances from `start` to `end`, both included. */
export function linspace(start: number, end: number, steps: number, dtype?: DType): Tensor {
  return one(83, args().n(start).n(end).n(steps).mty(dtype));
}

/** The identity matrix of n rows. */
export function eye(n: number, columns?: number, dtype?: DType): Tensor {
  return one(84, args().n(n).mn(columns).mty(dtype));
}

/** Uniform random numbers in [0, 1). */
export function rand(shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(85, args().ns(shape).g(generator).mty(dtype));
}

/** Standard normal random numbers, equal on every device within 4 ulp. */
export function randn(shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(86, args().ns(shape).g(generator).mty(dtype));
}

/** Random integers in low..high; I32 unless the options say otherwise. */
export function randint(low: number, high: number, shape: Sizes, generator?: Generator): Tensor {
  return one(87, args().n(low).n(high).ns(shape).g(generator));
}

/** The numbers 0 to n − 1 in random order (I32), every order as likely as any other. */
export function randperm(n: number, generator?: Generator): Tensor {
  return one(88, args().n(n).g(generator));
}

/** The tensors one after the other along `dim`; the other dimensions must agree. Dtypes are promoted. As in PyTorch, tensors of shape `[0]` are left out beside tensors of another rank. */
export function cat(tensors: readonly Tensor[], dim: number = 0): Tensor {
  return one(93, args().ts(tensors).n(dim));
}

/** The tensors, all of one shape, along a new dimension. */
export function stack(tensors: readonly Tensor[], dim: number = 0): Tensor {
  return one(94, args().ts(tensors).n(dim));
}

/** The tensors side by side: joined along dimension 1, or 0 for vectors and numbers. */
export function hstack(tensors: readonly Tensor[]): Tensor {
  return one(95, args().ts(tensors));
}

/** The tensors below each other: joined along dimension 0, vectors counting as rows. */
export function vstack(tensors: readonly Tensor[]): Tensor {
  return one(96, args().ts(tensors));
}

/** Grids of coordinates: result i holds vector i along dimension i and repeats it along the others (PyTorch's `indexing="ij"`). */
export function meshgrid(vectors: readonly Tensor[]): Tensor[] {
  return many(97, args().ts(vectors));
}

/** `meshgrid` with the first two dimensions exchanged, as for pictures (PyTorch's `indexing="xy"`). */
export function meshgridXy(vectors: readonly Tensor[]): Tensor[] {
  return many(98, args().ts(vectors));
}

/** Sums of products in Einstein's notation: every operand's dimensions are named by letters, separated by commas; dimensions of one name are multiplied along each other, and names that are not in the result (after `->`) are summed over. Without `->` the result has the names that occur once, in alphabetical order. `...` stands for further dimensions, which are broadcast; a name twice in one operand means its diagonal. */
export function einsum(equation: string, operands: readonly Tensor[]): Tensor {
  return one(99, args().s(equation).ts(operands));
}
