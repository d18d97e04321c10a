/** The Device page's worker: opens the device, tells what it uses, and runs the self-test. */

import { init, useDevice, type Device } from "flambeau";
import { answerQuestions } from "flambeau/worker";
import type { AdapterInfo, DeviceNote, DeviceQuestions, Opened, Tested } from "./messages.js";
import { byOp, judge, uncovered } from "./suite/check.js";

/** Memory and statistics are told this often, in milliseconds. */
const TELL_EVERY = 250;
/** While testing, messages are let in this often. */
const BREATHE_EVERY = 50;

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

async function open(wanted: DeviceQuestions["open"]["ask"]): Promise<Opened> {
  const start = performance.now();
  device = await init({ device: wanted });
  const milliseconds = performance.now() - start;
  usage();
  return { info: device.info, adapter: await adapterInfo(), milliseconds };
}

function usage(): void {
  if (device !== undefined) tell({ type: "usage", memory: device.memory, stats: device.stats });
}

async function test(): Promise<Tested> {
  if (testing || device === undefined) throw new Error(testing ? "a test is running" : "the device has not been opened");
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
  return { stopped, seconds: (performance.now() - start) / 1000, uncovered: uncovered() };
}

const tell: (note: DeviceNote) => void = answerQuestions<DeviceQuestions, DeviceNote>({
  open,
  test: () =>
    test().finally(() => {
      testing = false;
    }),
  stop: () => {
    stopped = true;
  },
  trim: () => {
    device?.trim();
    usage();
  },
});
setInterval(usage, TELL_EVERY);
