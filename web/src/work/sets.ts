/** The data sets as a training worker uses them. */

import { data, tensor, type Tensor } from "flambeau";
import { readKept } from "./kept.js";
import type { ItemShape } from "./layers.js";
import type { DataSet, DataSource, Note, Part } from "./messages.js";

const FILES = [
  "train-images-idx3-ubyte.gz",
  "train-labels-idx1-ubyte.gz",
  "t10k-images-idx3-ubyte.gz",
  "t10k-labels-idx1-ubyte.gz",
] as const;
/** The bytes of the four files together, for the bar until the server has said them. */
const MNIST_BYTES = 11_369_320;

/** Fetches MNIST, or takes it from what is kept of it, telling how far it has come. */
async function fetchMnist(folder: string, tell: (note: Note) => void): Promise<DataSet> {
  const loaded = FILES.map(() => 0);
  const read = await Promise.all(
    FILES.map((file, index) =>
      readKept(folder + file, data.readIdx, (so) => {
        loaded[index] = so;
        const all = loaded.reduce((sum, each) => sum + each, 0);
        tell({ kind: "loading", label: "Fetching MNIST", part: Math.min(all / MNIST_BYTES, 1) });
      }),
    ),
  );
  const [trainItems, trainLabels, testItems, testLabels] = read.map((array) => array.data as Uint8Array);
  if (trainItems === undefined || trainLabels === undefined || testItems === undefined || testLabels === undefined) {
    throw new Error("MNIST is not whole");
  }
  return {
    name: "MNIST",
    shape: [1, 28, 28],
    classes: Array.from({ length: 10 }, (_, digit) => String(digit)),
    preparation: { kind: "ink" },
    train: { items: trainItems, labels: trainLabels },
    test: { items: testItems, labels: testLabels },
  };
}

let kept: DataSet | undefined;

/** The data of a run; fetched once per worker. */
export async function openSet(source: DataSource, tell: (note: Note) => void): Promise<DataSet> {
  if (source.kind === "given") return source.set;
  kept ??= await fetchMnist(source.folder, tell);
  return kept;
}

const sizeOf = (shape: ItemShape) => shape.reduce((product, size) => product * size, 1);

/** A part as the loader takes it: at most `most` items. */
export function hostArrays({ items, labels }: Part, shape: ItemShape, most = labels.length): [data.HostArray, data.HostArray] {
  const count = Math.min(most, labels.length);
  return [
    {
      data: items.subarray(0, count * sizeOf(shape)),
      shape: [count, ...shape],
      dtype: items instanceof Uint8Array ? "u8" : "f32",
    },
    { data: labels.subarray(0, count), shape: [count], dtype: labels instanceof Uint8Array ? "u8" : "f32" },
  ];
}

/** Items as the network takes them: bytes become 0 … 1. */
export function toInput(items: Tensor): Tensor {
  return items.dtype === "u8" ? items.toDtype("f32").div(255) : items;
}

/** Some items of a part, and their labels. */
export function slice(part: Part, shape: ItemShape, start: number, end: number): { x: Tensor; labels: Part["labels"] } {
  const size = sizeOf(shape);
  const labels = part.labels.subarray(start, end);
  const items = part.items.slice(start * size, end * size);
  return { x: tensor(items, { shape: [labels.length, ...shape] }), labels };
}
