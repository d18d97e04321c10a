/** The ported tests in Node, with Dawn. */

import { readFile } from "node:fs/promises";
import { create, globals } from "webgpu";
import { portion, runPorted } from "./ported.js";

// The bare module looks for WebGPU where browsers have it, and for what is global in a worker.
Object.assign(globalThis, globals, { WorkerGlobalScope: Object });
Object.defineProperty(navigator, "gpu", { value: create([]) });
const root = new URL("../../../../", import.meta.url);
const tell = (line: string) => console.log(line);
const wasm = await readFile(new URL("packages/flambeau/tests/wasm-ported/flambeau_bg.wasm", root));
const rows = await readFile(new URL("crates/flambeau/tests/data/pytorch_rows.txt", root), "utf8");
const [only = null, first = null, count = null] = process.argv.slice(2);
const failed = await runPorted({ wasm, rows, ...portion(only, first, count), tell });
for (const what of failed) tell(`FAILED ${what}`);
process.exit(failed.length === 0 ? 0 : 1);
