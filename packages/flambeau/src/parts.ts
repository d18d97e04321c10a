/** Where the WebAssembly module lies, in the form for pages: small, and in parts. */

export { compilerOf, wake } from "./compiler.js";
export * as bindings from "./wasm/flambeau.js";

/** The first part, as an address or as bytes. */
export const first = (): URL | Uint8Array<ArrayBuffer> => new URL("./wasm/flambeau_bg.wasm", import.meta.url);
/** Does something when the process ends: a page has none. */
export const atExit: (end: () => void) => void = () => undefined;
/** The others, in the order of their numbers. Bundlers find them by these very expressions. */
export const others: readonly URL[] = [
  new URL("./wasm/flambeau_later.wasm", import.meta.url),
  new URL("./wasm/flambeau_fft.wasm", import.meta.url),
  new URL("./wasm/flambeau_linalg.wasm", import.meta.url),
  new URL("./wasm/flambeau_func.wasm", import.meta.url),
  new URL("./wasm/flambeau_numeric.wasm", import.meta.url),
  new URL("./wasm/flambeau_peers.wasm", import.meta.url),
  new URL("./wasm/flambeau_federated.wasm", import.meta.url),
];
