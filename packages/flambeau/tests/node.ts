/** The tests in Node, with Dawn. */

import { readFile } from "node:fs/promises";
import { create, globals } from "webgpu";
import { runAll } from "./cases/index.js";
import { checkEarly } from "./early.js";
import { runSuite } from "./selftest.js";

Object.assign(globalThis, globals);
const root = new URL("../../../../", import.meta.url);
const gpu = create([]);
const device = "software";
const file = async (path: string) => new Uint8Array(await readFile(new URL(path, root)));
const tell = (line: string) => console.log(line);
const only = process.argv[2] ?? "";
const failed = await runAll({ device, gpu, thorough: false, file, tell, filter: only });
if (only === "" || only === "early") failed.push(...(await checkEarly(gpu, root)));
if (only === "" || only === "suite") {
  // The suite is the bare module, which looks for WebGPU where browsers have it.
  Object.defineProperty(navigator, "gpu", { value: gpu });
  const wasm = await file("packages/flambeau/tests/wasm/flambeau_bg.wasm");
  failed.push(...(await runSuite({ device, everyCase: false, file, tell, wasm })));
}
for (const what of failed) tell(`FAILED ${what}`);
process.exit(failed.length === 0 ? 0 : 1);
