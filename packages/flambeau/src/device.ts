/// <reference types="@webgpu/types" preserve="true" />

import { compiling } from "./compiling.js";
import { atExit, wake } from "./parts.js";
import { isHigh, type Precision } from "./precision.js";
import { arrived, load, loadPart, wasm, wasmBytes, type WasmSource } from "./wasm.js";

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
  /** How precise products of `f32` must be on the GPU; if it is not said, as `setFloat32MatmulPrecision` says. */
  matmulPrecision?: Precision;
  /** Told what is being done, for a page that shows it. */
  onProgress?: (message: string) => void;
  /**
   * Told how many of the kernels asked for so far have been compiled, whenever one has: what the first step of a network
   * waits for.
   */
  onCompile?: (done: number, all: number) => void;
  /** Where the WebAssembly is, if not beside the package's JavaScript. */
  wasm?: WasmSource;
}

/** What is known of a device. */
export interface DeviceInfo {
  type: "cpu" | "gpu";
  name: string;
  /** Who made the GPU, in the browser's words; empty where it does not tell, and for the CPU. */
  vendor: string;
  /** What runs the kernels: `webgpu`, or `cpu`. */
  backend: string;
  driver: string;
  description: string;
  /** Is it a CPU that plays a GPU? */
  software: boolean;
  features: string[];
  /** How precise products of `f32` are to be in what is recorded now. */
  matmulPrecision: Precision;
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

/** One kernel's run on a GPU. */
export interface TracedKernel {
  /** The ops it runs, joined by `+`. */
  name: string;
  /** The run of a plan that it was part of, counted from the beginning of the trace. */
  submission: number;
  /** Nanoseconds from the first kernel's beginning to this one's. */
  start: number;
  /** Nanoseconds that it took. */
  duration: number;
  /** Workgroups in each direction. */
  workgroups: [number, number, number];
  /** What it was made to do: elements, multiplications and additions, bytes read and written. */
  elements: number;
  flops: number;
  bytes: number;
}

/** When kernels ran on a GPU. */
export interface Trace {
  /** In the order they were submitted. */
  kernels: TracedKernel[];
  /** The share of the time from the first kernel's beginning to the last one's end in which kernels ran; NaN without kernels. */
  busy: number;
}

/** Where tensors live and plans run. */
export class Device {
  /** @internal */
  constructor(
    readonly number: number,
    readonly reason: string,
    private readonly vendor = "",
  ) {}

  /** What it is, and why it was chosen. */
  get info(): DeviceInfo {
    const { reason, vendor } = this;
    return { ...(JSON.parse(wasm().device_info(this.number)) as Omit<DeviceInfo, "reason" | "vendor">), reason, vendor };
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

  /**
   * Times every kernel from now on, by the GPU's own timestamps; an error where it has none (`info.features` names `timestamp-query`).
   * While it lasts, each kernel is a pass of its own, so gaps are longer. Browsers round timestamps, to 0.1 ms or so: look at sums.
   */
  startTrace(): void {
    wasm().device_start_trace(this.number);
  }

  /**
   * Ends the trace, waits for its kernels, and gives their times.
   *
   * ```ts
   * device.startTrace();
   * for (let step = 0; step < 20; step += 1) await train();
   * const { kernels, busy } = await device.takeTrace();
   * console.log(`${kernels.length} kernels, the GPU was busy for ${(100 * busy).toFixed(0)} %`);
   * ```
   */
  async takeTrace(): Promise<Trace> {
    const kernels = JSON.parse(await arrived(wasm().device_take_trace(this.number))) as TracedKernel[];
    let [ran, end] = [0, 0];
    for (const { start, duration } of kernels) {
      ran += duration;
      end = Math.max(end, start + duration);
    }
    return { kernels, busy: ran / end };
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
  const { device = "best", onProgress = () => undefined } = options;
  onProgress("loading the WebAssembly module");
  const loading = load(options.wasm);
  // The GPU is opened while the module is fetched and compiled.
  const finding = device === "cpu" ? undefined : find(options).catch((error: unknown) => said(error));
  await loading;
  onProgress("looking for a device");
  const chosen = await choose(device, await finding, options);
  useDevice(chosen);
  onProgress(`${chosen.info.name}: ${chosen.reason}`);
  return chosen;
}

const said = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));

/** A GPU that is being opened. */
interface Found {
  adapter: Pick<GPUAdapter, "features" | "limits" | "info">;
  device: Promise<GPUDevice>;
  isSoftware: boolean;
}

async function choose(
  wanted: NonNullable<InitOptions["device"]>,
  found: Found | Error | undefined,
  options: InitOptions,
): Promise<Device> {
  const { powerPreference, memoryLimit, matmulPrecision, onCompile } = options;
  const high = matmulPrecision === undefined ? undefined : isHigh(matmulPrecision);
  const cpu = async (reason: string) => {
    await loadPart("later");
    return new Device(await wasm().device_open(true, false, false, false, 0, undefined, high), reason);
  };
  if (found === undefined) return cpu("the CPU was asked for");
  try {
    if (found instanceof Error) throw found;
    const { adapter, device, isSoftware } = found;
    const requestDevice = async () => compiling(await device, isSoftware, onCompile);
    const [lowPower, mayBeSoftware] = [powerPreference === "low-power", wanted !== "best" && wanted !== "gpu"];
    const threads = isSoftware ? SOFTWARE_GROUP : 0;
    const number = await withGpu(offering({ ...adapter, requestDevice }), () =>
      wasm().device_open(false, lowPower, mayBeSoftware, isSmall(adapter.info), threads, memoryLimit, high),
    );
    const reason = REASONS[wanted as keyof typeof REASONS] ?? "the GPUDevice that was handed in";
    return new Device(number, reason, adapter.info.vendor);
  } catch (error) {
    if (wanted !== "best") throw error;
    return cpu(`no GPU is used: ${said(error).message}`);
  }
}

const REASONS = {
  best: "WebGPU offers a GPU",
  gpu: "a GPU was asked for",
  software: "WebGPU was asked for, a software adapter too",
};

/** Threads in a workgroup on software adapters, for which a barrier costs by the thread. */
const SOFTWARE_GROUP = 32;

/** What kernels use where it is there. */
const FEATURES: GPUFeatureName[] = ["shader-f16", "timestamp-query"];

/** What kernels and tensors may need more of than every device has. */
const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxUniformBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
] as const;

/** Finds the GPU that is asked for, and has it opened. */
async function find({ device: wanted, gpu: given, powerPreference = "high-performance" }: InitOptions): Promise<Found> {
  if (typeof wanted === "object") {
    const { features, limits, adapterInfo: info } = wanted;
    return { adapter: { features, limits, info }, device: Promise.resolve(wanted), isSoftware: isSoftware(info) };
  }
  if (given !== undefined) alive.add(given);
  const gpu = given ?? (globalThis.navigator as { gpu?: GPU } | undefined)?.gpu;
  if (gpu === undefined) throw new Error("this browser has no WebGPU, or the page is not secure (https or localhost)");
  const adapter = await gpu.requestAdapter({ powerPreference });
  if (adapter === null) throw new Error("WebGPU offers no adapter");
  const { features, limits, info } = adapter;
  if (isSoftware(info) && wanted !== "software") {
    throw new Error(`WebGPU offers only a software adapter (${nameOf(info)}); ask for device "software" to use it`);
  }
  const device = adapter.requestDevice({
    label: "flambeau",
    requiredFeatures: FEATURES.filter((name) => features.has(name)),
    requiredLimits: Object.fromEntries(LIMITS.map((name) => [name, limits[name]])),
  });
  // Dawn in Node crashes if the process ends while it compiles; to destroy a device is to wait for that. Whoever awaits the device
  // hears of an error.
  device
    .then((opened) => {
      atExit(() => opened.destroy());
      return wake(opened, isSoftware(info));
    })
    .catch(() => undefined);
  return { adapter: { features, limits, info }, device, isSoftware: isSoftware(info) };
}

/** What WebGPU says the adapter is called: browsers do not tell the module. */
function nameOf({ vendor, architecture, description }: GPUAdapterInfo): string {
  return `${vendor} ${architecture} ${description}`.trim();
}

function isSoftware(info: GPUAdapterInfo): boolean {
  return /swiftshader|llvmpipe|basic render/i.test(nameOf(info));
}

/** Is it a part of a processor, as far as the vendor tells, or a CPU that plays a GPU? Kernels are cut for it. */
function isSmall(info: GPUAdapterInfo): boolean {
  return isSoftware(info) || /^(apple|arm|imagination|img|intel|qualcomm|samsung)/i.test(info.vendor);
}

/** The part of `navigator.gpu` that is used to open a device. */
function offering(adapter: object): object {
  return {
    requestAdapter: () => Promise.resolve(adapter),
    getPreferredCanvasFormat: () => "bgra8unorm",
    wgslLanguageFeatures: new Set<string>(),
  };
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
