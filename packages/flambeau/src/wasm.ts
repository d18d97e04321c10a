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

/** Firefox looks for what the GPU has done every 100 ms only, unless something is submitted to it. */
const looksSeldom = /\bFirefox\//.test((globalThis.navigator as { userAgent?: string } | undefined)?.userAgent ?? "");
const LONGEST_PAUSE = 8;
let waiting = 0;
let nudging: ReturnType<typeof setTimeout> | undefined;

function nudge(pause: number): void {
  nudging = setTimeout(() => {
    nudging = undefined;
    if (waiting === 0) return;
    bindings.devices_nudge();
    nudge(Math.min(2 * pause + 1, LONGEST_PAUSE));
  }, pause);
}

/** Waits for something that comes from a device, and makes the browser look for it. */
export async function arrived<T>(work: Promise<T>): Promise<T> {
  if (!looksSeldom) return work;
  waiting += 1;
  if (nudging !== undefined) clearTimeout(nudging);
  nudge(0);
  try {
    return await work;
  } finally {
    waiting -= 1;
  }
}
