/** Neural networks: layers with PyTorch's names, defaults and first values. */

import type { GruOptions, MaxPoolOptions, UpsampleOptions } from "../generated/layers.js";
import { noGrad } from "../autograd.js";
import { adopt } from "../maker.js";
import { scope } from "../scope.js";
import { zeros, type Tensor } from "../tensor.js";
import { wasm } from "../wasm.js";
import { Sequential } from "./layer.js";
import type { Module, Parameter } from "./module.js";

export * from "../generated/layers.js";
export * from "./layer.js";
export * from "./module.js";

/** How values between grid points are found. */
export type Mode = NonNullable<UpsampleOptions["mode"]>;

/** Settings that all kinds of pooling have. */
export type PoolOptions = Pick<MaxPoolOptions, "stride" | "padding" | "ceilMode">;

/** Settings that all recurrent layers have. */
export type RecurrentOptions = GruOptions;

/** Calls one module after the other. */
export const sequential = (...modules: (Module & { forward(input: Tensor): Tensor })[]) => new Sequential(...modules);

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

/**
 * The norm of all gradients together, as if they were one vector; 0 where there are none. It is computed with the optimizer's
 * step, or when it is read.
 */
export function gradNorm(parameters: readonly Parameter[]): Tensor {
  return noGrad(() =>
    scope(() => {
      const squares = parameters.flatMap((each) => each.grad?.toDtype("f32").square().sum() ?? []);
      return squares.length === 0 ? zeros([]) : squares.reduce((sum, square) => sum.add(square)).sqrt();
    }),
  );
}

/** Brings gradients into [−max, max]. */
export function clipGradValue(parameters: readonly Parameter[], max: number): void {
  wasm().clip_grad_value(
    Uint32Array.from(parameters, (each) => each.slot),
    max,
  );
}
