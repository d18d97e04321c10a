/** Looks at a model from outside (how it reads test items) and from inside (filters, weights, gradients). */

import { noGrad, scope, tensor, type nn } from "flambeau";
import type { ItemShape } from "./layers.js";
import type { Assessment, DataSet, Histogram, Inspection, Mistake } from "./messages.js";
import { pixelsOf, slice, toInput } from "./sets.js";

const BATCH = 500;
const MOST_MISTAKES = 24;
const BINS = 40;
const MOST_FILTERS = 64;

/** Reads the first `most` test items. The model's random numbers are not touched: dropout rests in evaluation mode. */
export async function assess(
  model: nn.Sequential,
  set: DataSet,
  step: number,
  most: number,
  onPart: (part: number) => void = () => undefined,
): Promise<Assessment> {
  const { test, shape, classes } = set;
  const count = Math.min(most, test.labels.length);
  const confusion = classes.map(() => classes.map(() => 0));
  const mistakes: Omit<Mistake, "pixels">[] = [];
  let [loss, right] = [0, 0];
  model.eval();
  try {
    for (let start = 0; start < count; start += BATCH) {
      onPart(start / count);
      const { x, labels } = slice(test, shape, start, Math.min(start + BATCH, count));
      const logs = scope(() => noGrad(() => model.forward(toInput(x)).logSoftmax(1)));
      const values = (await logs.data()) as Float32Array;
      logs.dispose();
      x.dispose();
      for (const [row, label] of labels.entries()) {
        const own = values.subarray(row * classes.length, (row + 1) * classes.length);
        const answer = own.reduce((best, value, place) => (value > (own[best] ?? 0) ? place : best), 0);
        loss -= own[label] ?? 0;
        const counts = confusion[label];
        if (counts !== undefined) counts[answer] = (counts[answer] ?? 0) + 1;
        if (answer === label) right += 1;
        else mistakes.push({ index: start + row, label, answer, sure: Math.exp(own[answer] ?? 0) });
      }
    }
  } finally {
    model.train();
  }
  mistakes.sort((a, b) => b.sure - a.sure);
  const shown = mistakes.slice(0, MOST_MISTAKES).map((mistake) => ({ ...mistake, pixels: pixelsOf(test, shape, mistake.index) }));
  return { step, count, loss: loss / count, accuracy: right / count, confusion, mistakes: shown };
}

/** Counts values in equal steps over their range. */
export function histogram(values: Float32Array): Histogram {
  let [low, high, sum, squares] = [Infinity, -Infinity, 0, 0];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
    sum += value;
    squares += value * value;
  }
  const counts = Array.from({ length: BINS }, () => 0);
  const width = (high - low) / BINS || 1;
  for (const value of values) {
    const bin = Math.min(Math.floor((value - low) / width), BINS - 1);
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  const mean = sum / values.length;
  return { low, high, counts, mean, deviation: Math.sqrt(Math.max(squares / values.length - mean * mean, 0)) };
}

/** The first weights as pictures: a linear layer's rows have the items' shape, a convolution's kernels are small. */
function filtersOf(weights: Float32Array, sizes: readonly number[], shape: ItemShape): Inspection["filters"] {
  const [count = 0, channels = 1] = sizes;
  const [, itemHeight = 0, itemWidth = 0] = shape;
  const [height, width] = sizes.length === 4 ? [sizes[2] ?? 1, sizes[3] ?? 1] : [itemHeight, itemWidth];
  const area = height * width;
  const planes = sizes.length === 4 ? channels : channels / Math.max(area, 1);
  if (area < 4 || !Number.isInteger(planes)) return undefined;
  const pictures: Float32Array[] = [];
  for (let each = 0; each < Math.min(count, MOST_FILTERS); each += 1) {
    const picture = new Float32Array(area);
    for (let plane = 0; plane < planes; plane += 1) {
      for (let place = 0; place < area; place += 1) {
        picture[place] = (picture[place] ?? 0) + (weights[(each * planes + plane) * area + place] ?? 0) / planes;
      }
    }
    const most = picture.reduce((top, value) => Math.max(top, Math.abs(value)), 1e-12);
    pictures.push(picture.map((value) => value / most));
  }
  return { width, height, pictures };
}

/** Weights, the gradients of one batch of test items, and the first layer as pictures. */
export async function inspect(model: nn.Sequential, set: DataSet, step: number): Promise<Inspection> {
  const named = model.namedParameters().filter(([name]) => name.endsWith("weight"));
  const { x, labels } = slice(set.test, set.shape, 0, 128);
  const y = tensor(Int32Array.from(labels));
  model.eval();
  try {
    scope(() => model.forward(toInput(x)).crossEntropy(y).backward());
    const layers: Inspection["layers"] = [];
    let filters: Inspection["filters"];
    for (const [index, [name, parameter]] of named.entries()) {
      const [value, gradient] = [parameter.value(), parameter.grad];
      const weights = (await value.data()) as Float32Array;
      const slopes = gradient === undefined ? new Float32Array(1) : ((await gradient.data()) as Float32Array);
      layers.push({ name, weights: histogram(weights), gradients: histogram(slopes) });
      if (index === 0) filters = filtersOf(weights, value.shape, set.shape);
      value.dispose();
      gradient?.dispose();
    }
    return { step, filters, layers };
  } finally {
    model.zeroGrad();
    model.train();
    x.dispose();
    y.dispose();
  }
}
