/**
 * The WebAssembly module: loaded once, by `init`.
 *
 * For pages it comes in parts that share one memory. The first is enough to train the usual small models on a GPU. The second
 * (the CPU backend, files, rarer layers, losses and ops) is fetched in the background after the first training step. Others
 * (Fourier transforms, linear algebra, …) are fetched, after the second, when they are first used. What needs a part sooner gets it at
 * once. Node has the module whole, and compiled for speed.
 */

import { bindings, first as firstPlace, others } from "./parts.js";

export type Bindings = typeof bindings;

/** What the module can be loaded from, for pages that keep it elsewhere than beside the package. */
export type WasmSource = string | URL | Response | BufferSource | WebAssembly.Module;

let loading: Promise<void> | undefined;
let first: WebAssembly.Exports | undefined;

/** The parts after the first, in the order of their numbers. */
const NAMES = ["later", "fft", "linalg", "func", "numeric", "peers", "federated"] as const;
/** A part that is fetched when it is used, by name. */
export type PartName = (typeof NAMES)[number];

interface Part {
  place: URL;
  coming?: Promise<void>;
  exports?: WebAssembly.Exports;
}
/** By number; none where the module is whole. */
const parts: (Part | undefined)[] = [undefined, ...others.map((place) => ({ place }))];

/** The module's calls; an error before `init`. */
export function wasm(): Bindings {
  if (first === undefined) {
    throw new Error("flambeau: await init() first");
  }
  return bindings;
}

/** Loads the module's first part unless it is there. */
export function load(source?: WasmSource): Promise<void> {
  loading ??= start(source).catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

/** Loads a part, after the second, unless it is there. */
export function loadPart(name: PartName): Promise<void> {
  return loaded(NAMES.indexOf(name) + 1);
}

function loaded(number: number): Promise<void> {
  const part = parts[number];
  if (part === undefined) return Promise.resolve();
  part.coming ??= come(part, number).catch((error: unknown) => {
    delete part.coming;
    throw error;
  });
  return part.coming;
}

async function come(part: Part, number: number): Promise<void> {
  if (part.exports !== undefined) return;
  const above = number > 1 ? loaded(1) : undefined;
  const module = await compiled(part.place);
  await above;
  enter(part, module);
}

/** Makes a part one with those above it: it puts its functions into the first part's table, and its data into memory. Only once, or
 * what has been written there since would be lost. */
function enter(part: Part, module: WebAssembly.Module): void {
  if (part.exports !== undefined) return;
  if (first === undefined) throw new Error("flambeau: await init() first");
  const above = parts[1]?.exports;
  part.exports = new WebAssembly.Instance(module, above === undefined ? { p0: first } : { p0: first, p1: above }).exports;
}

let isAsked = false;

/** Has the second part fetched in the background: called after each training step. */
export function loadSoon(): void {
  if (isAsked) return;
  isAsked = true;
  // Should that fail, whatever needs it will try again and say so.
  setTimeout(() => loadPart("later").catch(() => undefined), 0);
}

async function start(source?: WasmSource): Promise<void> {
  const place = source ?? firstPlace();
  for (const [number, part] of parts.entries()) {
    if (part !== undefined && source !== undefined) part.place = besides(source, number) ?? part.place;
  }
  const module = await compiled(place);
  const instance = await WebAssembly.instantiate(module, { ...bindings.imports(), parts: { load: loadNow } });
  bindings.finish(instance, module);
  bindings.on_panic(endWaits);
  first = instance.exports;
  // Outside of browsers nothing is fetched, and there is no way to read a file at once that all runtimes share.
  await Promise.all(parts.map((part, number) => (part !== undefined && isFile(part.place) ? loaded(number) : undefined)));
}

/** Where another part lies: beside the first, unless that has no address or another name. */
function besides(place: WasmSource, number: number): URL | undefined {
  const address =
    typeof place === "string" || place instanceof URL
      ? place
      : typeof Response === "function" && place instanceof Response
        ? place.url
        : "";
  const base = (globalThis as { location?: { href: string } }).location?.href ?? import.meta.url;
  // A bundler that has renamed the first part has renamed the others too, and knows them by the addresses in `parts.ts`.
  if (!/\bflambeau_bg\.wasm$/.test(String(address))) return undefined;
  return new URL(`flambeau_${NAMES[number - 1]}.wasm`, new URL(address, base));
}

async function compiled(place: WasmSource): Promise<WebAssembly.Module> {
  if (place instanceof WebAssembly.Module) return place;
  if (place instanceof ArrayBuffer || ArrayBuffer.isView(place)) return WebAssembly.compile(place);
  if (isFile(place)) return WebAssembly.compile(await file(place));
  const response = place instanceof Response ? place : await fetched(place);
  if (response.headers.get("content-type")?.startsWith("application/wasm") === true) {
    return WebAssembly.compileStreaming(response);
  }
  return WebAssembly.compile(await response.arrayBuffer());
}

async function fetched(place: string | URL): Promise<Response> {
  const response = await fetch(place);
  if (!response.ok) throw new Error(`flambeau: ${String(place)}: HTTP ${response.status}`);
  return response;
}

function isFile(place: WasmSource): place is URL {
  return place instanceof URL && place.protocol === "file:";
}

/** Node's `fetch` does not read files. */
async function file(place: URL): Promise<Uint8Array<ArrayBuffer>> {
  // By a variable, so that bundlers for browsers do not look for it.
  const files = "node:fs/promises";
  const { readFile } = (await import(/* @vite-ignore */ files)) as { readFile(from: URL): Promise<Uint8Array> };
  return new Uint8Array(await readFile(place));
}

/** Called by the module when it needs a part and cannot wait. */
function loadNow(number: number): void {
  const part = parts[number];
  if (part === undefined || part.exports !== undefined) return;
  if (number > 1) loadNow(1);
  const request = new XMLHttpRequest();
  request.open("GET", part.place, false);
  // Pages cannot ask for bytes at once, but for text whose characters are bytes.
  request.overrideMimeType("text/plain; charset=x-user-defined");
  request.send();
  if (request.status !== 200) throw new Error(`flambeau: ${String(part.place)}: HTTP ${request.status}`);
  const bytes = Uint8Array.from(request.responseText, (character) => character.charCodeAt(0) & 0xff);
  enter(part, new WebAssembly.Module(bytes));
}

/** The bytes of the module's own memory. */
export function wasmBytes(): number {
  return first === undefined ? 0 : bindings.memory_bytes();
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

/** How to end what is being waited for. A module that has panicked never answers. */
const waits = new Set<(error: Error) => void>();

function endWaits(message: string): void {
  const error = new Error(`flambeau has stopped: ${message}. Load the page again, or start a new worker.`);
  // As a trap has: by it a page knows that a worker must be replaced.
  error.name = "RuntimeError";
  for (const end of waits) end(error);
  waits.clear();
}

/** Waits for something that comes from a device, and makes the browser look for it. */
export async function arrived<T>(work: Promise<T>): Promise<T> {
  if (looksSeldom) {
    if (nudging !== undefined) clearTimeout(nudging);
    nudge(0);
  }
  waiting += 1;
  try {
    return await unlessBroken(work);
  } finally {
    waiting -= 1;
  }
}

/** Waits for something, however long, unless the module breaks. */
export async function unlessBroken<T>(work: Promise<T>): Promise<T> {
  let end: ((error: Error) => void) | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      end = reject;
      waits.add(reject);
      work.then(resolve, reject);
    });
  } finally {
    if (end !== undefined) waits.delete(end);
  }
}
