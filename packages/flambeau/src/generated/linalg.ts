// As written by `cargo test -p flambeau-web`: do not edit by hand.

/**
 * Decompositions of matrices, equations, norms. Leading dimensions are batches.
 *
 * @packageDocumentation
 */

import type { Dims } from "../types.js";
import type { Tensor } from "../tensor.js";
import { args, one, three, two } from "../calls.js";
import { loadPart } from "../wasm.js";

/** Fetches this part of the module ahead of its first use, which otherwise waits for it. */
export function load(): Promise<void> {
  return loadPart("linalg");
}

/** L with A = L Lᵀ, or U = Lᵀ (`upper`), for symmetric positive definite matrices (…, n, n). The lower triangle of A is read; the gradient is symmetric. A matrix that is not positive definite is an error (`linalg`). */
export function cholesky(x: Tensor, upper: boolean = false): Tensor {
  return one(131072, args().t(x).b(upper));
}

/** P, L, U with A = P L U: (…, m, n) → (…, m, m), (…, m, k), (…, k, n), k = min(m, n). Rows are exchanged so that no number of L exceeds 1. Singular matrices have a decomposition, too, whose gradient is not finite. */
export function lu(x: Tensor): [Tensor, Tensor, Tensor] {
  return three(131073, args().t(x));
}

/** L and U of `lu` in one matrix, without the ones of L's diagonal, and the rows of A in the order that they have in L U, (…, m), I32: what `luSolve` takes. (PyTorch has a list of exchanges in place of the order.) */
export function luFactor(x: Tensor): [Tensor, Tensor] {
  return two(131074, args().t(x));
}

/** X with A X = B from what `luFactor` gives of A: the method of L and U in one (…, n, n), with the order of the rows (…, n) and B (…, n, k). A zero on U's diagonal gives numbers that are not finite. */
export function luSolve(x: Tensor, rows: Tensor, b: Tensor): Tensor {
  return one(131075, args().t(x).t(rows).t(b));
}

/** X with A X = B: A (…, n, n), B (…, n, k) or vectors (…, n), batches broadcast. B holds vectors where it has one dimension, or one less than A and otherwise A's sizes. A singular A is an error (`linalg`). */
export function solve(x: Tensor, b: Tensor): Tensor {
  return one(131076, args().t(x).t(b));
}

/** X with T X = B, or X T = B (not `left`), where T is the `upper` or the lower triangle of the matrices (…, n, n), whose diagonal counts as ones if it is `unitriangular`; batches are broadcast. A zero on the diagonal gives numbers that are not finite. */
export function solveTriangular(x: Tensor, b: Tensor, upper: boolean, left: boolean = true, unitriangular: boolean = false): Tensor {
  return one(131077, args().t(x).t(b).b(upper).b(left).b(unitriangular));
}

/** X with A · X = B, summed over all dimensions of X: A has the dimensions of B and then those of X, of which there are as many elements. */
export function tensorsolve(x: Tensor, b: Tensor): Tensor {
  return one(131078, args().t(x).t(b));
}

/** The inverse of the map that the tensor is from its last dimensions to its first `first` ones, of which there are as many elements: the last dimensions come first. */
export function tensorinv(x: Tensor, first: number = 2): Tensor {
  return one(131079, args().t(x).n(first));
}

/** A⁻¹ of each matrix (…, n, n). A singular one is an error (`linalg`). Where A⁻¹ B is wanted, `solve` is quicker and more precise. */
export function inv(x: Tensor): Tensor {
  return one(131080, args().t(x));
}

/** The determinant of each matrix: (…, n, n) → (…). Its gradient is not finite where the matrix is singular. */
export function det(x: Tensor): Tensor {
  return one(131081, args().t(x));
}

/** The sign of the determinant and the logarithm of its absolute value, (…, n, n) → (…) and (…): where the determinant itself would be too large or too small for a float. Of a singular matrix 0 and −∞. */
export function slogdet(x: Tensor): [Tensor, Tensor] {
  return two(131082, args().t(x));
}

/** Q, whose columns are orthonormal, and the upper triangular R with A = Q R: (…, m, n) → (…, m, k) and (…, k, n), k = min(m, n), or with all m columns of Q (`complete`), which have no gradient where m > n. R's diagonal is not negative, which makes both unique where A has full rank. (PyTorch leaves the signs open.) */
export function qr(x: Tensor, complete: boolean = false): [Tensor, Tensor] {
  return two(131083, args().t(x).b(complete));
}

/** w, in increasing order, and V, whose columns are orthonormal, with A = V diag(w) Vᵀ for symmetric matrices: (…, n, n) → (…, n) and (…, n, n). The lower triangle is read. Each column's sign is open: a function of V has a meaning only if it does not depend on them. The gradient through V is not finite where eigenvalues are equal. */
export function eigh(x: Tensor): [Tensor, Tensor] {
  return two(131084, args().t(x));
}

/** The eigenvalues of `eigh`. Their gradient is finite where they are equal, too. */
export function eigvalsh(x: Tensor): Tensor {
  return one(131085, args().t(x));
}

/** U, s, in decreasing order, and Vᵀ with A = U diag(s) Vᵀ: (…, m, n) → (…, m, k), (…, k), (…, k, n), k = min(m, n); with `full_matrices` (…, m, m), (…, k), (…, n, n), of which the further vectors have no gradient. The columns of U and V are orthonormal; the sign of each pair of them is open. The gradient through U and V is not finite where singular values are equal. */
export function svd(x: Tensor, fullMatrices: boolean = true): [Tensor, Tensor, Tensor] {
  return three(131086, args().t(x).b(fullMatrices));
}

/** The singular values of `svd`. Their gradient is finite where they are equal, too. */
export function svdvals(x: Tensor): Tensor {
  return one(131087, args().t(x));
}

/** The pseudoinverse A⁺ = V diag(1/s) Uᵀ, (…, m, n) → (…, n, m), where 1/s is 0 for singular values up to `rtol` times the largest: max(m, n) ε unless it is given. */
export function pinv(x: Tensor, rtol?: number): Tensor {
  return one(131088, args().t(x).mn(rtol));
}

/** X that makes ‖A X − B‖ least: A (…, m, n), B (…, m, k), with batches broadcast. A must have full rank; of a wide one, with m < n, the least X of all. */
export function lstsq(x: Tensor, b: Tensor): Tensor {
  return one(131089, args().t(x).t(b));
}

/** How many singular values of each matrix are above `rtol` times the largest (max(m, n) ε unless it is given): (…, m, n) → (…), I32. */
export function matrixRank(x: Tensor, rtol?: number): Tensor {
  return one(131090, args().t(x).mn(rtol));
}

/** The norm (Σ |x|ᵖ)^(1/p) of vectors along `dims`, which are one where there are several. `ord` may be 0 (how many are not zero), ∞ and −∞ (the largest and the least absolute value). */
export function vectorNorm(x: Tensor, ord: number = 2, dims?: Dims): Tensor {
  return one(131091, args().t(x).n(ord).d(dims));
}

/** A norm of each matrix: (…, m, n) → (…). */
export function matrixNorm(x: Tensor, norm: "fro" | "nuc" | number = "fro"): Tensor {
  return one(131092, args().t(x).w(norm));
}

/** How much solving equations with A may enlarge errors: ‖A‖ ‖A⁻¹‖ of square matrices; of the order 2 and −2 the largest singular value over the least, or the reverse, of matrices of any shape. */
export function cond(x: Tensor, norm: "fro" | "nuc" | number = 2): Tensor {
  return one(131093, args().t(x).w(norm));
}

/** Aᵏ of each square matrix, by repeated squaring; of A⁻¹ where k is negative. */
export function matrixPower(x: Tensor, power: number): Tensor {
  return one(131094, args().t(x).n(power));
}

/** e^A = I + A + A²/2 + A³/6 + … of each square matrix: A is halved until its norm is below 1/2, a Taylor polynomial of degree 9 (F32) or 18 (F64) is taken, and squared as often. How often a matrix is halved is found on the device. */
export function matrixExp(x: Tensor): Tensor {
  return one(131095, args().t(x));
}

/** The cross product of vectors of three along the last dimension; the others are broadcast. */
export function cross(x: Tensor, other: Tensor, dim: number = -1): Tensor {
  return one(131096, args().t(x).t(other).n(dim));
}

/** The product of two matrices or more, multiplied in the order that takes the fewest multiplications. The first may be a vector, taken as a row, and the last one, taken as a column. */
export function multiDot(matrices: readonly Tensor[]): Tensor {
  return one(131097, args().ts(matrices));
}

/** The powers 0 to n − 1 of each number, (…, k) → (…, k, n); n is k unless it is given. */
export function vander(x: Tensor, n?: number): Tensor {
  return one(131098, args().t(x).mn(n));
}
