/**
 * Fourier transforms along any dimensions, windows, short-time spectra, and complex numbers, which are pairs in a last dimension of 2.
 *
 * @packageDocumentation
 */

import { loadPart } from "../wasm.js";

export * from "../generated/fft.js";

/** Fetches this part of the module ahead of its first use, which otherwise waits for it. */
export function load(): Promise<void> {
  return loadPart("fft");
}
