import { adopt } from "./maker.js";
import type { Tensor } from "./tensor.js";
import { wasm } from "./wasm.js";

/** @internal Runs a function between the two ends of a mode. */
export function within<T>(name: string, enter: () => void, leave: () => void, body: () => T): T {
  enter();
  try {
    const result = body();
    if (result instanceof Promise) throw new TypeError(`flambeau: ${name} cannot wait; await outside of it`);
    return result;
  } finally {
    leave();
  }
}

const recording = <T>(enabled: boolean, body: () => T): T =>
  within(
    "noGrad",
    () => wasm().autograd_enter(enabled),
    () => wasm().autograd_leave(),
    body,
  );

/** Runs a function without recording for derivatives. */
export function noGrad<T>(body: () => T): T {
  return recording(false, body);
}

/** Runs a function with recording, inside `noGrad`. */
export function enableGrad<T>(body: () => T): T {
  return recording(true, body);
}

/** Is recording on? */
export function isGradEnabled(): boolean {
  return wasm().autograd_enabled();
}

/**
 * The derivatives of the sum of `outputs` with respect to `inputs`; `undefined` for an input that has no part in it.
 * With `createGraph` they can be differentiated again.
 */
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  options: { createGraph?: boolean; retainGraph?: boolean } = {},
): (Tensor | undefined)[] {
  const handles = (tensors: readonly Tensor[]) => Uint32Array.from(tensors, (tensor) => tensor.handle);
  const all = Array.isArray(outputs) ? (outputs as readonly Tensor[]) : [outputs as Tensor];
  const { createGraph = false, retainGraph = false } = options;
  const grads = wasm().autograd_grad(handles(all), handles(inputs), createGraph, retainGraph);
  return Array.from(grads, (handle) => (handle === 0 ? undefined : adopt(handle)));
}
