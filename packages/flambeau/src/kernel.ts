import { adopt } from "./maker.js";
import type { Tensor } from "./tensor.js";
import { dtypes, type DType } from "./types.js";
import { wasm } from "./wasm.js";

/** What a kernel is made of. */
export interface KernelOptions {
  /** WGSL. Inputs are bound first, then outputs, then the uniform words, all in group 0. */
  source: string;
  entry?: string;
  outputs: readonly { shape: readonly number[]; dtype?: DType }[];
  workgroups: readonly [number, number?, number?];
  uniform?: Uint32Array | readonly number[];
}

/**
 * A kernel of one's own, in WGSL: a node of the graph as any other. It runs on GPUs only, and has no derivative.
 *
 * ```ts
 * const [y] = kernel("double", {
 *   source: `@group(0) @binding(0) var<storage, read> x: array<f32>;
 *            @group(0) @binding(1) var<storage, read_write> y: array<f32>;
 *            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
 *              if (id.x < arrayLength(&x)) { y[id.x] = 2.0 * x[id.x]; }
 *            }`,
 *   outputs: [{ shape: [100] }],
 *   workgroups: [2],
 * })(x);
 * ```
 */
export function kernel(name: string, options: KernelOptions): (...inputs: Tensor[]) => Tensor[] {
  const { source, entry = "main", outputs, workgroups, uniform } = options;
  const { Kernel } = wasm();
  const made = new Kernel(name, source, entry);
  for (const { shape, dtype = "f32" } of outputs) made.output(Uint32Array.from(shape), dtypes.indexOf(dtype));
  const [x, y = 1, z = 1] = workgroups;
  made.workgroups(x, y, z);
  if (uniform !== undefined) made.uniform(Uint32Array.from(uniform));
  return (...inputs) => Array.from(made.call(Uint32Array.from(inputs, (input) => input.handle)), adopt);
}
