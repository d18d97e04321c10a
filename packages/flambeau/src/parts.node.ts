/** Where the WebAssembly module lies, in the form for Node: compiled for speed, and whole. `parts.ts` is that for pages. */

import { readFileSync } from "node:fs";
import process from "node:process";

export { compilerOf, wake } from "./compiler.node.js";
export * as bindings from "./wasm-node/flambeau.js";

/** Read at once, so that it is being compiled before Dawn opens a GPU: it lets nothing else happen meanwhile. */
export const first = (): URL | Uint8Array<ArrayBuffer> => readFileSync(new URL("./flambeau_bg.wasm", import.meta.url));
/** Does something when the process ends. */
export const atExit = (end: () => void): void => process.once("exit", end);
export const others: readonly URL[] = [];
