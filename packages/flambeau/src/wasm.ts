/** The WebAssembly module: loaded once, by `init`. */

import * as bindings from "./wasm/flambeau.js";

export type Bindings = typeof bindings;

/** What the module can be loaded from, for pages that keep it elsewhere than beside the package. */
export type WasmSource = string | URL | Response | BufferSource | WebAssembly.Module;

let loading: Promise<void> | undefined;
let ready = false;

/** The module's calls; an error before `init`. */
export function wasm(): Bindings {
  if (!ready) {
    throw new Error("flambeau: await init() first");
  }
  return bindings;
}

/** Loads the module unless it is there. */
export function load(source?: WasmSource): Promise<void> {
  loading ??= start(source).catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function start(source?: WasmSource): Promise<void> {
  const place = source ?? new URL("./wasm/flambeau_bg.wasm", import.meta.url);
  await bindings.default({ module_or_path: await readable(place) });
  ready = true;
}

/** Node's `fetch` does not read files. */
async function readable(place: WasmSource): Promise<WasmSource> {
  if (place instanceof URL && place.protocol === "file:") {
    // By a variable, so that bundlers for browsers do not look for it.
    const files = "node:fs/promises";
    const { readFile } = (await import(/* @vite-ignore */ files)) as { readFile(from: URL): Promise<Uint8Array> };
    return new Uint8Array(await readFile(place));
  }
  return place;
}

/** The bytes of the module's own memory. */
export function wasmBytes(): number {
  return ready ? bindings.memory_bytes() : 0;
}
