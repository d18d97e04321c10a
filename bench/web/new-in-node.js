// What is new to a process, in Node with Dawn: the time until the first loss of a network and where it goes, and what a batch of
// another size costs. `node new-in-node.js [mlp|cnn|eight] [b4] [10s] [--json] [--software] [contender...]`: batches of so many samples
// instead of the usual ones; the contenders that are named run one after the other, and go on for so many seconds in the end (through
// `node run.mjs new ...`, which bundles them; Flambeau alone needs no bundling). Run it with an empty HOME, so that the driver has
// kept nothing.

import { create, globals } from "webgpu";
import { CONTENDERS, measure, nothingAsked, told } from "./measure-new.js";
import { NETS } from "./new.js";

Object.assign(globalThis, globals);
const args = process.argv.slice(2);
const name = args.find((arg) => arg in NETS) ?? "mlp";
const asked = args.filter((arg) => arg in CONTENDERS);
const seconds = Number(args.find((arg) => /^\d+s$/.test(arg))?.slice(0, -1) ?? 0);
const batch = args.find((arg) => /^b\d+$/.test(arg))?.slice(1);
const device = args.includes("--software") ? "software" : "gpu";
/** Fewer samples are asked for where a step takes long: then there are few steps, too. */
const few = batch === undefined ? {} : { batch: Number(batch), steps: 3 };
const real = create([]);

/** Milliseconds spent in what the device is asked, and how many kernels were compiled at once at most. */
let asks;
const timed = (key, ask) => {
  const from = performance.now();
  const given = ask();
  asks[key] += performance.now() - from;
  return given;
};

/** Counts what a device is asked, and leaves all else as it is. */
function counted(device) {
  const { createShaderModule, createComputePipeline, createComputePipelineAsync } = device;
  device.createShaderModule = (descriptor) => timed("modules", () => createShaderModule.call(device, descriptor));
  device.createComputePipeline = (descriptor) => {
    asks.waitedFor += 1;
    const from = performance.now();
    const made = timed("pipelines", () => createComputePipeline.call(device, descriptor));
    asks.lastKernel = performance.now();
    asks.list.push({ kernel: descriptor.label, asked: from - asks.start, took: asks.lastKernel - from, waitedFor: true });
    return made;
  };
  let underWay = 0;
  device.createComputePipelineAsync = (descriptor) => {
    asks.beside += 1;
    underWay += 1;
    asks.atOnce = Math.max(asks.atOnce, underWay);
    const from = performance.now();
    const made = timed("pipelines", () => createComputePipelineAsync.call(device, descriptor));
    const end = () => {
      underWay -= 1;
      asks.lastKernel = performance.now();
      asks.list.push({ kernel: descriptor.label, asked: from - asks.start, took: asks.lastKernel - from });
    };
    made.then(end, end);
    return made;
  };
  return device;
}

const gpu = {
  requestAdapter: async (options) => {
    const adapter = await timed("adapter", () => real.requestAdapter(options));
    const { requestDevice } = adapter;
    adapter.requestDevice = async (wanted) => counted(await timed("device", () => requestDevice.call(adapter, wanted)));
    return adapter;
  },
  getPreferredCanvasFormat: () => "bgra8unorm",
  wgslLanguageFeatures: new Set(),
};
// Where the others look for it.
Object.defineProperty(globalThis, "navigator", {
  value: { gpu, userAgent: "node", platform: "linux", vendor: "" },
  configurable: true,
  writable: true,
});

for (const contender of asked.length > 0 ? asked : ["flambeau"]) {
  asks = nothingAsked();
  try {
    const found = await measure(contender, name, { gpu, device, seconds, asks, ...few });
    console.log(args.includes("--json") ? JSON.stringify(found) : told(found));
  } catch (error) {
    const failed = { contender, net: name, error: String(error) };
    console.log(args.includes("--json") ? JSON.stringify(failed) : `${contender}: ${error?.stack ?? error}`);
  }
}
process.exit(0);
