/** Settings that fit a data set: a last layer with as many outputs as there are classes, a batch and epochs for its size. */

import { checkLayers, MODELS, readLayers, type ItemShape } from "./layers.js";
import type { TrainSettings } from "./settings.js";

export type Fitted = Pick<TrainSettings, "layers" | "batch" | "epochs">;

/** What of a data set decides. */
export interface Fits {
  shape: ItemShape;
  /** Classes, or 1 for a number. */
  outputs: number;
  /** Items to train with. */
  items: number;
}

/** Steps after which a small network has seen enough. */
const STEPS = 800;

const within = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);

/** The layers as they are but for the last, where that fits; else a perceptron. */
export function fitting({ shape, outputs, items }: Fits, layers: string): Fitted {
  const own = layers.replace(/linear-\d+$/, `linear-${outputs}`);
  const list = readLayers(own);
  const fits = list !== undefined && checkLayers(list, shape, outputs).problem === undefined;
  const batch = within(2 ** Math.round(Math.log2(Math.max(items, 1) / 16)), 8, 64);
  const epochs = within(Math.ceil(STEPS / Math.ceil(items / batch)), 3, 200);
  return { layers: fits ? own : MODELS.mlp.replace(/linear-\d+$/, `linear-${outputs}`), batch, epochs };
}

/** What is changed of the settings: batch and epochs only where nobody has chosen them, so that links and typed values stay. */
export function fitChange(settings: Fitted, fitted: Fitted, initial: Fitted, before: Fitted | undefined): Partial<Fitted> {
  const isFree = (name: "batch" | "epochs") => settings[name] === initial[name] || settings[name] === before?.[name];
  return {
    layers: fitted.layers,
    ...(isFree("batch") && { batch: fitted.batch }),
    ...(isFree("epochs") && { epochs: fitted.epochs }),
  };
}

/** What is changed of the settings when the data that they were fitted to are left: what was fitted, and is still so, is as before. */
export function fitBack(settings: Fitted, fitted: Fitted, before: Fitted): Partial<Fitted> {
  const isFitted = (name: keyof Fitted) => settings[name] === fitted[name];
  return {
    ...(isFitted("layers") && { layers: before.layers }),
    ...(isFitted("batch") && { batch: before.batch }),
    ...(isFitted("epochs") && { epochs: before.epochs }),
  };
}
