/** What the Device page and its worker say to each other. */

import type { DeviceInfo, Memory, Stats } from "flambeau";
import type { OpReport } from "./suite/check.js";

export type ToWorker =
  | { type: "open"; device: "gpu" | "cpu" | "software" }
  | { type: "test" }
  | { type: "stop" }
  | { type: "trim" };

/** What WebGPU itself says of the adapter. */
export interface AdapterInfo {
  vendor: string;
  architecture: string;
  device: string;
  description: string;
  fallback: boolean;
  features: string[];
  language: string[];
  limits: Record<string, number>;
}

export type FromWorker =
  | { type: "opened"; info: DeviceInfo; adapter: AdapterInfo | undefined; milliseconds: number }
  | { type: "usage"; memory: Memory; stats: Stats }
  | { type: "op"; report: OpReport; done: number; total: number }
  | { type: "tested"; stopped: boolean; seconds: number; uncovered: string[] }
  | { type: "error"; message: string };
