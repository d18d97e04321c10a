import {
  init,
  kernel,
  manualSeed,
  nn,
  optim,
  rand,
  tensor,
  useDevice,
  currentDevice,
  zeros,
  type Device,
  type InitOptions,
} from "flambeau";
import { assert, equal, gpuTest, near, throws, type Context } from "../harness.js";

/** A device of its own, and what it is asked. */
interface Counted {
  raw: GPUDevice;
  device: Device;
  /** Kernels asked for beside everything else, how many of them were under way at once, and those that were waited for. */
  asked: { beside: number; atOnce: number; waitedFor: number };
  /** While it is true, kernels that are asked for are never there. */
  hold: boolean;
}

/** Opens a device that counts how kernels are asked for; that of new tensors stays. */
async function counting({ adapter }: Context, options: InitOptions = {}): Promise<Counted> {
  const raw = await (await adapter()).requestDevice();
  const counted = { raw, asked: { beside: 0, atOnce: 0, waitedFor: 0 }, hold: false };
  const { asked } = counted;
  const { createComputePipeline, createComputePipelineAsync } = raw;
  let underWay = 0;
  raw.createComputePipelineAsync = (descriptor) => {
    asked.beside += 1;
    if (counted.hold) return new Promise(() => undefined);
    underWay += 1;
    asked.atOnce = Math.max(asked.atOnce, underWay);
    const made = createComputePipelineAsync.call(raw, descriptor);
    const end = () => {
      underWay -= 1;
    };
    made.then(end, end);
    return made;
  };
  raw.createComputePipeline = (descriptor) => {
    asked.waitedFor += 1;
    return createComputePipeline.call(raw, descriptor);
  };
  const before = currentDevice();
  const device = await init({ device: raw, ...options });
  useDevice(before);
  return Object.assign(counted, { device });
}

/** A network and the shape of its input. */
interface Network {
  layers: () => nn.Layer[];
  input: number[];
}

const SMALL: Network = {
  layers: () => [nn.conv2d(1, 2, 3, { padding: 1 }), nn.relu(), nn.maxPool2d(2), nn.flatten(), nn.linear(32, 8)],
  input: [8, 1, 8, 8],
};

/** Makes a network on a device, and gives a function that takes a step of its training and has its loss read. */
function training(device: Device, { layers, input }: Network = SMALL): () => Promise<number> {
  const on = <T>(body: () => T): T => {
    const before = currentDevice();
    useDevice(device);
    try {
      return body();
    } finally {
      useDevice(before);
    }
  };
  const [net, x, y] = on(() => [nn.sequential(...layers()), rand(input).keep(), zeros([input[0] ?? 0], "i32").keep()] as const);
  const optimizer = on(() => optim.adam(net.parameters(), { lr: 0.01 }));
  return () =>
    on(() => {
      const loss = net.forward(x).crossEntropy(y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss.item();
    });
}

gpuTest("the kernels of a first step are compiled at once and beside, and a page is told of each", async (context) => {
  const told: [number, number][] = [];
  const { device, asked } = await counting(context, { onCompile: (done, all) => void told.push([done, all]) });
  const step = training(device);
  const first = step();
  assert(asked.beside > 4, `${asked.beside} kernels were asked for when the step had been described`);
  // The next steps are described and wait behind the first.
  const losses = await Promise.all([first, step(), step()]);
  context.note(`${asked.beside} kernels, ${asked.atOnce} at once`);
  assert((losses[2] ?? 9) < (losses[1] ?? 0) && (losses[1] ?? 9) < (losses[0] ?? 0), `the loss falls: ${losses.join(", ")}`);
  equal([asked.waitedFor, asked.atOnce > 4], [0, true]);
  equal([told.length, told.at(-1)], [asked.beside, [asked.beside, asked.beside]]);
  equal([device.error, device.stats.pipelines], [undefined, asked.beside]);
  device.destroy();
});

gpuTest("no step waits for a kernel that is made for a hot plan's sizes", async (context) => {
  const counted = await counting(context);
  const step = training(counted.device);
  const losses: number[] = [];
  for (let count = 0; count < 6; count += 1) losses.push(await step());
  const { beside } = counted.asked;
  counted.hold = true;
  for (let count = 0; count < 12; count += 1) losses.push(await step());
  assert(counted.asked.beside > beside, "kernels were asked for when the plan was hot");
  assert(
    losses.every((loss, place) => place === 0 || loss < (losses[place - 1] ?? 0)),
    `the loss falls: ${losses.join(", ")}`,
  );
  equal(counted.asked.waitedFor, 0);
  counted.device.destroy();
});

gpuTest("what is no software adapter begins with compact kernels, and has the CPU's losses", async (context) => {
  const adapter = await context.adapter();
  Object.defineProperty(adapter, "info", { value: { vendor: "", architecture: "", description: "" } });
  const gpu = { requestAdapter: () => Promise.resolve(adapter) } as GPU;
  const before = currentDevice();
  const [device, cpu] = [await init({ device: "gpu", gpu }), await init({ device: "cpu" })];
  useDevice(before);
  // Large enough that products and convolutions are not made by a thread for each result.
  const network: Network = {
    layers: () => [
      nn.conv2d(3, 8, 3, { padding: 1 }),
      nn.relu(),
      nn.maxPool2d(2),
      nn.flatten(),
      nn.linear(128, 40),
      nn.linear(40, 30),
    ],
    input: [9, 3, 8, 8],
  };
  const losses = async (on: Device) => {
    manualSeed(7);
    const step = training(on, network);
    const losses: number[] = [];
    for (let count = 0; count < 4; count += 1) losses.push(await step());
    return losses;
  };
  const found = await losses(device);
  near(found, await losses(cpu), 1e-4);
  assert((found[3] ?? 9) < (found[0] ?? 0), `the loss falls: ${found.join(", ")}`);
  device.destroy();
});

/** What WebGPU itself says when a kernel is created at once. */
async function saidAtOnce({ adapter }: Context, label: string, code: string, entryPoint: string): Promise<string> {
  const raw = await (await adapter()).requestDevice({ label: "flambeau" });
  const storage = (binding: number, type: GPUBufferBindingType) => ({ binding, visibility: 4, buffer: { type } });
  const entries = [storage(0, "read-only-storage"), storage(1, "storage")];
  raw.pushErrorScope("validation");
  const layout = raw.createPipelineLayout({ label, bindGroupLayouts: [raw.createBindGroupLayout({ label, entries })] });
  raw.createComputePipeline({ label, layout, compute: { module: raw.createShaderModule({ label, code }), entryPoint } });
  const error = await raw.popErrorScope();
  raw.destroy();
  return error?.message ?? "nothing";
}

gpuTest("a kernel that does not compile is the error that WebGPU has for it, and ends its device", async (context) => {
  const body = "@compute @workgroup_size(1) fn main() { y[0] = x[0]; }";
  const bound =
    "@group(0) @binding(0) var<storage, read> x: array<f32>; @group(0) @binding(1) var<storage, read_write> y: array<f32>;";
  const wrong: [string, string, string][] = [
    ["not WGSL", `${bound} ${body} fn other() -> f32 { return unknown_name; }`, "main"],
    ["no such function", `${bound} ${body}`, "nowhere"],
  ];
  for (const [name, source, entry] of wrong) {
    const said = await saidAtOnce(context, name, source, entry);
    context.note(said.trim().split("\n")[0] ?? "");
    const device = await context.open({});
    const before = currentDevice();
    useDevice(device);
    const [made] = kernel(name, { source, entry, outputs: [{ shape: [1] }], workgroups: [1] })(tensor([1]));
    const read = made?.data();
    useDevice(before);
    await throws(() => read, said);
    await throws(() => device.throttle(), said);
    assert(device.error?.includes(said) === true, `the device has ended with ${device.error}`);
  }
});

gpuTest("a device that is lost while kernels are compiled ends all waits with an error", async (context) => {
  const counted = await counting(context);
  counted.hold = true;
  const step = training(counted.device);
  const waits = [step(), step(), step(), counted.device.throttle(), counted.device.throttle()];
  const ends = waits.map((wait) => throws(() => wait, "lost"));
  await Promise.race([...waits.map((wait) => wait.catch(() => undefined)), new Promise((done) => setTimeout(done, 50))]);
  equal(counted.device.error, undefined);
  counted.raw.destroy();
  await Promise.all(ends);
  await throws(step, "lost");
});
