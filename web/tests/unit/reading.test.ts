import assert from "node:assert/strict";
import { test } from "node:test";
import type { data } from "flambeau";
import { divide, type IdxFile, idxSet, order, picturesOf, standardised, tableSet, toPlanes } from "../../src/work/reading.js";

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

/** A table as the package's `readCsv` gives one. */
function table(columns: Record<string, (number | string)[]>): data.Table {
  const of = (name: string) => columns[name] ?? [];
  const names = Object.keys(columns);
  return {
    names,
    length: of(names[0] ?? "").length,
    text: (name) => of(name).map(String),
    numbers: (...wanted) => {
      const rows = of(wanted[0] ?? "").length;
      const values = Float32Array.from({ length: rows * wanted.length }, (_, at) => {
        const cell = of(wanted[at % wanted.length] ?? "")[Math.floor(at / wanted.length)] ?? "";
        if (cell === "" || cell === "nan") return Number.NaN;
        if (Number.isNaN(Number(cell))) throw new Error(`flambeau: CSV data: \`${cell}\` is not a number`);
        return Number(cell);
      });
      return { data: values, shape: [rows, wanted.length], dtype: "f32" };
    },
    classes: (name) => {
      const words = [...new Set(of(name).map(String))].sort();
      const numbers = BigInt64Array.from(of(name), (word) => BigInt(words.indexOf(String(word))));
      return { labels: { data: numbers, shape: [numbers.length], dtype: "i64" }, names: words };
    },
  };
}

test("the order of items is a permutation, and always the same", () => {
  const found = order(100);
  assert.deepEqual(
    [...found].sort((a, b) => a - b),
    [...Array(100).keys()],
  );
  assert.deepEqual(found, order(100));
  assert.notDeepEqual([...found], [...Array(100).keys()]);
});

test("a fifth is kept back for tests, and items keep their labels", () => {
  const items = Float32Array.from({ length: 40 }, (_, at) => Math.floor(at / 2));
  const { train, test: tested } = divide({ items, labels: Uint8Array.from({ length: 20 }, (_, at) => at) }, 2);
  assert.deepEqual([train.labels.length, tested.labels.length], [16, 4]);
  for (const part of [train, tested]) {
    assert.ok(part.items instanceof Float32Array);
    for (const [place, label] of part.labels.entries()) {
      assert.deepEqual([...part.items.subarray(2 * place, 2 * place + 2)], [label, label]);
    }
  }
  assert.deepEqual(
    [...train.labels, ...tested.labels].sort((a, b) => a - b),
    [...Array(20).keys()],
  );
});

test("too few items are refused", () => {
  assert.throws(
    () => divide({ items: new Uint8Array(9), labels: new Uint8Array(9) }, 1),
    /10 items or more, and the files have 9/,
  );
});

test("two idx files are divided, whatever they are called", () => {
  const set = idxSet([labels(many(20), "train-labels"), pictures(20, "test-pictures")]);
  assert.deepEqual(
    [set.shape, set.classes, set.train.labels.length, set.test.labels.length],
    [[1, 2, 2], ["0", "1", "2"], 16, 4],
  );
});

test("four idx files are told apart by their names", () => {
  const files = [
    pictures(3, "t10k-images"),
    labels(many(12), "train-labels"),
    pictures(12, "train-images"),
    labels([2, 1, 0], "t10k-labels"),
  ];
  const set = idxSet(files);
  assert.deepEqual([set.train.labels.length, [...set.test.labels]], [12, [2, 1, 0]]);
});

test("a class that only the test items have is a class", () => {
  const files = [pictures(3, "test-x"), labels(many(12), "train-y"), pictures(12, "train-x"), labels([0, 1, 6], "test-y")];
  assert.equal(idxSet(files).classes.length, 7);
});

test("idx files that do not belong together are refused by name", () => {
  assert.throws(() => idxSet([pictures(12, "x"), labels(many(11), "y")]), /x has 12 pictures, y has 11 labels/);
  assert.throws(() => idxSet([pictures(12), pictures(12)]), /the training labels are missing/);
  assert.throws(
    () => idxSet([pictures(12, "train-x"), labels(many(12), "train-y"), pictures(3, "test-x")]),
    /the test labels are missing/,
  );
});

test("names of classes are taken where they are given, and colour pictures keep their channels", () => {
  const colour: IdxFile = { name: "x", values: new Uint8Array(12 * 12), shape: [12, 3, 2, 2] };
  const set = idxSet([colour, labels(many(12))], ["T-shirt", "Trouser", "Coat", "Bag"]);
  assert.deepEqual([set.name, set.shape, set.classes], ["Fashion-MNIST", [3, 2, 2], ["T-shirt", "Trouser", "Coat", "Bag"]]);
});

test("a table's labels are the column that is called so, else the last", () => {
  const rows = many(20);
  const named = tableSet("a.csv", table({ Label: rows.map((row) => "abc"[row] ?? ""), x: rows, y2: rows }));
  assert.deepEqual([named.name, named.shape, named.classes], ["a.csv", [2], ["a", "b", "c"]]);
  const last = tableSet("b.csv", table({ x: rows, kind: rows.map((row) => (row === 0 ? "no" : "yes")) }));
  assert.deepEqual([last.shape, last.classes], [[1], ["no", "yes"]]);
});

test("as many columns as a square has pixels are a picture, of bytes or of shares", () => {
  const columns = Object.fromEntries(
    Array.from({ length: 64 }, (_, at) => [`p${at}`, many(20).map((row) => (at === 0 ? 255 : row))]),
  );
  const bytes = tableSet("p.csv", table({ ...columns, label: many(20) }));
  assert.deepEqual([bytes.shape, bytes.train.items[0]], [[1, 8, 8], 1]);
  const shares = Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values.map((value) => value / 255)]));
  assert.equal(tableSet("s.csv", table({ ...shares, label: many(20) })).train.items[0], 1);
});

test("a table without numbers, or with too many classes, is refused", () => {
  assert.throws(() => tableSet("a.csv", table({ label: many(20) })), /needs a column of labels and columns of numbers/);
  const words = Array.from({ length: 300 }, (_, at) => `w${at}`);
  assert.throws(
    () => tableSet("a.csv", table({ x: words.map((_, at) => at), label: words })),
    /has 300 different labels; at most 256/,
  );
});

test("a cell without a number is named as a spreadsheet counts, the header too", () => {
  const wrong = (cell: string, at: number) =>
    table({ x: many(20), width: many(20).map((value, row) => (row === at ? cell : value)), label: many(20) });
  assert.throws(() => tableSet("a.csv", wrong("", 15)), { message: "row 17, column “width” is empty" });
  assert.throws(() => tableSet("a.csv", wrong("wide", 0)), { message: "row 2, column “width” is not a number: “wide”" });
  assert.throws(() => tableSet("a.csv", wrong("nan", 3)), { message: "row 5, column “width” is not a number: “nan”" });
  assert.throws(() => tableSet("a.csv", wrong("1e50", 3)), { message: "row 5, column “width” is too large: 1e50" });
  for (const cell of ["-1.5", "+2", ".5", "3.", "1e-3"]) assert.equal(tableSet("a.csv", wrong(cell, 3)).classes.length, 3, cell);
});

test("a row without a label is named", () => {
  const labels = many(20).map((value, row) => (row === 4 ? "" : value));
  assert.throws(() => tableSet("a.csv", table({ x: many(20), label: labels })), { message: "row 6, column “label” is empty" });
});

test("columns get mean 0 and deviation 1, and a constant column becomes 0", () => {
  const made = standardised(Float32Array.of(1, 7, 3, 7, 5, 7, 7, 7), 2);
  const [first, second] = [0, 1].map((column) => [...made].filter((_, at) => at % 2 === column));
  assert.deepEqual(second, [0, 0, 0, 0]);
  const mean = (values: number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;
  assert.ok(Math.abs(mean(first ?? [])) < 1e-6);
  assert.ok(Math.abs(mean((first ?? []).map((value) => value * value)) - 1) < 1e-6);
});

test("a column of large numbers is as exact as one of small ones", () => {
  const rows = 1000;
  const small = Float32Array.from({ length: rows }, (_, at) => at % 4);
  const large = small.map((value) => value * 8 + 100_000_000);
  const [a, b] = [standardised(small, 1), standardised(large, 1)];
  for (const [place, value] of a.entries()) assert.ok(Math.abs(value - (b[place] ?? 0)) < 1e-5, `${value} and ${b[place]}`);
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

test("pixels become planes, and grey is the eye's", () => {
  const rgba = Uint8ClampedArray.of(255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255);
  const [grey, colour] = [new Uint8Array(4), new Uint8Array(12)];
  toPlanes(rgba, 1, grey);
  toPlanes(rgba, 3, colour);
  assert.deepEqual([...grey], [76, 150, 29, 255]);
  assert.deepEqual([...colour], [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255]);
});
