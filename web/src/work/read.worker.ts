/** The worker that reads one's own data: idx files, a CSV table, a folder of pictures. */

import { data, init } from "flambeau";
import type { DataSet, Part, ReadReport, ReadTask } from "./messages.js";
import type { ItemShape } from "./layers.js";

const world = globalThis as unknown as {
  postMessage(report: ReadReport): void;
  onmessage: ((event: MessageEvent<ReadTask>) => void) | null;
};
const MOST_CLASSES = 256;
/** The share of items that is kept back where there are no test files. */
const TEST_SHARE = 0.2;

/** Items in a random order that is always the same, so that a run can be repeated. */
function order(count: number): Uint32Array {
  const places = Uint32Array.from({ length: count }, (_, place) => place);
  let state = 0x9e3779b9;
  for (let place = count - 1; place > 0; place -= 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (place + 1));
    [places[place], places[other]] = [places[other] ?? 0, places[place] ?? 0];
  }
  return places;
}

/** Divides one part into a part to train with and one to test with. */
function divide({ items, labels }: Part, size: number): { train: Part; test: Part } {
  const count = labels.length;
  if (count < 10) throw new Error(`${count} items are too few: there must be 10 or more`);
  const places = order(count);
  const tested = Math.max(Math.round(count * TEST_SHARE), 1);
  const pick = (from: Uint32Array): Part => {
    const picked = items instanceof Uint8Array ? new Uint8Array(from.length * size) : new Float32Array(from.length * size);
    for (const [index, place] of from.entries()) picked.set(items.subarray(place * size, (place + 1) * size), index * size);
    return { items: picked, labels: Uint8Array.from(from, (place) => labels[place] ?? 0) };
  };
  return { train: pick(places.subarray(tested)), test: pick(places.subarray(0, tested)) };
}

interface IdxFile {
  name: string;
  values: Uint8Array;
  shape: readonly number[];
}

async function readIdx(files: File[], names: string[] | undefined): Promise<DataSet> {
  await init({ device: "cpu" });
  const read: IdxFile[] = [];
  for (const file of files) {
    const {
      data: values,
      shape,
      dtype,
    } = await data.readIdx(file).catch((error: unknown) => {
      throw new Error(`${file.name} is no idx file: ${error instanceof Error ? error.message : String(error)}`);
    });
    if (!(values instanceof Uint8Array)) throw new Error(`${file.name} holds ${dtype} values; bytes are expected`);
    read.push({ name: file.name, values, shape });
  }
  const isTest = ({ name }: IdxFile) => /t10k|test|val/i.test(name);
  const [pictures, labels] = [read.filter(({ shape }) => shape.length >= 3), read.filter(({ shape }) => shape.length === 1)];
  const pair = (tested: boolean, only: boolean): Part & { shape: ItemShape } => {
    const what = tested ? "test" : "training";
    const [x, y] = [pictures, labels].map((list) => list.find((file) => only || isTest(file) === tested));
    if (x === undefined || y === undefined)
      throw new Error(`the ${what} ${x === undefined ? "pictures" : "labels"} are missing among the files`);
    if (x.shape[0] !== y.shape[0]) throw new Error(`${x.name} has ${x.shape[0]} pictures, ${y.name} has ${y.shape[0]} labels`);
    const [, height = 1, width = 1] = x.shape;
    return { items: x.values, labels: y.values, shape: x.shape.length === 4 ? x.shape.slice(1) : [1, height, width] };
  };
  const whole = read.length === 2;
  const first = pair(false, whole);
  const size = first.shape.reduce((product, each) => product * each, 1);
  const parts = whole ? divide(first, size) : { train: first, test: pair(true, false) };
  const count = parts.train.labels.reduce((most, label) => Math.max(most, label), 0) + 1;
  const classes = Array.from({ length: Math.max(count, names?.length ?? 0) }, (_, index) => names?.[index] ?? String(index));
  const plain = ({ items, labels }: Part): Part => ({ items, labels });
  return {
    name: names === undefined ? "idx files" : "Fashion-MNIST",
    shape: first.shape,
    classes,
    train: plain(parts.train),
    test: plain(parts.test),
  };
}

async function readCsv(file: File): Promise<DataSet> {
  await init({ device: "cpu" });
  const table = await data.readCsv(file);
  const target = table.names.find((name) => /^(label|class|target|y)$/i.test(name.trim())) ?? table.names.at(-1);
  const columns = table.names.filter((name) => name !== target);
  if (target === undefined || columns.length === 0) throw new Error("the table needs a column of labels and columns of numbers");
  const { labels, names } = table.classes(target);
  if (names.length > MOST_CLASSES)
    throw new Error(`the column “${target}” has ${names.length} different labels; at most ${MOST_CLASSES} are classes`);
  const numbers = table.numbers(...columns).data as Float32Array;
  const side = Math.sqrt(columns.length);
  const isPicture = Number.isInteger(side) && side >= 8;
  const most = numbers.reduce((top, value) => Math.max(top, value), 0);
  const items = isPicture ? numbers.map((value) => (most > 1.5 ? value / 255 : value)) : standardised(numbers, columns.length);
  const part = { items, labels: Uint8Array.from(labels.data as ArrayLike<number>, Number) };
  return {
    name: file.name,
    shape: isPicture ? [1, side, side] : [columns.length],
    classes: names,
    ...divide(part, columns.length),
  };
}

/** Columns with mean 0 and deviation 1. */
function standardised(numbers: Float32Array, width: number): Float32Array {
  const rows = numbers.length / width;
  const made = Float32Array.from(numbers);
  for (let column = 0; column < width; column += 1) {
    let [sum, squares] = [0, 0];
    for (let row = 0; row < rows; row += 1) {
      const value = numbers[row * width + column] ?? 0;
      sum += value;
      squares += value * value;
    }
    const mean = sum / rows;
    const deviation = Math.sqrt(Math.max(squares / rows - mean * mean, 0)) || 1;
    for (let row = 0; row < rows; row += 1) {
      made[row * width + column] = ((numbers[row * width + column] ?? 0) - mean) / deviation;
    }
  }
  return made;
}

/** The folder that a picture lies in is its class. */
function folderOf(file: File): string {
  const path = (file.webkitRelativePath || file.name).split("/");
  return path.at(-2) ?? "";
}

async function readFolder(files: File[], size: number, channels: 1 | 3): Promise<DataSet> {
  const pictures = files.filter(({ name, type }) => type.startsWith("image/") || /\.(png|jpe?g|webp|gif|bmp)$/i.test(name));
  const classes = [...new Set(pictures.map(folderOf))].sort();
  if (classes.length < 2) {
    throw new Error(
      `${pictures.length} pictures in ${classes.length} folders: put the pictures of each class into a folder of its own`,
    );
  }
  if (classes.length > MOST_CLASSES) throw new Error(`${classes.length} folders: at most ${MOST_CLASSES} can be classes`);
  const area = size * size;
  const items = new Uint8Array(pictures.length * channels * area);
  const context = new OffscreenCanvas(size, size).getContext("2d", { willReadFrequently: true });
  if (context === null) throw new Error("this browser has no canvas to read pictures with");
  for (const [index, file] of pictures.entries()) {
    const picture = await createImageBitmap(file).catch(() => {
      throw new Error(`${file.name} cannot be read as a picture`);
    });
    context.clearRect(0, 0, size, size);
    context.drawImage(picture, 0, 0, size, size);
    picture.close();
    const { data: rgba } = context.getImageData(0, 0, size, size);
    const start = index * channels * area;
    for (let place = 0; place < area; place += 1) {
      const [red = 0, green = 0, blue = 0] = rgba.subarray(place * 4, place * 4 + 3);
      if (channels === 1) items[start + place] = Math.round(0.299 * red + 0.587 * green + 0.114 * blue);
      else for (const [channel, value] of [red, green, blue].entries()) items[start + channel * area + place] = value;
    }
    if (index % 16 === 0)
      world.postMessage({ type: "progress", label: `Reading ${pictures.length} pictures`, part: index / pictures.length });
  }
  const labels = Uint8Array.from(pictures, (file) => classes.indexOf(folderOf(file)));
  return { name: "Pictures", shape: [channels, size, size], classes, ...divide({ items, labels }, channels * area) };
}

world.onmessage = ({ data: task }) => {
  const reading =
    task.kind === "idx"
      ? readIdx(task.files, task.names)
      : task.kind === "csv"
        ? readCsv(task.file)
        : readFolder(task.files, task.size, task.channels);
  reading.then(
    (set) => world.postMessage({ type: "set", set }),
    (error: unknown) => world.postMessage({ type: "failed", message: error instanceof Error ? error.message : String(error) }),
  );
};
