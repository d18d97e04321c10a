/** Where the WebAssembly module lies, in the form for Node: compiled for speed, and whole. `parts.ts` is that for pages. */

export * as bindings from "./wasm-node/flambeau.js";

export const first = new URL("./flambeau_bg.wasm", import.meta.url);
export const second: URL | undefined = undefined;
