/** The settings of a run, how they stand in the address, and presets. */

import { choice, flag, integer, number, text, type Param, type Schema } from "../app/url.js";
import { MODELS, readLayers, shortLayers, writeLayers } from "./layers.js";
import { OPTIMIZER_NAMES, type OptimizerName } from "./optimizers.js";
import { MOST_RATE, ratesParam, type Rates } from "./rates.js";

export const DATA_SETS = ["mnist", "fashion", "idx", "csv", "folder"] as const;
export type DataName = (typeof DATA_SETS)[number];

/** Everything that decides a run: the same settings give the same curve. */
export interface TrainSettings {
  data: DataName;
  /** Pictures of the training set that are used; 0 means all. */
  items: number;
  layers: string;
  optimizer: OptimizerName;
  lr: number;
  /** The rates that follow it on the way. */
  rates: Rates;
  decay: number;
  batch: number;
  epochs: number;
  /** The most steps; 0 means as many as the epochs have. */
  steps: number;
  seed: number;
  /** Augmentation: pixels to shift by, share to zoom by, noise, mirroring. */
  shift: number;
  zoom: number;
  noise: number;
  mirror: boolean;
  /** In mixed precision. */
  amp: boolean;
}

/** In an address numbers may be left out; in settings none is. */
const layers: Param<string> = {
  ...text(MODELS.mlp),
  read: (word) => {
    const read = readLayers(word);
    return read === undefined ? undefined : writeLayers(read);
  },
  write: shortLayers,
};

export const trainSchema: Schema<TrainSettings> = {
  data: choice(DATA_SETS, "mnist"),
  items: integer(0, 0),
  layers,
  optimizer: choice(OPTIMIZER_NAMES, "adam"),
  lr: number(0.001, 0, MOST_RATE),
  rates: ratesParam,
  decay: number(0, 0, 10),
  batch: integer(64, 1, 4096),
  epochs: integer(3, 1, 1000),
  steps: integer(0, 0),
  seed: integer(1, 0, 4294967295),
  shift: number(0, 0, 8),
  zoom: number(0, 0, 0.5),
  noise: number(0, 0, 1),
  mirror: flag(false),
  amp: flag(false),
};

/** Settings to begin with. */
export interface Preset {
  name: string;
  about: string;
  settings: Partial<TrainSettings>;
}

const plain = {
  items: 0,
  steps: 0,
  decay: 0,
  shift: 0,
  zoom: 0,
  noise: 0,
  mirror: false,
  amp: false,
  optimizer: "adam",
  lr: 0.001,
  rates: [],
} as const;

export const PRESETS: readonly Preset[] = [
  {
    name: "Quick look",
    about: "A small perceptron, one pass over the data",
    settings: { ...plain, layers: MODELS.mlp, batch: 64, epochs: 1 },
  },
  { name: "Perceptron", about: "784 → 128 → 10, about 98 %", settings: { ...plain, layers: MODELS.mlp, batch: 64, epochs: 5 } },
  { name: "Convolutions", about: "A small CNN, about 99 %", settings: { ...plain, layers: MODELS.cnn, batch: 64, epochs: 3 } },
  {
    name: "Residual",
    about: "A small ResNet with shifted and zoomed pictures",
    settings: { ...plain, layers: MODELS.resnet, batch: 128, epochs: 3, shift: 2, zoom: 0.1 },
  },
  {
    name: "Overfit",
    about: "500 pictures only: the curves part",
    settings: { ...plain, layers: MODELS.mlp, batch: 32, epochs: 40, items: 500 },
  },
  {
    name: "Too fast",
    about: "Plain SGD at a rate that is too high",
    settings: { ...plain, layers: MODELS.mlp, batch: 64, epochs: 1, optimizer: "sgd", lr: 3 },
  },
];
