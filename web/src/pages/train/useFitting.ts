/** Sets what must fit when data of one's own have been read: the last layer, the batch and the epochs; sets them back when they are left. */

import { useEffect } from "react";
import { type Fitted, fitBack, fitChange, fitting } from "../../work/fitting.js";
import { isIncluded } from "../../work/included.js";
import type { DataSet } from "../../work/messages.js";
import { trainSchema, type TrainSettings } from "../../work/settings.js";

/** What was set last, for which data, and what was set before there were any: it outlives the page, as the data do. */
let last: { set: DataSet; fitted: Fitted; before: Fitted } | undefined;

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
    if (isIncluded(settings.data) && last !== undefined) {
      const next = fitBack(settings, last.fitted, last.before);
      last = undefined;
      change(next);
    }
    if (set === undefined || set === last?.set) return;
    const outputs = set.number === undefined ? set.classes.length : 1;
    const fitted = fitting({ shape: set.shape, outputs, items: set.train.labels.length }, settings.layers);
    const next = fitChange(settings, fitted, INITIAL, last?.fitted);
    const { layers, batch, epochs } = settings;
    last = { set, fitted, before: last?.before ?? { layers, batch, epochs } };
    change(next);
  }, [set, settings, change]);
}
