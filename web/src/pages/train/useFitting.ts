/** Sets what must fit when data of one's own have been read: the last layer, the batch and the epochs. */

import { useEffect } from "react";
import { type Fitted, fitChange, fitting } from "../../work/fitting.js";
import type { DataSet } from "../../work/messages.js";
import { trainSchema, type TrainSettings } from "../../work/settings.js";

/** What was set last, and for which data: it outlives the page, as the data do. */
let last: { set: DataSet; fitted: Fitted } | undefined;

const INITIAL: Fitted = {
  layers: trainSchema.layers.initial,
  batch: trainSchema.batch.initial,
  epochs: trainSchema.epochs.initial,
};

/** `set` is the data set of one's own that is chosen, if there is one. */
export function useFitting(
  set: DataSet | undefined,
  settings: TrainSettings,
  change: (change: Partial<TrainSettings>) => void,
): void {
  useEffect(() => {
    if (set === undefined || set === last?.set) return;
    const outputs = set.number === undefined ? set.classes.length : 1;
    const fitted = fitting({ shape: set.shape, outputs, items: set.train.labels.length }, settings.layers);
    const next = fitChange(settings, fitted, INITIAL, last?.fitted);
    last = { set, fitted };
    change(next);
  }, [set, settings, change]);
}
