/** The data sets as a training worker uses them. */

import { data, tensor, type Tensor } from "flambeau";
import { INCLUDED, type IncludedName } from "./included.js";
import { readKept } from "./kept.js";
import type { ItemShape } from "./layers.js";
import type { DataSet, DataSource, Note, Part } from "./messages.js";

const FILES = [
  "train-images-idx3-ubyte.gz",
  "train-labels-idx1-ubyte.gz",
  "t10k-images-idx3-ubyte.gz",
  "t10k-labels-idx1-ubyte.gz",
] as const;

/** Fetches a data set of the app's, or takes it from what is kept of it, telling how far it has come. */
async function fetchSet(name: IncludedName, folder: string, tell: (note: Note) => void): Promise<DataSet> {
  const { title, classes, bytes, preparation } = INCLUDED[name];
  const loaded = FILES.map(() => 0);
  const read = await Promise.all(
    FILES.map((file, index) =>
      readKept(folder + file, data.readIdx, (so) => {
        loaded[index] = so;
        const all = loaded.reduce((sum, each) => sum + each, 0);
        tell({ kind: "loading", label: `Fetching ${title}`, part: Math.min(all / bytes, 1) });
      }),
    ),
  );
  const [trainItems, trainLabels, testItems, testLabels] = read.map((array) => array.data as Uint8Array);
  if (trainItems === undefined || trainLabels === undefined || testItems === undefined || testLabels === undefined) {
    throw new Error(`${title} is not whole`);
  }
  return {
    name: title,
    shape: [1, 28, 28],
    classes: [...classes],
    preparation: { kind: preparation },
    train: { items: trainItems, labels: trainLabels },
    test: { items: testItems, labels: testLabels },
  };
}

const fetched = new Map<IncludedName, DataSet>();

/** The data of a run; fetched once per worker. */
export async function openSet(source: DataSource, tell: (note: Note) => void): Promise<DataSet> {
  if (source.kind === "given") return source.set;
  const { name, folder } = source;
  const set = fetched.get(name) ?? (await fetchSet(name, folder, tell));
  fetched.set(name, set);
  return set;
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
