/** What the Device page and its workers say to each other. */

import type { DeviceInfo, Memory, Stats } from "flambeau";

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

export type DeviceQuestions = {
  open: { ask: "gpu" | "cpu" | "software"; answer: Opened };
  trim: { ask: undefined; answer: unknown };
};

export type DeviceNote = { type: "usage"; memory: Memory; stats: Stats };

/** What came of one case of the library's suite. */
export interface CaseReport {
  name: string;
  /** The kind of op. */
  group: string;
  /** Comparisons with the interpreter. */
  checks: number;
  failures: string[];
  /** The device does not take a dtype of the case. */
  skipped: boolean;
}

/** How a self-test ended. */
export interface Tested {
  seconds: number;
  /** Primitives of the library that no case has run. */
  missing: string[];
}

export type TestQuestions = {
  run: { ask: "gpu" | "cpu" | "software"; answer: Tested };
};

export interface TestNote {
  report: CaseReport;
  /** How many there will be. */
  total: number;
}
