// What is new to a process, in Node with Dawn: the time until the first loss of a network and where it goes, and what a batch of
// another size costs. `node new-in-node.js [mlp|cnn|eight] [10s] [--json] [--software] [contender...]`; the contenders that are named run
// one after the other, and go on for so many seconds in the end (through `node run.mjs new ...`, which bundles them; Flambeau alone needs no bundling). Run it with an empty
// HOME, so that the driver has kept nothing.

import { create, globals } from "webgpu";
import { flambeau, jaxjs, NETS, tensorflow } from "./new.js";

Object.assign(globalThis, globals);
const CONTENDERS = { flambeau, tensorflow, jaxjs };
const args = process.argv.slice(2);
const name = args.find((arg) => arg in NETS) ?? "mlp";
const asked = args.filter((arg) => arg in CONTENDERS);
const settleFor = 1000 * Number(args.find((arg) => /^\d+s$/.test(arg))?.slice(0, -1) ?? 0);
const { batch } = NETS[name];
const real = create([]);
const worst = (times) => Math.max(...times);
const middle = (times) => [...times].sort((a, b) => a - b)[times.length >> 1];

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
    return timed("pipelines", () => createComputePipeline.call(device, descriptor));
  };
  let underWay = 0;
  device.createComputePipelineAsync = (descriptor) => {
    asks.beside += 1;
    underWay += 1;
    asks.atOnce = Math.max(asks.atOnce, underWay);
    const from = performance.now();
    const made = timed("pipelines", () => createComputePipelineAsync.call(device, descriptor));
    const { list } = asks;
    const end = () => {
      underWay -= 1;
      asks.lastKernel = performance.now();
      list.push({ kernel: descriptor.label, asked: from - asks.start, took: asks.lastKernel - from });
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

async function measure(contender) {
  asks = { adapter: 0, device: 0, modules: 0, pipelines: 0, waitedFor: 0, beside: 0, atOnce: 0, lastKernel: 0, list: [], start: performance.now() };
  const at = {};
  const moments = Object.fromEntries(
    ["start", "loaded", "opened", "step"].map((moment) => [moment, () => (at[moment] = performance.now())]),
  );
  const device = args.includes("--software") ? "software" : "gpu";
  const step = await CONTENDERS[contender](name, { gpu, device, moments });
  const take = async (samples) => {
    let described;
    const loss = await step(samples, () => (described = performance.now()));
    if (!Number.isFinite(loss)) throw new Error(`${contender}, ${name}: the loss is not a number`);
    const end = performance.now();
    return { host: described - at.step, all: end - at.step, described, end };
  };
  const { host, all, described, end } = await take(batch);
  const { adapter, device: opening, modules, pipelines, waitedFor, beside, atOnce, lastKernel } = asks;
  const first = {
    total: end - at.start,
    ...(at.loaded !== undefined && { moduleLoaded: at.loaded - at.start }),
    deviceOpen: at.opened - at.start,
    adapter,
    device: opening,
    data: at.step - at.opened,
    host,
    modules,
    pipelines,
    waitedForKernels: Math.max(0, lastKernel - described),
    waited: all - host,
    kernels: { waitedFor, beside, atOnce, list: asks.list.splice(0) },
  };
  const others = [];
  for (const samples of [batch - 3, batch >> 1, batch + 9, batch - 7]) {
    const before = asks.beside + asks.waitedFor;
    const { all, host } = await take(samples);
    others.push({ samples, all, host, kernels: asks.beside + asks.waitedFor - before, list: asks.list.splice(0) });
  }
  const again = [];
  for (let count = 0; count < 40; count += 1) again.push((await take(batch)).all);
  const soon = middle(again.slice(30));
  // Kernels made for these sizes take over one by one.
  const until = performance.now() + settleFor;
  while (performance.now() < until) again.push((await take(batch)).all);
  return { contender, net: name, batch, first, others, soon, settled: middle(again.slice(-10)), worst: worst(again) };
}

const show = (milliseconds) => milliseconds.toFixed(1);
const other = ({ samples, all, host, kernels }) => `${samples}: ${show(all)} ms (host ${show(host)}, ${kernels} new kernels)`;
for (const contender of asked.length > 0 ? asked : ["flambeau"]) {
  try {
    const found = await measure(contender);
    if (args.includes("--json")) {
      console.log(JSON.stringify(found));
      continue;
    }
    const { total, moduleLoaded, deviceOpen, adapter, device, data, host, modules, pipelines, waited, kernels } = found.first;
    console.log(
      `${contender}, ${name}, batch ${batch}: first loss after ${show(total)} ms; other batch sizes ${found.others.map(other).join(", ")}; ` +
        `then ${show(found.soon)} ms a step after 40, ${show(found.settled)} in the end, ${show(found.worst)} at worst\n` +
        `  ${moduleLoaded === undefined ? "" : `module loaded after ${show(moduleLoaded)} ms, `}device open after ${show(deviceOpen)} ` +
        `(adapter ${show(adapter)}, device ${show(device)}), data and parameters ${show(data)}; the first step on the host ` +
        `${show(host)} (shader modules ${show(modules)}, asking for kernels ${show(pipelines)}), then waited ${show(waited)}; ` +
        `kernels: ${kernels.beside} beside (${kernels.atOnce} at once), ${kernels.waitedFor} waited for`,
    );
  } catch (error) {
    console.log(
      args.includes("--json")
        ? JSON.stringify({ contender, net: name, error: String(error) })
        : `${contender}: ${error?.stack ?? error}`,
    );
  }
}
process.exit(0);
