import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { create, globals } from "webgpu";
import * as flambeau from "flambeau";
import { TrainingWorker } from "flambeau/worker";
import { train } from "./train.js";

Object.assign(globalThis, globals);
if (!existsSync(fileURLToPath(import.meta.resolve("flambeau/flambeau.wasm")))) throw new Error("no flambeau.wasm");
if (typeof TrainingWorker !== "function") throw new Error("no flambeau/worker");
console.log(`Node: ${await train(flambeau, { gpu: create([]) })}`);
process.exit(0);
