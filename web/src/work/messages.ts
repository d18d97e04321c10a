/** What the page and the workers say to each other, beyond what `flambeau/worker` says already. */

import type { IncludedName } from "./included.js";
import type { ItemShape } from "./layers.js";
import type { NumberTarget, Preparation } from "./prepare.js";
import type { TrainSettings } from "./settings.js";
import type { ColumnAbout, Delimiter } from "./table.js";
import type { Missing, TableChoices } from "./tableSet.js";
import type { Shares } from "./divide.js";

/** Pictures (or rows of numbers) with their labels, ready to be cut into batches. */
export interface Part {
  /** Item by item; bytes are 0 … 255, floats are as they are. */
  items: Uint8Array | Float32Array;
  /** Bytes are classes, floats a number with mean 0 and deviation 1. */
  labels: Uint8Array | Float32Array;
}

/** A data set. */
export interface DataSet {
  name: string;
  shape: ItemShape;
  /** None where a number is predicted. */
  classes: string[];
  number?: NumberTarget;
  preparation: Preparation;
  train: Part;
  /** Looked at on the way; without it the test items are. */
  validation?: Part;
  test: Part;
  /** The files said themselves what is for tests. */
  isDivided?: boolean;
  /** Tells it from others: the reader of files says it, of the app's own the training worker finds it out. */
  fingerprint?: string;
  /** What the reader should know of how it was made. */
  notes?: string[];
}

/** Where a run's data come from: those of the app are fetched from beside the page, others are handed over. */
export type DataSource = { kind: "included"; name: IncludedName; folder: string } | { kind: "given"; set: DataSet };

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

/** How the model does on test items, or on those for validation. */
export interface Assessment {
  step: number;
  part: "validation" | "test";
  count: number;
  loss: number;
  /** The share of right answers; of a number R², the share of its variation that is explained. */
  accuracy: number;
  /** Row: the label; column: the answer. Empty for a number. */
  confusion: number[][];
  mistakes: Mistake[];
  /** The first items, to be watched while it learns. */
  samples: Sample[];
  /** Of a number: what it is and what was said of it, in turn. */
  pairs?: Float32Array;
}

/** A test item and the answer to it: classes, or numbers in their own units. */
export interface Sample {
  pixels: Float32Array;
  label: number;
  answer: number;
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
      number?: NumberTarget | undefined;
      train: number;
      /** Items that are looked at on the way; 0 where the test items are. */
      validation: number;
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
  idx: { ask: { files: File[]; names?: string[]; shares: Shares }; answer: DataSet };
  /** Opens a table and makes a set of it; what is not told is guessed. */
  table: { ask: TableQuestion; answer: TableAnswer };
  folder: { ask: { files: File[]; size: number; channels: 1 | 3; shares: Shares }; answer: DataSet };
};
export interface TableQuestion {
  file: File;
  delimiter?: Delimiter | undefined;
  header?: boolean | undefined;
  choices?: TableChoices | undefined;
  /** What is kept of the choices where the others are guessed anew. */
  missing?: Missing | undefined;
  shares: Shares;
}
/** What a table holds, the choices that were made, and the set, or why there is none. */
export interface TableAnswer {
  delimiter: Delimiter;
  header: boolean;
  columns: ColumnAbout[];
  rows: number;
  /** The first rows, and where they stand. */
  first: { place: number; cells: string[] }[];
  choices: TableChoices;
  set: DataSet | undefined;
  problem: string | undefined;
}
export interface ReadNote {
  label: string;
  part: number;
}

/** What the reader of pictures can be asked. */
export type PredictQuestions = {
  load: { ask: { weights: Uint8Array; layers: string; shape: ItemShape; isNumber: boolean }; answer: unknown };
  /** The probabilities of the classes, or a number with mean 0 and deviation 1. */
  read: { ask: Float32Array; answer: Float32Array };
};
