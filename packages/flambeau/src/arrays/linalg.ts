/**
 * Linear algebra: decompositions of matrices, equations, norms. Leading dimensions are batches.
 *
 * @packageDocumentation
 */

import { loadPart } from "../wasm.js";

export * from "../generated/linalg.js";

/** Fetches this part of the module ahead of its first use, which otherwise waits for it. */
export function load(): Promise<void> {
  return loadPart("linalg");
}
