// As written by `cargo test -p flambeau-web`: do not edit by hand.

/**
 * Random tensors of many distributions, with NumPy's names. The same seed gives the same numbers on every device.
 *
 * @packageDocumentation
 */

import type { DType, Generator, Sizes } from "../types.js";
import type { Tensor } from "../tensor.js";
import { args, one } from "../calls.js";
import { loadPart } from "../wasm.js";

/** Fetches this part of the module ahead of its first use, which otherwise waits for it. */
export function load(): Promise<void> {
  return loadPart("numeric");
}

/** Uniform numbers in [low, high). */
export function uniform(low: Tensor | number, high: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262144, args().o(low).o(high).ns(shape).g(generator).mty(dtype));
}

/** Normal numbers: mean + deviation · z. */
export function normal(mean: Tensor | number, deviation: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262145, args().o(mean).o(deviation).ns(shape).g(generator).mty(dtype));
}

/** Vectors of normal numbers with means (n) and a covariance matrix (n, n), which must be positive definite: (…, n) for a shape (…). */
export function multivariateNormal(mean: Tensor, covariance: Tensor, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262146, args().t(mean).t(covariance).ns(shape).g(generator).mty(dtype));
}

/** e to the power of normal numbers: exp(mean + deviation · z). */
export function lognormal(mean: Tensor | number, deviation: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262147, args().o(mean).o(deviation).ns(shape).g(generator).mty(dtype));
}

/** Normal numbers between two bounds, as if all others had been thrown away. At least 2⁻¹¹ of the normal numbers must lie between them. */
export function truncatedNormal(mean: number, deviation: number, low: number, high: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262148, args().n(mean).n(deviation).n(low).n(high).ns(shape).g(generator).mty(dtype));
}

/** Exponential numbers of this mean: −scale · ln u. */
export function exponential(scale: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262149, args().o(scale).ns(shape).g(generator).mty(dtype));
}

/** Laplace's distribution: exponential numbers of this scale to both sides of a location. */
export function laplace(location: Tensor | number, scale: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262150, args().o(location).o(scale).ns(shape).g(generator).mty(dtype));
}

/** The logistic distribution: location + scale · ln(u / (1 − u)). */
export function logistic(location: Tensor | number, scale: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262151, args().o(location).o(scale).ns(shape).g(generator).mty(dtype));
}

/** Gumbel's distribution, that of the largest of many: location − scale · ln(−ln u). */
export function gumbel(location: Tensor | number, scale: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262152, args().o(location).o(scale).ns(shape).g(generator).mty(dtype));
}

/** Cauchy's distribution: location + scale · tan(π (u − ½)). It has no mean. */
export function cauchy(location: Tensor | number, scale: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262153, args().o(location).o(scale).ns(shape).g(generator).mty(dtype));
}

/** Rayleigh's distribution: scale · √(−2 ln u). */
export function rayleigh(scale: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262154, args().o(scale).ns(shape).g(generator).mty(dtype));
}

/** Weibull's distribution of scale 1: (−ln u)^(1/a). */
export function weibull(a: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262155, args().o(a).ns(shape).g(generator).mty(dtype));
}

/** The Lomax distribution (Pareto's, moved to 0), as NumPy's: u^(−1/a) − 1. */
export function pareto(a: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262156, args().o(a).ns(shape).g(generator).mty(dtype));
}

/** Numbers in (0, 1) with the density a xᵃ⁻¹: u^(1/a). */
export function power(a: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262157, args().o(a).ns(shape).g(generator).mty(dtype));
}

/** Numbers between `left` and `right` whose density rises in a line to `mode` and falls again. */
export function triangular(left: number, mode: number, right: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262158, args().n(left).n(mode).n(right).ns(shape).g(generator).mty(dtype));
}

/** The gamma distribution with density xᵃ⁻¹ e^(−x/scale) / (Γ(a) scaleᵃ). */
export function gamma(a: number, scale: Tensor | number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262159, args().n(a).o(scale).ns(shape).g(generator).mty(dtype));
}

/** The sum of the squares of `freedom` normal numbers, which need not be a whole number of them. */
export function chisquare(freedom: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262160, args().n(freedom).ns(shape).g(generator).mty(dtype));
}

/** The sum of the squares of `freedom` > 1 normal numbers, one of which has the mean √`noncentrality`. */
export function noncentralChisquare(freedom: number, noncentrality: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262161, args().n(freedom).n(noncentrality).ns(shape).g(generator).mty(dtype));
}

/** Numbers in (0, 1) with density in proportion to xᵃ⁻¹ (1 − x)ᵇ⁻¹. */
export function beta(a: number, b: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262162, args().n(a).n(b).ns(shape).g(generator).mty(dtype));
}

/** Student's t: a normal number over the root of a chi-square's mean of `freedom`. */
export function standardT(freedom: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262163, args().n(freedom).ns(shape).g(generator).mty(dtype));
}

/** Fisher's F: the quotient of the means of two chi-squares. */
export function f(freedom: number, otherFreedom: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262164, args().n(freedom).n(otherFreedom).ns(shape).g(generator).mty(dtype));
}

/** Fisher's F of a [noncentral](Generator::noncentral_chisquare) chi-square over another. */
export function noncentralF(freedom: number, otherFreedom: number, noncentrality: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262165, args().n(freedom).n(otherFreedom).n(noncentrality).ns(shape).g(generator).mty(dtype));
}

/** Numbers that add up to 1 along a last dimension of as many as there are parameters: (…shape, K). */
export function dirichlet(parameters: Sizes, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262166, args().ns(parameters).ns(shape).g(generator).mty(dtype));
}

/** Wald's distribution (the inverse Gaussian one): how long a drifting particle takes to a place. */
export function wald(mean: number, scale: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262167, args().n(mean).n(scale).ns(shape).g(generator).mty(dtype));
}

/** Von Mises' distribution of angles in [−π, π], with density in proportion to e^(kappa cos(x − mean)). */
export function vonmises(mean: number, kappa: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262168, args().n(mean).n(kappa).ns(shape).g(generator).mty(dtype));
}

/** How many events happen where `rate` are expected (I32): λᵏ e^−λ / k!. */
export function poisson(rate: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262169, args().n(rate).ns(shape).g(generator).mty(dtype));
}

/** How many of n trials succeed, each with probability p (I32). */
export function binomial(n: number, p: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262170, args().n(n).n(p).ns(shape).g(generator).mty(dtype));
}

/** How many failures come before n successes, each with probability p (I32); n need not be whole. */
export function negativeBinomial(n: number, p: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262171, args().n(n).n(p).ns(shape).g(generator).mty(dtype));
}

/** Which trial is the first to succeed (I32, from 1), each with probability p. */
export function geometric(p: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262172, args().n(p).ns(shape).g(generator).mty(dtype));
}

/** How many of `sample` things, drawn from `good` and `bad` ones without being put back, are good (I32). */
export function hypergeometric(good: number, bad: number, sample: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262173, args().n(good).n(bad).n(sample).ns(shape).g(generator).mty(dtype));
}

/** Whole numbers k ≥ 1 (I32) with the probability −pᵏ / (k ln(1 − p)). */
export function logseries(p: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262174, args().n(p).ns(shape).g(generator).mty(dtype));
}

/** Whole numbers k ≥ 1 (I32) with probabilities in proportion to k^−a: Zipf's law. From about a = 2.6 on; with less, more numbers count than a table has. */
export function zipf(a: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262175, args().n(a).ns(shape).g(generator).mty(dtype));
}

/** The slices along a dimension in random order, every order as likely as any other. */
export function permutation(x: Tensor, dim: number = 0, generator?: Generator): Tensor {
  return one(262176, args().t(x).n(dim).g(generator));
}

/** The elements along a dimension in random order, each line by itself. */
export function permuted(x: Tensor, dim: number = 0, generator?: Generator): Tensor {
  return one(262177, args().t(x).n(dim).g(generator));
}

/** Numbers from 0 to n − 1 (I32), each as likely as any other; without replacement no number comes twice. */
export function choice(n: number, shape: Sizes, replace: boolean = true, generator?: Generator, dtype?: DType): Tensor {
  return one(262178, args().n(n).ns(shape).b(replace).g(generator).mty(dtype));
}

/** Numbers from 0 to n − 1 (I32) with n probabilities; without replacement no number comes twice, and what is left keeps its proportions. */
export function choiceWith(probabilities: Sizes, shape: Sizes, replace: boolean = true, generator?: Generator, dtype?: DType): Tensor {
  return one(262179, args().ns(probabilities).ns(shape).b(replace).g(generator).mty(dtype));
}

/** How often each of K outcomes comes in n trials (I32), with K probabilities: (…shape, K). It takes n numbers for each result. */
export function multinomial(n: number, probabilities: Sizes, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262180, args().n(n).ns(probabilities).ns(shape).g(generator).mty(dtype));
}

/** How many things of each kind there are among `sample` that are drawn without being put back (I32); `kinds` says how many there are of each: (…shape, K). */
export function multivariateHypergeometric(kinds: Sizes, sample: number, shape: Sizes, generator?: Generator, dtype?: DType): Tensor {
  return one(262181, args().ns(kinds).n(sample).ns(shape).g(generator).mty(dtype));
}
