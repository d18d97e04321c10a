/** How precise products of `f32` are to be: the word of the page, of a device (`init`) or of a scope. */

import { within } from "./autograd.js";
import { wasm } from "./wasm.js";

/**
 * `"highest"`: as precise as `f32` arithmetic. `"high"`: operands may be rounded to 11 bits, as TF32 has them, where matrix units
 * multiply. WebGPU has none yet, so that both are `f32` arithmetic in browsers and in Node.
 */
export type Precision = "highest" | "high";

/** @internal Is it `"high"`? An error if it is neither word. */
export function isHigh(precision: Precision): boolean {
  if (precision !== "high" && precision !== "highest") {
    throw new TypeError(`flambeau: there is no precision ${String(precision)}: highest or high`);
  }
  return precision === "high";
}

/**
 * Says how precise products and convolutions of `f32` must be, for the page or the worker that has loaded the package: PyTorch's
 * `torch.set_float32_matmul_precision`. A device that was opened with a word of its own (`init({ matmulPrecision })`) and a scope
 * ({@link matmulPrecision}) count before it. At first it is `"highest"`.
 */
export function setFloat32MatmulPrecision(precision: Precision): void {
  wasm().precision_set(isHigh(precision));
}

/** The word of the page or the worker; `deviceInfo().matmulPrecision` is the one that holds. */
export function getFloat32MatmulPrecision(): Precision {
  return wasm().precision_is_high() ? "high" : "highest";
}

/**
 * Runs a function in which products and convolutions of `f32` are recorded with this precision, whatever the page and the device
 * say. What is recorded in it keeps it, wherever it is evaluated, and so do its derivatives, unless `backward` is called in another
 * scope.
 *
 * ```ts
 * const y = matmulPrecision("high", () => net.forward(x));
 * ```
 */
export function matmulPrecision<T>(precision: Precision, body: () => T): T {
  const high = isHigh(precision);
  const { precision_enter: enter, precision_leave: leave } = wasm();
  return within("matmulPrecision", () => enter(high), leave, body);
}
