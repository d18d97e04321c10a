/** What the Playground's page and its worker say to each other. */

import type { Config } from "./config.js";

/** Cells along each side of the grids. */
export const SIDE = 60;

export type DeviceChoice = "best" | "gpu" | "cpu" | "software";

export type PlaygroundQuestions = {
  configure: { ask: { config: Config; device: DeviceChoice; reset: boolean }; answer: unknown };
  run: { ask: undefined; answer: unknown };
  pause: { ask: undefined; answer: unknown };
  step: { ask: undefined; answer: unknown };
  /** The weights as safetensors, if there is a network. */
  export: { ask: undefined; answer: Uint8Array | undefined };
  import: { ask: Uint8Array; answer: unknown };
};

/** What the network is and does at a step. */
export interface Snapshot {
  /** Which network it belongs to: it grows with every reset. */
  generation: number;
  step: number;
  trainLoss: number;
  testLoss: number;
  trainAccuracy: number;
  testAccuracy: number;
  stepsPerSecond: number;
  /** For every hidden layer the outputs of its neurons in every cell of the grid, cell by cell. */
  layers: Float32Array[];
  /** For every cell of the grid the probabilities of the classes. */
  probabilities: Float32Array;
  /** The weights of every layer, one row an output. */
  weights: Float32Array[];
}

export type PlaygroundNote =
  | { type: "ready"; name: string; kind: "cpu" | "gpu"; reason: string }
  | { type: "state"; running: boolean }
  | { type: "snapshot"; snapshot: Snapshot }
  | { type: "error"; message: string };
