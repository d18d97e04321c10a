import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { create, globals } from "webgpu";
import * as flambeau from "flambeau";
import { vmap } from "flambeau/func";
import { det } from "flambeau/linalg";
import { TrainingWorker } from "flambeau/worker";
import { train } from "./train.js";

Object.assign(globalThis, globals);
if (!existsSync(fileURLToPath(import.meta.resolve("flambeau/flambeau.wasm")))) throw new Error("no flambeau.wasm");
if (typeof TrainingWorker !== "function") throw new Error("no flambeau/worker");
console.log(`Node: ${await train(flambeau, { gpu: create([]) })}`);
const areas = await vmap(det)(
  flambeau.tensor([
    [
      [2, 0],
      [0, 3],
    ],
    [
      [1, 2],
      [3, 4],
    ],
  ]),
).array();
if (Math.abs(areas[0] - 6) + Math.abs(areas[1] + 2) > 1e-5) throw new Error(`determinants ${areas}`);
process.exit(0);
