/** How pictures of one's own become a data set, once their files have been opened: what is a class, what is a picture. */

import { counted } from "../ui/write.js";
import { divide, type Shares } from "./divide.js";
import type { ItemShape } from "./layers.js";
import type { DataSet, Part } from "./messages.js";
import { MOST_CLASSES } from "./tableSet.js";

/** Divides pictures of so many bytes each, class by class. */
export function dividePictures(
  { items, labels }: { items: Uint8Array; labels: Uint8Array },
  size: number,
  shares: Shares,
): Pick<DataSet, "train" | "validation" | "test"> {
  const { train, validation, test } = divide(labels, shares);
  const pick = (from: Uint32Array): Part => {
    const picked = new Uint8Array(from.length * size);
    for (const [index, place] of from.entries()) picked.set(items.subarray(place * size, (place + 1) * size), index * size);
    return { items: picked, labels: Uint8Array.from(from, (place) => labels[place] ?? 0) };
  };
  return { train: pick(train), ...(validation.length > 0 && { validation: pick(validation) }), test: pick(test) };
}

/** An idx file that has been read. */
export interface IdxFile {
  name: string;
  values: Uint8Array;
  shape: readonly number[];
}

/** The set of two idx files, or of four whose names tell training from test; `names` are the classes of Fashion-MNIST. */
export function idxSet(files: readonly IdxFile[], shares: Shares, names?: readonly string[]): DataSet {
  const isTest = ({ name }: IdxFile) => /t10k|test|val/i.test(name);
  const [pictures, labels] = [files.filter(({ shape }) => shape.length >= 3), files.filter(({ shape }) => shape.length === 1)];
  const pair = (tested: boolean, only: boolean) => {
    const what = tested ? "test" : "training";
    const [x, y] = [pictures, labels].map((list) => list.find((file) => only || isTest(file) === tested));
    if (x === undefined || y === undefined)
      throw new Error(`the ${what} ${x === undefined ? "pictures" : "labels"} are missing among the files`);
    const [[pictureCount = 0], [labelCount = 0]] = [x.shape, y.shape];
    if (pictureCount !== labelCount)
      throw new Error(`${x.name} has ${counted(pictureCount, "picture")}, ${y.name} has ${counted(labelCount, "label")}`);
    const [, height = 1, width = 1] = x.shape;
    const shape: ItemShape = x.shape.length === 4 ? x.shape.slice(1) : [1, height, width];
    return { part: { items: x.values, labels: y.values }, shape };
  };
  const whole = files.length === 2;
  const { part: first, shape } = pair(false, whole);
  const size = shape.reduce((product, each) => product * each, 1);
  const parts = whole ? dividePictures(first, size, shares) : { train: first, test: pair(true, false).part };
  const counts = Object.values(parts).map(
    ({ labels }) => Array.from(labels).reduce((most, label) => Math.max(most, label), 0) + 1,
  );
  const classes = Array.from({ length: Math.max(...counts, names?.length ?? 0) }, (_, index) => names?.[index] ?? String(index));
  return {
    name: names === undefined ? "idx files" : "Fashion-MNIST",
    shape,
    classes,
    preparation: { kind: "picture" },
    ...parts,
    isDivided: !whole,
  };
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
