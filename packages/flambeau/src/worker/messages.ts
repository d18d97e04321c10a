/** What a page and its training worker say to each other. */

import type { DeviceInfo, InitOptions } from "../device.js";
import type { EpochReport, Progress, Summary } from "../trainer.js";
import type { Questions } from "./protocol.js";

/** What the two sides of one's own training say to each other, beyond what every training says. */
export interface Dialogue {
  /** What a run is started with: `settings` of the options, handed to the function that defines the training. */
  settings: unknown;
  /** What the worker tells by itself: it reaches the page's `onNote`. */
  note: unknown;
  /** What the page can ask while it trains and afterwards. */
  questions: Questions;
}

/** How a run is started. */
export interface StartOptions<Settings = unknown> {
  /** The run's name: its checkpoints are kept under it. */
  name?: string;
  device?: Exclude<InitOptions["device"], GPUDevice | undefined>;
  powerPreference?: InitOptions["powerPreference"];
  memoryLimit?: InitOptions["memoryLimit"];
  matmulPrecision?: InitOptions["matmulPrecision"];
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
  /** Reports have the norm of the gradients, `gradNorm`, among their metrics. */
  gradNorm?: boolean;
  /** Trains in mixed precision: a GPU needs the feature `shader-f16`. */
  amp?: boolean;
  /** Steps between checkpoints; none without it. */
  checkpointEvery?: number;
  /** Anything the worker's own function needs; it must be cloneable. */
  settings?: Settings;
}

/** An order: the answer says only that it has come. */
interface Order<A = undefined> {
  ask: A;
  answer: unknown;
}

/** From the page. */
export type TrainingQuestions = {
  start: { ask: StartOptions; answer: Summary };
  pause: Order;
  resume: Order;
  step: Order<number>;
  stop: Order;
  setLearningRate: Order<number>;
  checkpoint: Order;
  loseDevice: Order;
  crash: Order;
  /** One of the training's own questions. */
  own: { ask: { name: string; question: unknown }; answer: unknown };
};

/** What the worker tells by itself. */
export type Report =
  | { type: "device"; info: DeviceInfo }
  | { type: "compile"; done: number; all: number }
  | { type: "progress"; progress: Progress }
  | { type: "epoch"; report: EpochReport }
  | { type: "paused"; step: number }
  | { type: "checkpoint"; step: number; bytes: number }
  | { type: "unsaved"; step: number; why: string }
  | { type: "recovered"; why: string; attempt: number; info: DeviceInfo; step: number }
  | { type: "note"; note: unknown };

/** Has WebAssembly trapped or panicked? Then its worker must be replaced. */
export function isTrap(error: unknown): error is Error {
  return error instanceof Error && error.name === "RuntimeError";
}
