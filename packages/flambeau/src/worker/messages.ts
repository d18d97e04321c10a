/** What a page and its training worker say to each other. */

import type { DeviceInfo, InitOptions } from "../device.js";
import type { EpochReport, Progress, Summary } from "../trainer.js";

/** How a run is started. */
export interface StartOptions {
  /** The run's name: its checkpoints are kept under it. */
  name?: string;
  device?: Exclude<InitOptions["device"], GPUDevice | undefined>;
  powerPreference?: InitOptions["powerPreference"];
  memoryLimit?: InitOptions["memoryLimit"];
  /** Where the WebAssembly is, if not beside the package's JavaScript. */
  wasm?: string;
  /** Goes on from the latest checkpoint of that name, if there is one. */
  resume?: boolean;
  /** Begins paused: `step` and `resume` go on. */
  paused?: boolean;
  epochs?: number;
  maxSteps?: number;
  logEvery?: number;
  clipGradNorm?: number;
  /** Steps between checkpoints; none without it. */
  checkpointEvery?: number;
  /** Anything the worker's own function needs; it must be cloneable. */
  settings?: unknown;
}

/** From the page. */
export type Command =
  | { type: "start"; options: StartOptions }
  | { type: "pause" }
  | { type: "resume" }
  | { type: "step"; count: number }
  | { type: "stop" }
  | { type: "setLearningRate"; lr: number }
  | { type: "checkpoint" }
  | { type: "loseDevice" }
  | { type: "ask"; id: number; question: unknown }
  | { type: "crash" };

/** From the worker. */
export type Report =
  | { type: "ready" }
  | { type: "device"; info: DeviceInfo }
  | { type: "compile"; done: number; all: number }
  | { type: "progress"; progress: Progress }
  | { type: "epoch"; report: EpochReport }
  | { type: "paused"; step: number }
  | { type: "checkpoint"; step: number; bytes: number }
  | { type: "recovered"; why: string; attempt: number; info: DeviceInfo; step: number }
  | { type: "done"; summary: Summary }
  | { type: "note"; note: unknown }
  | { type: "answer"; id: number; answer: unknown }
  | { type: "noAnswer"; id: number; message: string }
  /** `dead`: WebAssembly has trapped, and the worker must be replaced. */
  | { type: "failed"; message: string; dead: boolean };
