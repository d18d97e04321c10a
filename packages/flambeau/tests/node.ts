/** The tests in Node, with Dawn. */

import { readFile } from "node:fs/promises";
import { create, globals } from "webgpu";
import { runAll } from "./cases/index.js";

Object.assign(globalThis, globals);
const root = new URL("../../../../", import.meta.url);
const failed = await runAll({
  device: "software",
  gpu: create([]),
  file: async (path) => new Uint8Array(await readFile(new URL(path, root))),
  tell: (line) => console.log(`  ${line}`),
  filter: process.argv[2] ?? "",
});
process.exit(failed.length === 0 ? 0 : 1);
