/** What the Device page and its worker say to each other. */

import type { DeviceInfo, Memory, Stats } from "flambeau";
import type { OpReport } from "./suite/check.js";

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

/** A device that has been opened. */
export interface Opened {
  info: DeviceInfo;
  adapter: AdapterInfo | undefined;
  milliseconds: number;
}

/** How a self-test ended. */
export interface Tested {
  stopped: boolean;
  seconds: number;
  uncovered: string[];
}

export type DeviceQuestions = {
  open: { ask: "gpu" | "cpu" | "software"; answer: Opened };
  test: { ask: undefined; answer: Tested };
  stop: { ask: undefined; answer: unknown };
  trim: { ask: undefined; answer: unknown };
};

export type DeviceNote =
  | { type: "usage"; memory: Memory; stats: Stats }
  | { type: "op"; report: OpReport; done: number; total: number };
