/** How files of one's own become a data set, once they have been opened: what is a class, what is tested, what is a picture. */

import type { data } from "flambeau";
import { counted } from "../ui/write.js";
import type { ItemShape } from "./layers.js";
import type { DataSet, Part } from "./messages.js";

/** Labels are bytes. */
const MOST_CLASSES = 256;
/** The share of items that is kept back where there are no test files. */
const TEST_SHARE = 0.2;

/** Items in a random order that is always the same, so that a run can be repeated. */
export function order(count: number): Uint32Array {
  const places = Uint32Array.from({ length: count }, (_, place) => place);
  let state = 0x9e3779b9;
  for (let place = count - 1; place > 0; place -= 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (place + 1));
    [places[place], places[other]] = [places[other] ?? 0, places[place] ?? 0];
  }
  return places;
}

/** Divides one part, of items of so many values, into a part to train with and one to test with. */
export function divide({ items, labels }: Part, size: number): { train: Part; test: Part } {
  const count = labels.length;
  if (count < 10) throw new Error(`there must be 10 items or more, and the files have ${count}`);
  const places = order(count);
  const tested = Math.max(Math.round(count * TEST_SHARE), 1);
  const pick = (from: Uint32Array): Part => {
    const picked = items instanceof Uint8Array ? new Uint8Array(from.length * size) : new Float32Array(from.length * size);
    for (const [index, place] of from.entries()) picked.set(items.subarray(place * size, (place + 1) * size), index * size);
    return { items: picked, labels: Uint8Array.from(from, (place) => labels[place] ?? 0) };
  };
  return { train: pick(places.subarray(tested)), test: pick(places.subarray(0, tested)) };
}

/** An idx file that has been read. */
export interface IdxFile {
  name: string;
  values: Uint8Array;
  shape: readonly number[];
}

/** The set of two idx files, or of four whose names tell training from test; `names` are the classes of Fashion-MNIST. */
export function idxSet(files: readonly IdxFile[], names?: readonly string[]): DataSet {
  const isTest = ({ name }: IdxFile) => /t10k|test|val/i.test(name);
  const [pictures, labels] = [files.filter(({ shape }) => shape.length >= 3), files.filter(({ shape }) => shape.length === 1)];
  const pair = (tested: boolean, only: boolean): Part & { shape: ItemShape } => {
    const what = tested ? "test" : "training";
    const [x, y] = [pictures, labels].map((list) => list.find((file) => only || isTest(file) === tested));
    if (x === undefined || y === undefined)
      throw new Error(`the ${what} ${x === undefined ? "pictures" : "labels"} are missing among the files`);
    const [[pictureCount = 0], [labelCount = 0]] = [x.shape, y.shape];
    if (pictureCount !== labelCount)
      throw new Error(`${x.name} has ${counted(pictureCount, "picture")}, ${y.name} has ${counted(labelCount, "label")}`);
    const [, height = 1, width = 1] = x.shape;
    return { items: x.values, labels: y.values, shape: x.shape.length === 4 ? x.shape.slice(1) : [1, height, width] };
  };
  const whole = files.length === 2;
  const first = pair(false, whole);
  const size = first.shape.reduce((product, each) => product * each, 1);
  const { train, test } = whole ? divide(first, size) : { train: first, test: pair(true, false) };
  const counts = [train, test].map((part) => part.labels.reduce((most, label) => Math.max(most, label), 0) + 1);
  const classes = Array.from({ length: Math.max(...counts, names?.length ?? 0) }, (_, index) => names?.[index] ?? String(index));
  const plain = ({ items, labels }: Part): Part => ({ items, labels });
  return {
    name: names === undefined ? "idx files" : "Fashion-MNIST",
    shape: first.shape,
    classes,
    train: plain(train),
    test: plain(test),
  };
}

/** Numbers as tables have them. */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** What is wrong with a cell where a number is wanted. */
function faultOf(cell: string): string | undefined {
  if (cell === "") return "is empty";
  if (!NUMBER.test(cell)) return `is not a number: “${cell}”`;
  return Number.isFinite(Math.fround(Number(cell))) ? undefined : `is too large: ${cell}`;
}

/** The first cell of a column that is wrong. Rows are numbered as a spreadsheet does it: from 1, the header among them. */
function faultIn(table: data.Table, column: string, wrong: (cell: string) => string | undefined): string | undefined {
  for (const [row, cell] of table.text(column).entries()) {
    const fault = wrong(cell);
    if (fault !== undefined) return `row ${row + 2}, column “${column}” ${fault}`;
  }
  return undefined;
}

/** Columns of a table, row by row. An error names a cell without a number: one NaN among the items is the end of a run. */
function numbersOf(table: data.Table, columns: readonly string[]): Float32Array {
  let numbers: Float32Array;
  try {
    numbers = table.numbers(...columns).data as Float32Array;
  } catch (error) {
    for (const column of columns) {
      const fault = faultIn(table, column, faultOf);
      if (fault !== undefined) throw new Error(fault, { cause: error });
    }
    throw error;
  }
  const place = numbers.findIndex((value) => !Number.isFinite(value));
  if (place >= 0) throw new Error(faultIn(table, columns[place % columns.length] ?? "", faultOf));
  return numbers;
}

/** The set of a table: the column of labels is named so, or the last; as many others as a square has pixels are a picture. */
export function tableSet(name: string, table: data.Table): DataSet {
  const target = table.names.find((name) => /^(label|class|target|y)$/i.test(name.trim())) ?? table.names.at(-1);
  const columns = table.names.filter((name) => name !== target);
  if (target === undefined || columns.length === 0) throw new Error("the table needs a column of labels and columns of numbers");
  const { labels, names } = table.classes(target);
  if (names.includes("")) throw new Error(faultIn(table, target, (cell) => (cell === "" ? "is empty" : undefined)));
  if (names.length > MOST_CLASSES)
    throw new Error(`the column “${target}” has ${names.length} different labels; at most ${MOST_CLASSES} are classes`);
  const numbers = numbersOf(table, columns);
  const side = Math.sqrt(columns.length);
  const isPicture = Number.isInteger(side) && side >= 8;
  const most = numbers.reduce((top, value) => Math.max(top, value), 0);
  const items = isPicture ? numbers.map((value) => (most > 1.5 ? value / 255 : value)) : standardised(numbers, columns.length);
  const part = { items, labels: Uint8Array.from(labels.data as ArrayLike<number>, Number) };
  return { name, shape: isPicture ? [1, side, side] : [columns.length], classes: names, ...divide(part, columns.length) };
}

/** Columns with mean 0 and deviation 1. */
export function standardised(numbers: Float32Array, width: number): Float32Array {
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

/** What is used of a `File`. */
export type PictureFile = Pick<File, "name" | "type" | "webkitRelativePath">;

/** The pictures among files, and the class of each: the folder that it lies in. */
export function picturesOf<F extends PictureFile>(files: readonly F[]): { pictures: F[]; classes: string[]; labels: Uint8Array } {
  const pictures = files.filter(({ name, type }) => type.startsWith("image/") || /\.(png|jpe?g|webp|gif|bmp)$/i.test(name));
  const folders = pictures.map((file) => (file.webkitRelativePath || file.name).split("/").at(-2) ?? "");
  const classes = [...new Set(folders)].sort();
  if (classes.length < 2) {
    throw new Error(
      `${counted(pictures.length, "picture")} in ${counted(classes.length, "folder")}: put the pictures of each class into a folder of its own`,
    );
  }
  if (classes.length > MOST_CLASSES) throw new Error(`${classes.length} folders: at most ${MOST_CLASSES} can be classes`);
  return { pictures, classes, labels: Uint8Array.from(folders, (folder) => classes.indexOf(folder)) };
}

/** Puts a picture of red, green, blue and opacity pixel by pixel into `into`, channel by channel; one channel is grey. */
export function toPlanes(rgba: Uint8ClampedArray, channels: 1 | 3, into: Uint8Array): void {
  const area = rgba.length / 4;
  for (let place = 0; place < area; place += 1) {
    const [red = 0, green = 0, blue = 0] = rgba.subarray(place * 4, place * 4 + 3);
    if (channels === 1) into[place] = Math.round(0.299 * red + 0.587 * green + 0.114 * blue);
    else for (const [channel, value] of [red, green, blue].entries()) into[channel * area + place] = value;
  }
}
