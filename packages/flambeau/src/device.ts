/// <reference types="@webgpu/types" preserve="true" />

import { arrived, load, loadWhole, wasm, wasmBytes, type WasmSource } from "./wasm.js";

/** What `init` can be told. */
export interface InitOptions {
  /**
   * `"gpu"`: WebGPU or an error. `"cpu"`: WebAssembly on the CPU. `"software"`: WebGPU, a software adapter too. `"best"`
   * (the default): a real GPU where there is one, else the CPU. Or a `GPUDevice` that already exists.
   */
  device?: "best" | "gpu" | "cpu" | "software" | GPUDevice;
  /** Where WebGPU is found, if not at `navigator.gpu`: in Node, what `create([])` of npm's `webgpu` gives. */
  gpu?: GPU;
  /** Which GPU comes first where there are several. */
  powerPreference?: "high-performance" | "low-power";
  /**
   * The most bytes of GPU memory to take. Above it an allocation is an exception, and training can go on with smaller
   * batches; without it, an allocation that the GPU refuses ends the device, because browsers tell too late.
   */
  memoryLimit?: number;
  /** Told what is being done, for a page that shows it. */
  onProgress?: (message: string) => void;
  /**
   * Told how many of the kernels asked for so far have been compiled, whenever one has: what the first step of a network
   * waits for. Not for a `GPUDevice` that was handed in.
   */
  onCompile?: (done: number, all: number) => void;
  /** Where the WebAssembly is, if not beside the package's JavaScript. */
  wasm?: WasmSource;
}

/** What is known of a device. */
export interface DeviceInfo {
  type: "cpu" | "gpu";
  name: string;
  driver: string;
  description: string;
  /** Is it a CPU that plays a GPU? */
  software: boolean;
  features: string[];
  limits: Record<string, number> | null;
  /** Why it was chosen. */
  reason: string;
}

/** The ledger of a device's memory, in bytes. */
export interface Memory {
  inUse: number;
  peak: number;
  pooled: number;
  /** Tensors that JavaScript holds. */
  tensors: number;
  /** The module's own memory. */
  wasm: number;
}

/** What a device has done so far. */
export interface Stats {
  runs: number;
  planHits: number;
  planMisses: number;
  kernels: number;
  submissions: number;
  dispatches: number;
  pipelines: number;
  bindGroups: number;
  buffers: number;
  bytesUploaded: number;
  readbacks: number;
}

/** Where tensors live and plans run. */
export class Device {
  /** @internal */
  constructor(
    readonly number: number,
    readonly reason: string,
  ) {}

  /** What it is, and why it was chosen. */
  get info(): DeviceInfo {
    return { ...(JSON.parse(wasm().device_info(this.number)) as Omit<DeviceInfo, "reason">), reason: this.reason };
  }

  /** The ledger of its memory. */
  get memory(): Memory {
    return { ...(JSON.parse(wasm().device_memory(this.number)) as Omit<Memory, "wasm">), wasm: wasmBytes() };
  }

  /** What it has done so far. */
  get stats(): Stats {
    return JSON.parse(wasm().device_stats(this.number)) as Stats;
  }

  /** The error that ended it (a lost GPU), if one has. */
  get error(): string | undefined {
    return wasm().device_error(this.number);
  }

  /** Returns when at most two evaluations are under way: await it once per step, and the GPU is neither flooded nor idle. */
  throttle(): Promise<void> {
    return arrived(wasm().device_throttle(this.number));
  }

  /** Goes on after an index was out of range. */
  clearFault(): void {
    wasm().device_clear_fault(this.number);
  }

  /** Gives pooled memory back to the driver. */
  trim(): void {
    wasm().device_trim(this.number);
  }

  /** Ends it, as if it had been lost. */
  destroy(): void {
    wasm().device_destroy(this.number);
  }
}

let current: Device | undefined;

/** Objects that devices live by: Dawn in Node frees what its `GPU` has made when that is collected. */
const alive = new Set<object>();

/** The device of new tensors; an error before `init`. */
export function currentDevice(): Device {
  if (current === undefined) throw new Error("flambeau: await init() first");
  return current;
}

/** Makes a device the one of new tensors. */
export function useDevice(device: Device): void {
  wasm().device_use(device.number);
  current = device;
}

/** What the device of new tensors is, and why it was chosen. */
export function deviceInfo(): DeviceInfo {
  return currentDevice().info;
}

/** The ledger of its memory. */
export function memory(): Memory {
  return currentDevice().memory;
}

/** What it has done so far. */
export function stats(): Stats {
  return currentDevice().stats;
}

/**
 * Loads the module and chooses the device of new tensors. Call it again for another device; tensors stay where they are.
 *
 * ```ts
 * const device = await init();
 * console.log(device.info.name, device.info.reason);
 * ```
 */
export async function init(options: InitOptions = {}): Promise<Device> {
  const { device = "best", powerPreference = "high-performance", onProgress = () => undefined } = options;
  onProgress("loading the WebAssembly module");
  await load(options.wasm);
  onProgress("looking for a device");
  const find = () => choose(device, powerPreference === "low-power", options.memoryLimit);
  if (options.gpu !== undefined) alive.add(options.gpu);
  const gpu = options.gpu ?? (globalThis.navigator as { gpu?: GPU } | undefined)?.gpu;
  const watched = gpu !== undefined && options.onCompile !== undefined && typeof device === "string";
  const place = watched ? watching(gpu, options.onCompile as NonNullable<InitOptions["onCompile"]>) : options.gpu;
  const chosen = place === undefined ? await find() : await withGpu(place, find);
  useDevice(chosen);
  onProgress(`${chosen.info.name}: ${chosen.reason}`);
  return chosen;
}

async function choose(wanted: NonNullable<InitOptions["device"]>, lowPower: boolean, memoryLimit?: number): Promise<Device> {
  const open = async (cpu: boolean, software: boolean, reason: string) => {
    if (cpu) await loadWhole();
    const slow = !cpu && software && isSoftware(await adapterName(lowPower));
    return new Device(await wasm().device_open(cpu, lowPower, software, slow, slow ? SOFTWARE_GROUP : 0, memoryLimit), reason);
  };
  if (typeof wanted === "object") {
    return withGpu(offering(wanted), () => open(false, true, "the GPUDevice that was handed in"));
  }
  switch (wanted) {
    case "cpu":
      return open(true, false, "the CPU was asked for");
    case "gpu":
      await realGpu(lowPower);
      return open(false, false, "a GPU was asked for");
    case "software":
      return open(false, true, "WebGPU was asked for, a software adapter too");
    case "best":
      try {
        await realGpu(lowPower);
        return await open(false, false, "WebGPU offers a GPU");
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        return open(true, false, `no GPU is used: ${why}`);
      }
  }
}

/** Threads in a workgroup on software adapters, for which a barrier costs by the thread. */
const SOFTWARE_GROUP = 32;

/** What WebGPU says the adapter is called: browsers do not tell the module. */
async function adapterName(lowPower: boolean): Promise<string> {
  const gpu = (globalThis.navigator as { gpu?: GPU } | undefined)?.gpu;
  if (gpu === undefined) throw new Error("this browser has no WebGPU, or the page is not secure (https or localhost)");
  const adapter = await gpu.requestAdapter({ powerPreference: lowPower ? "low-power" : "high-performance" });
  if (adapter === null) throw new Error("WebGPU offers no adapter");
  const { vendor, architecture, description } = adapter.info;
  return `${vendor} ${architecture} ${description}`.trim();
}

function isSoftware(name: string): boolean {
  return /swiftshader|llvmpipe|basic render/i.test(name);
}

/** An error unless the browser offers a GPU that is one. */
async function realGpu(lowPower: boolean): Promise<void> {
  const name = await adapterName(lowPower);
  if (isSoftware(name)) {
    throw new Error(`WebGPU offers only a software adapter (${name}); ask for device "software" to use it`);
  }
}

/** The part of `navigator.gpu` that is used to open a device. */
function stand(adapter: GPU["requestAdapter"]): object {
  return { requestAdapter: adapter, getPreferredCanvasFormat: () => "bgra8unorm", wgslLanguageFeatures: new Set<string>() };
}

/** Hands out the device that exists. */
function offering(device: GPUDevice): object {
  const { features, limits, adapterInfo: info } = device;
  return stand(() => Promise.resolve({ features, limits, info, requestDevice: () => Promise.resolve(device) } as GPUAdapter));
}

/** Hands out what WebGPU offers, with devices that tell when a kernel has been compiled. */
function watching(gpu: GPU, tell: NonNullable<InitOptions["onCompile"]>): object {
  return stand(async (options) => {
    const adapter = await gpu.requestAdapter(options);
    if (adapter === null) return null;
    const { features, limits, info } = adapter;
    const requestDevice = async (wanted?: GPUDeviceDescriptor) => watch(await adapter.requestDevice(wanted), tell);
    return { features, limits, info, requestDevice } as GPUAdapter;
  });
}

function watch(device: GPUDevice, tell: NonNullable<InitOptions["onCompile"]>): GPUDevice {
  let [done, all] = [0, 0];
  const create = device.createComputePipeline.bind(device);
  device.createComputePipeline = (descriptor) => {
    all += 1;
    const pipeline = create(descriptor);
    // Browsers compile elsewhere, and take calls in order: the answer to this one comes when the kernel is there.
    device.queue.onSubmittedWorkDone().then(
      () => {
        done += 1;
        tell(done, all);
      },
      () => undefined,
    );
    return pipeline;
  };
  return device;
}

/** Opens a device while `navigator.gpu` is another: the module can only ask there. */
async function withGpu<T>(gpu: object, body: () => Promise<T>): Promise<T> {
  const world = globalThis as { navigator?: object; Window?: unknown; WorkerGlobalScope?: unknown };
  // Outside of browsers there is neither; the module looks for one of them before it looks for the navigator.
  if (world.Window === undefined && world.WorkerGlobalScope === undefined) world.WorkerGlobalScope = Object;
  world.navigator ??= {};
  const own = Object.getOwnPropertyDescriptor(world.navigator, "gpu");
  Object.defineProperty(world.navigator, "gpu", { value: gpu, configurable: true });
  try {
    return await body();
  } finally {
    if (own === undefined) Reflect.deleteProperty(world.navigator, "gpu");
    else Object.defineProperty(world.navigator, "gpu", own);
  }
}
