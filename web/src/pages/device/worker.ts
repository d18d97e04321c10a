/** The Device page's worker: opens the device, tells what it uses, and runs the self-test. */

import { init, useDevice, type Device } from "flambeau";
import type { AdapterInfo, FromWorker, ToWorker } from "./messages.js";
import { byOp, judge, uncovered } from "./suite/check.js";

/** Memory and statistics are told this often, in milliseconds. */
const TELL_EVERY = 250;
/** While testing, messages are let in this often. */
const BREATHE_EVERY = 50;

const world = self as unknown as {
  postMessage(message: FromWorker): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
};
const tell = (message: FromWorker) => world.postMessage(message);

let device: Device | undefined;
let testing = false;
let stopped = false;

async function adapterInfo(): Promise<AdapterInfo | undefined> {
  const { gpu } = navigator as { gpu?: GPU };
  const adapter = await gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (gpu === undefined || adapter === null || adapter === undefined) return undefined;
  const { vendor, architecture, device, description } = adapter.info;
  const limits: Record<string, number> = {};
  for (const name in adapter.limits) {
    const value = adapter.limits[name as keyof GPUSupportedLimits];
    if (typeof value === "number") limits[name] = value;
  }
  return {
    vendor,
    architecture,
    device,
    description,
    fallback: adapter.info.isFallbackAdapter,
    features: [...adapter.features].sort(),
    language: [...gpu.wgslLanguageFeatures].sort(),
    limits,
  };
}

async function open(wanted: "gpu" | "cpu" | "software"): Promise<void> {
  const start = performance.now();
  device = await init({ device: wanted });
  const milliseconds = performance.now() - start;
  tell({ type: "opened", info: device.info, adapter: await adapterInfo(), milliseconds });
  usage();
}

function usage(): void {
  if (device !== undefined) tell({ type: "usage", memory: device.memory, stats: device.stats });
}

async function test(): Promise<void> {
  if (testing || device === undefined) return;
  [testing, stopped] = [true, false];
  const start = performance.now();
  const tested = device;
  const truth = await init({ device: "cpu" });
  const ops = byOp();
  let done = 0;
  let breath = start;
  for (const [op, its] of ops) {
    if (performance.now() - breath > BREATHE_EVERY) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      breath = performance.now();
    }
    if (stopped) break;
    const report = await judge(op, its, tested, truth);
    done += 1;
    tell({ type: "op", report, done, total: ops.size });
  }
  useDevice(tested);
  usage();
  testing = false;
  tell({ type: "tested", stopped, seconds: (performance.now() - start) / 1000, uncovered: uncovered() });
}

function failed(error: unknown): void {
  testing = false;
  tell({ type: "error", message: error instanceof Error ? error.message : String(error) });
}

setInterval(usage, TELL_EVERY);
world.onmessage = ({ data }) => {
  switch (data.type) {
    case "open":
      open(data.device).catch(failed);
      break;
    case "test":
      test().catch(failed);
      break;
    case "stop":
      stopped = true;
      break;
    case "trim":
      device?.trim();
      usage();
      break;
  }
};
