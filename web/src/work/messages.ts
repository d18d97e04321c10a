/** What the page and the workers say to each other, beyond what `flambeau/worker` says already. */

import type { ItemShape } from "./layers.js";
import type { TrainSettings } from "./settings.js";

/** Pictures (or rows of numbers) with their labels, ready to be cut into batches. */
export interface Part {
  /** Item by item; bytes are 0 … 255, floats are as they are. */
  items: Uint8Array | Float32Array;
  labels: Uint8Array;
}

/** A data set. */
export interface DataSet {
  name: string;
  shape: ItemShape;
  classes: string[];
  train: Part;
  test: Part;
}

/** Where a run's data come from: MNIST is fetched from beside the page, others are handed over. */
export type DataSource = { kind: "mnist"; folder: string } | { kind: "given"; set: DataSet };

/** What a training worker is given. */
export interface TrainTask {
  settings: TrainSettings;
  source: DataSource;
  /** Weights to begin with, as safetensors. */
  weights?: Uint8Array | undefined;
  /** The name that checkpoints are kept under. */
  checkpoints: string;
  /** Of the data that the run was begun with. */
  fingerprint?: string | undefined;
}

/** How the model does on test items. */
export interface Assessment {
  step: number;
  count: number;
  loss: number;
  accuracy: number;
  /** Row: the label; column: the answer. */
  confusion: number[][];
  mistakes: Mistake[];
}

/** A test item that was read wrongly. */
export interface Mistake {
  index: number;
  pixels: Float32Array;
  label: number;
  answer: number;
  /** The probability of the answer. */
  sure: number;
}

/** Counts of values in equal steps from `low` to `high`. */
export interface Histogram {
  low: number;
  high: number;
  counts: number[];
  mean: number;
  deviation: number;
}

/** What the model looks like inside. */
export interface Inspection {
  step: number;
  /** The first layer's weights as pictures, scaled to −1 … 1. */
  filters: { width: number; height: number; pictures: Float32Array[] } | undefined;
  layers: { name: string; weights: Histogram; gradients: Histogram }[];
}

/** What a training worker tells by itself. */
export type Note =
  | { kind: "loading"; label: string; part: number | undefined }
  | {
      kind: "set";
      shape: ItemShape;
      classes: string[];
      train: number;
      test: number;
      parameters: number;
      fingerprint: string;
    }
  /** Training goes on from a checkpoint of this step. */
  | { kind: "resumed"; step: number }
  | {
      kind: "stats";
      step: number;
      /** Of training since the last of these notes. */
      seconds: number;
      stepMs: number;
      samplesPerSecond: number;
      memory: number;
      peak: number;
      kernels: number;
      submissions: number;
    }
  | { kind: "assessment"; assessment: Assessment }
  | { kind: "inspection"; inspection: Inspection };

/** What the page and a training worker say to each other. */
export interface TrainDialogue {
  settings: TrainTask;
  note: Note;
  questions: {
    /** Reads the whole test set. */
    assess: { ask: undefined; answer: Assessment };
    inspect: { ask: undefined; answer: Inspection };
    /** The weights as safetensors. */
    export: { ask: undefined; answer: Uint8Array };
    /** Another learning rate from the next step on; the answer is the number of steps before it. */
    rate: { ask: number; answer: number };
    /** Keeps a checkpoint of the present step. */
    keep: { ask: undefined; answer: { step: number; bytes: number } };
    /** There was a pause until now. */
    rested: { ask: undefined; answer: unknown };
  };
}

/** What the reader of files can be asked, and what it tells on the way. */
export type ReadQuestions = {
  idx: { ask: { files: File[]; names?: string[] }; answer: DataSet };
  csv: { ask: File; answer: DataSet };
  folder: { ask: { files: File[]; size: number; channels: 1 | 3 }; answer: DataSet };
};
export interface ReadNote {
  label: string;
  part: number;
}

/** What the reader of pictures can be asked. */
export type PredictQuestions = {
  load: { ask: { weights: Uint8Array; layers: string; shape: ItemShape }; answer: unknown };
  /** The probabilities of the classes. */
  read: { ask: Float32Array; answer: Float32Array };
};
