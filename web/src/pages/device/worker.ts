/** The Device page's worker: opens the device, and tells what it uses. */

import { init, type Device } from "flambeau";
import { answerQuestions } from "flambeau/worker";
import type { AdapterInfo, DeviceNote, DeviceQuestions, Opened } from "./messages.js";

/** Memory and statistics are told this often, in milliseconds. */
const TELL_EVERY = 250;

let device: Device | undefined;

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

const tell: (note: DeviceNote) => void = answerQuestions<DeviceQuestions, DeviceNote>({
  open,
  trim: () => {
    device?.trim();
    usage();
  },
});
setInterval(usage, TELL_EVERY);
