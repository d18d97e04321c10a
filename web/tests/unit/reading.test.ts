import assert from "node:assert/strict";
import { test } from "node:test";
import { SHARES } from "../../src/work/divide.js";
import { dividePictures, type IdxFile, idxSet, picturesOf } from "../../src/work/reading.js";

const pictures = (count: number, name = "pictures", side = 2): IdxFile => ({
  name,
  values: Uint8Array.from({ length: count * side * side }, (_, at) => Math.floor(at / (side * side))),
  shape: [count, side, side],
});
const labels = (values: number[], name = "labels"): IdxFile => ({
  name,
  values: Uint8Array.from(values),
  shape: [values.length],
});
const many = (count: number) => Array.from({ length: count }, (_, at) => at % 3);

test("pictures keep their labels, whichever part they are in", () => {
  const items = Uint8Array.from({ length: 40 }, (_, at) => Math.floor(at / 2) % 5);
  const parts = dividePictures({ items, labels: Uint8Array.from({ length: 20 }, (_, at) => at % 5) }, 2, SHARES);
  for (const part of Object.values(parts)) {
    for (const [place, label] of part.labels.entries())
      assert.deepEqual([...part.items.subarray(2 * place, 2 * place + 2)], [label, label]);
  }
  assert.deepEqual(
    Object.values(parts).map(({ labels }) => labels.length),
    [14, 2, 4],
  );
});

test("two idx files are divided, whatever they are called", () => {
  const set = idxSet([labels(many(20), "train-labels"), pictures(20, "test-pictures")], SHARES);
  assert.deepEqual(
    [set.shape, set.classes, set.train.labels.length, set.validation?.labels.length, set.test.labels.length],
    [[1, 2, 2], ["0", "1", "2"], 14, 2, 4],
  );
});

test("four idx files are told apart by their names", () => {
  const files = [
    pictures(3, "t10k-images"),
    labels(many(12), "train-labels"),
    pictures(12, "train-images"),
    labels([2, 1, 0], "t10k-labels"),
  ];
  const set = idxSet(files, SHARES);
  assert.deepEqual([set.train.labels.length, [...set.test.labels], set.isDivided], [12, [2, 1, 0], true]);
});

test("a class that only the test items have is a class", () => {
  const files = [pictures(3, "test-x"), labels(many(12), "train-y"), pictures(12, "train-x"), labels([0, 1, 6], "test-y")];
  assert.equal(idxSet(files, SHARES).classes.length, 7);
});

test("idx files that do not belong together are refused by name", () => {
  assert.throws(() => idxSet([pictures(12, "x"), labels(many(11), "y")], SHARES), /x has 12 pictures, y has 11 labels/);
  assert.throws(() => idxSet([pictures(12), pictures(12)], SHARES), /the training labels are missing/);
  assert.throws(
    () => idxSet([pictures(12, "train-x"), labels(many(12), "train-y"), pictures(3, "test-x")], SHARES),
    /the test labels are missing/,
  );
});

test("names of classes are taken where they are given, and colour pictures keep their channels", () => {
  const colour: IdxFile = { name: "x", values: new Uint8Array(12 * 12), shape: [12, 3, 2, 2] };
  const set = idxSet([colour, labels(many(12))], SHARES, ["T-shirt", "Trouser", "Coat", "Bag"]);
  assert.deepEqual([set.name, set.shape, set.classes], ["Fashion-MNIST", [3, 2, 2], ["T-shirt", "Trouser", "Coat", "Bag"]]);
});

test("pictures are known by type or ending, and their folder is their class", () => {
  const file = (path: string, type = "") => ({ name: path.split("/").at(-1) ?? "", type, webkitRelativePath: path });
  const found = picturesOf([
    file("set/dog/1.PNG"),
    file("set/cat/2.jpeg"),
    file("set/cat/notes.txt"),
    file("set/dog/3", "image/x-unusual"),
    file("set/cat/4.bmp"),
  ]);
  assert.deepEqual(
    [found.pictures.map(({ name }) => name), found.classes, [...found.labels]],
    [
      ["1.PNG", "2.jpeg", "3", "4.bmp"],
      ["cat", "dog"],
      [1, 0, 1, 0],
    ],
  );
  assert.throws(() => picturesOf([file("set/dog/1.png")]), /1 picture in 1 folder:/);
});
