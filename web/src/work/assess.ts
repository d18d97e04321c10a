/** Looks at a model from outside (how it reads test items) and from inside (filters, weights, gradients). */

import { noGrad, scope, tensor, type nn } from "flambeau";
import type { ItemShape } from "./layers.js";
import type { Assessment, DataSet, Histogram, Inspection, Mistake, Sample } from "./messages.js";
import { outcomeOf } from "./objective.js";
import { restored, type NumberTarget } from "./prepare.js";
import { pixelsIn } from "./pixels.js";
import { slice, toInput } from "./sets.js";

const BATCH = 500;
const MOST_PAIRS = 600;
const MOST_SAMPLES = 9;
const MOST_MISTAKES = 24;
const BINS = 40;
const MOST_FILTERS = 64;

/** How far the reading has come, of 1. */
type Told = (part: number) => void;

/**
 * Reads the first `most` items of a part. The model's random numbers are not touched: dropout rests in evaluation mode. Where there
 * are no items for validation the test items take their place.
 */
export async function assess(
  model: nn.Sequential,
  set: DataSet,
  step: number,
  wanted: Assessment["part"],
  most = Infinity,
  onPart: Told = () => undefined,
): Promise<Assessment> {
  const part = wanted === "validation" && set.validation !== undefined ? "validation" : "test";
  const looked = { ...set, test: set[part] ?? set.test };
  const found =
    set.number === undefined
      ? await assessClasses(model, looked, most, onPart)
      : await assessNumber(model, looked, set.number, most, onPart);
  return { step, part, ...found };
}

type Found = Omit<Assessment, "step" | "part">;

/** Runs the model over the first items, in evaluation mode; `take` gets its outputs batch by batch. */
async function readAll(
  model: nn.Sequential,
  { test, shape }: DataSet,
  count: number,
  onPart: Told,
  take: (outputs: Float32Array, labels: ArrayLike<number>, start: number) => void,
): Promise<void> {
  model.eval();
  try {
    for (let start = 0; start < count; start += BATCH) {
      onPart(start / count);
      const { x, labels } = slice(test, shape, start, Math.min(start + BATCH, count));
      const outputs = scope(() => noGrad(() => model.forward(toInput(x))));
      const values = (await outputs.data()) as Float32Array;
      outputs.dispose();
      x.dispose();
      take(values, labels, start);
    }
  } finally {
    model.train();
  }
}

async function assessNumber(
  model: nn.Sequential,
  set: DataSet,
  target: NumberTarget,
  most: number,
  onPart: Told,
): Promise<Found> {
  const count = Math.min(most, set.test.labels.length);
  const pairs: number[] = [];
  const samples: Sample[] = [];
  let [error, sum, squares] = [0, 0, 0];
  await readAll(model, set, count, onPart, (outputs, labels) => {
    for (const [row, answer] of outputs.entries()) {
      const label = labels[row] ?? 0;
      error += (answer - label) ** 2;
      sum += label;
      squares += label * label;
      const [is, said] = [restored(label, target), restored(answer, target)];
      if (samples.length < MOST_SAMPLES)
        samples.push({ pixels: pixelsIn(set.test, set.shape, samples.length), label: is, answer: said });
      if (pairs.length < 2 * MOST_PAIRS) pairs.push(is, said);
    }
  });
  const variance = squares / count - (sum / count) ** 2;
  return {
    count,
    loss: error / count,
    accuracy: 1 - error / count / (variance > 0 ? variance : 1),
    confusion: [],
    mistakes: [],
    samples,
    pairs: Float32Array.from(pairs),
  };
}

/** The logarithm of the sum of exponentials, without overflow. */
function logSum(values: Float32Array): number {
  const most = values.reduce((top, value) => Math.max(top, value), -Infinity);
  return most + Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0));
}

async function assessClasses(model: nn.Sequential, set: DataSet, most: number, onPart: Told): Promise<Found> {
  const { test, shape, classes } = set;
  const count = Math.min(most, test.labels.length);
  const confusion = classes.map(() => classes.map(() => 0));
  const mistakes: Omit<Mistake, "pixels">[] = [];
  const samples: Sample[] = [];
  let [loss, right] = [0, 0];
  await readAll(model, set, count, onPart, (outputs, labels, start) => {
    for (let row = 0; row < labels.length; row += 1) {
      const label = labels[row] ?? 0;
      const own = outputs.subarray(row * classes.length, (row + 1) * classes.length);
      const answer = own.reduce((best, value, place) => (value > (own[best] ?? 0) ? place : best), 0);
      const all = logSum(own);
      loss += all - (own[label] ?? 0);
      if (samples.length < MOST_SAMPLES) samples.push({ pixels: pixelsIn(test, shape, samples.length), label, answer });
      const counts = confusion[label];
      if (counts !== undefined) counts[answer] = (counts[answer] ?? 0) + 1;
      if (answer === label) right += 1;
      else mistakes.push({ index: start + row, label, answer, sure: Math.exp((own[answer] ?? 0) - all) });
    }
  });
  mistakes.sort((a, b) => b.sure - a.sure);
  const shown = mistakes.slice(0, MOST_MISTAKES).map((mistake) => ({ ...mistake, pixels: pixelsIn(test, shape, mistake.index) }));
  return { count, loss: loss / count, accuracy: right / count, confusion, mistakes: shown, samples };
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
  const y = tensor(labels);
  model.eval();
  try {
    scope(() => outcomeOf(model.forward(toInput(x)), y).loss.backward());
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
