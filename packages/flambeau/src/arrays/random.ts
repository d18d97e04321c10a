/**
 * Random tensors of many distributions, with the names of NumPy. The same seed gives the same numbers on every device.
 *
 * @packageDocumentation
 */

import { loadPart } from "../wasm.js";

export * from "../generated/random.js";

/** Fetches this part of the module ahead of its first use, which otherwise waits for it. */
export function load(): Promise<void> {
  return loadPart("numeric");
}
