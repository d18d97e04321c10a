/** Where the WebAssembly module lies, in the form for pages: small, and in two parts. */

export * as bindings from "./wasm/flambeau.js";

export const first = new URL("./wasm/flambeau_bg.wasm", import.meta.url);
export const second: URL | undefined = new URL("./wasm/flambeau_later.wasm", import.meta.url);
