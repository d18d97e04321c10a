/** What is measured: the tasks, their data, and how much work they are. */

import { uniform } from "../../work/random.js";

export const kinds = ["matmul", "elementwise", "convolution", "mlp", "cnn"] as const;
export type Kind = (typeof kinds)[number];

/** A task of a size; only the first two have sizes to choose from. */
export interface Task {
  kind: Kind;
  size: number;
}

/** An array with its shape, in PyTorch's layouts: (N, C, H, W), (out, in). */
export interface Named {
  name: string;
  shape: readonly number[];
  values: Float32Array;
}

/** The data of a task: the same for every contender. */
export interface Work {
  task: Task;
  inputs: readonly Named[];
  /** First values of what is trained, in order. */
  parameters: readonly Named[];
  /** The right classes, for training. */
  labels: Int32Array;
}

export const BATCH = 32;
export const CLASSES = 10;
export const RATE = 1e-3;
const CONV = { batch: 16, inputs: 32, outputs: 64, side: 32 };

const MLP: readonly (readonly [string, readonly number[]])[] = [
  ["fc1.weight", [128, 784]],
  ["fc1.bias", [128]],
  ["fc2.weight", [CLASSES, 128]],
  ["fc2.bias", [CLASSES]],
];
const CNN: readonly (readonly [string, readonly number[]])[] = [
  ["conv1.weight", [32, 1, 3, 3]],
  ["conv1.bias", [32]],
  ["conv2.weight", [64, 32, 3, 3]],
  ["conv2.bias", [64]],
  ["fc1.weight", [128, 1600]],
  ["fc1.bias", [128]],
  ["fc2.weight", [CLASSES, 128]],
  ["fc2.bias", [CLASSES]],
];

/** Each task in a line. */
export function describe({ kind, size }: Task): string {
  switch (kind) {
    case "matmul":
      return `Matrix product, ${size} × ${size}`;
    case "elementwise":
      return `max(a · b + a, 0) / 2 over ${size} × ${size}`;
    case "convolution":
      return `Convolution 3 × 3, ${CONV.inputs} → ${CONV.outputs} channels, ${CONV.batch} pictures of ${CONV.side} × ${CONV.side}`;
    case "mlp":
      return `Training step, MLP 784-128-10, batch ${BATCH}, Adam`;
    case "cnn":
      return `Training step, CNN (conv 32, conv 64, fc 128), batch ${BATCH}, Adam`;
  }
}

/** How much work one run is, and in which unit its speed is told. */
export function workOf({ kind, size }: Task): { amount: number; unit: "GFLOP/s" | "GB/s" | "steps/s" } {
  switch (kind) {
    case "matmul":
      return { amount: (2 * size ** 3) / 1e9, unit: "GFLOP/s" };
    case "elementwise":
      return { amount: (3 * 4 * size ** 2) / 1e9, unit: "GB/s" };
    case "convolution":
      return { amount: (2 * CONV.batch * CONV.inputs * CONV.outputs * 9 * CONV.side ** 2) / 1e9, unit: "GFLOP/s" };
    case "mlp":
    case "cnn":
      return { amount: 1, unit: "steps/s" };
  }
}

/** The data of a task: random, and the same every time. */
export function makeWork(task: Task): Work {
  const random = uniform(1);
  const fill = (name: string, shape: readonly number[], bound: number): Named => {
    const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
    for (let at = 0; at < values.length; at += 1) values[at] = bound * (2 * random() - 1);
    return { name, shape, values };
  };
  const layers = (list: typeof MLP) =>
    list.map(([name, shape], at) => {
      const [, ...inputs] = shape.length > 1 ? shape : (list[at - 1]?.[1] ?? shape);
      return fill(name, shape, 1 / Math.sqrt(inputs.reduce((product, size) => product * size, 1)));
    });
  const labels = () => Int32Array.from({ length: BATCH }, () => Math.floor(random() * CLASSES));
  const { size } = task;
  switch (task.kind) {
    case "matmul":
    case "elementwise":
      return { task, inputs: [fill("a", [size, size], 1), fill("b", [size, size], 1)], parameters: [], labels: new Int32Array() };
    case "convolution":
      return {
        task,
        inputs: [
          fill("x", [CONV.batch, CONV.inputs, CONV.side, CONV.side], 1),
          fill("weight", [CONV.outputs, CONV.inputs, 3, 3], 0.1),
        ],
        parameters: [],
        labels: new Int32Array(),
      };
    case "mlp":
      return { task, inputs: [fill("x", [BATCH, 784], 1)], parameters: layers(MLP), labels: labels() };
    case "cnn":
      return { task, inputs: [fill("x", [BATCH, 1, 28, 28], 1)], parameters: layers(CNN), labels: labels() };
  }
}

/** An input or a parameter by its place. */
export function at(list: readonly Named[], index: number): Named {
  const found = list[index];
  if (found === undefined) throw new Error(`the task has no array ${index}`);
  return found;
}

/** The same numbers with their dimensions in another order: dimension i of the result is dimension `order[i]`. */
export function permuted(values: Float32Array, shape: readonly number[], order: readonly number[]): Float32Array {
  const strides = shape.map((_, dim) => shape.slice(dim + 1).reduce((product, size) => product * size, 1));
  const sizes = order.map((dim) => shape[dim] ?? 1);
  const steps = order.map((dim) => strides[dim] ?? 1);
  const result = new Float32Array(values.length);
  const index = sizes.map(() => 0);
  let from = 0;
  for (let to = 0; to < result.length; to += 1) {
    result[to] = values[from] ?? 0;
    for (let dim = sizes.length - 1; dim >= 0; dim -= 1) {
      index[dim] = (index[dim] ?? 0) + 1;
      from += steps[dim] ?? 0;
      if ((index[dim] ?? 0) < (sizes[dim] ?? 1)) break;
      from -= (steps[dim] ?? 0) * (sizes[dim] ?? 1);
      index[dim] = 0;
    }
  }
  return result;
}
