/**
 * What NumPy has beyond networks: statistics, quantiles, histograms, searching, arranging, polynomials.
 *
 * @packageDocumentation
 */

import { loadPart } from "../wasm.js";

export * from "../generated/numeric.js";

/** Fetches this part of the module ahead of its first use, which otherwise waits for it. */
export function load(): Promise<void> {
  return loadPart("numeric");
}
