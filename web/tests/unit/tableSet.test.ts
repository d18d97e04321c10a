import assert from "node:assert/strict";
import { test } from "node:test";
import { SHARES } from "../../src/work/divide.js";
import { preparedRow, restored } from "../../src/work/prepare.js";
import { readTable } from "../../src/work/table.js";
import { guessChoices, tableSet, type TableChoices } from "../../src/work/tableSet.js";

const csv = (columns: Record<string, (number | string)[]>) => {
  const names = Object.keys(columns);
  const rows = (columns[names[0] ?? ""] ?? []).map((_, row) => names.map((name) => columns[name]?.[row]).join(","));
  return [names.join(","), ...rows].join("\n");
};
const make = (text: string, choices: Partial<TableChoices> = {}) => {
  const table = readTable(text);
  return tableSet("a.csv", table, { ...guessChoices(table, SHARES), ...choices });
};
const many = (count: number) => Array.from({ length: count }, (_, at) => at % 3);

test("the column to learn is the one that is called so, else the last", () => {
  const rows = many(20);
  const named = make(csv({ Label: rows.map((row) => "abc"[row] ?? ""), x: rows, y2: rows }));
  assert.deepEqual([named.name, named.shape, named.classes], ["a.csv", [2], ["a", "b", "c"]]);
  const last = make(csv({ x: rows, kind: rows.map((row) => (row === 0 ? "no" : "yes")) }));
  assert.deepEqual([last.shape, last.classes], [[1], ["no", "yes"]]);
});

test("classes that are numbers are in their order", () => {
  assert.deepEqual(make(csv({ x: many(30), label: many(30).map((at) => [2, 10, 1][at] ?? 0) })).classes, ["1", "2", "10"]);
});

test("a column of many numbers is predicted, one of few is classes", () => {
  const rows = Array.from({ length: 100 }, (_, at) => at);
  const task = (values: number[]) => guessChoices(readTable(csv({ x: rows, y: values })), SHARES).task;
  assert.deepEqual([task(rows.map((at) => at * 1.5)), task(rows.map((at) => at % 20))], ["number", "classes"]);
});

test("a number is learnt with mean 0 and deviation 1 of the training rows, and is restored", () => {
  const rows = Array.from({ length: 100 }, (_, at) => at);
  const set = make(csv({ x: rows, price: rows.map((at) => 1000 + 10 * at) }));
  assert.ok(set.number !== undefined && set.train.labels instanceof Float32Array);
  const { number, train } = set;
  const mean = Array.from(train.labels).reduce((sum, value) => sum + value, 0) / train.labels.length;
  assert.ok(Math.abs(mean) < 1e-6, String(mean));
  assert.deepEqual([set.classes, number.name], [[], "price"]);
  // The single input is x by the same rule: both have the same place in their ranges.
  for (const [item, label] of train.labels.entries()) {
    assert.ok(Math.abs((train.items[item] ?? 0) - label) < 1e-5);
    const restoredPrice = restored(label, number);
    assert.ok(Math.abs(restoredPrice / 10 - Math.round(restoredPrice / 10)) < 1e-3, String(restoredPrice));
  }
});

test("a row that is typed becomes what the same row was in training", () => {
  const rows = Array.from({ length: 40 }, (_, at) => at);
  const text = csv({ a: rows.map((at) => at * 3), b: rows.map((at) => (at * at) % 17), label: rows.map((at) => `c${at % 2}`) });
  const set = make(text);
  assert.ok(set.preparation.kind === "table");
  const typed = rows.map((at) => preparedRow([String(at * 3), String((at * at) % 17)], set.preparation as never));
  const trained = Array.from({ length: set.train.labels.length }, (_, item) => [
    ...set.train.items.subarray(2 * item, 2 * item + 2),
  ]);
  for (const item of trained)
    assert.ok(
      typed.some((row) => row[0] === item[0] && row[1] === item[1]),
      item.join(),
    );
});

test("means and deviations are those of the training rows alone", () => {
  const set = make(csv({ x: Array.from({ length: 50 }, (_, at) => at ** 2), label: many(50) }));
  const items = Array.from(set.train.items);
  const mean = items.reduce((sum, value) => sum + value, 0) / items.length;
  const square = items.reduce((sum, value) => sum + value * value, 0) / items.length;
  assert.ok(Math.abs(mean) < 1e-6 && Math.abs(square - 1) < 1e-5, `${mean}, ${square}`);
});

test("large numbers are as exact as small ones, and a constant column becomes 0", () => {
  const rows = Array.from({ length: 100 }, (_, at) => at % 4);
  const set = make(csv({ a: rows, b: rows.map((at) => 100_000_000 + at), c: rows.map(() => 7), label: rows }));
  for (let item = 0; item < set.train.labels.length; item += 1) {
    const [a = 0, b = 0, c] = set.train.items.subarray(3 * item, 3 * item + 3);
    assert.ok(Math.abs(a - b) < 1e-5 && c === 0, `${a}, ${b}, ${c}`);
  }
});

test("as many columns as a square has pixels are a picture, of bytes or of shares; other numbers are not", () => {
  const columns = (scale: number, first: number) =>
    Object.fromEntries(
      Array.from({ length: 64 }, (_, at) => [`p${at}`, many(20).map((row) => (at === 0 ? first : row) / scale)]),
    );
  const bytes = make(csv({ ...columns(1, 255), label: many(20) }));
  assert.deepEqual([bytes.shape, bytes.train.items[0], bytes.preparation.kind], [[1, 8, 8], 1, "picture"]);
  assert.equal(make(csv({ ...columns(255, 255), label: many(20) })).train.items[0], 1);
  assert.deepEqual(make(csv({ ...columns(1, -3), label: many(20) })).shape, [64]);
});

test("a cell without a number is named as a spreadsheet counts, the header and blank lines too", () => {
  const wrong = (cell: string, at: number, blank = "") => {
    const lines = csv({ x: many(20), width: many(20).map((value, row) => (row === at ? cell : value)), label: many(20) }).split(
      "\n",
    );
    return [lines[0], ...blank, ...lines.slice(1)].join("\n");
  };
  const message = (text: string) => {
    try {
      make(text);
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.equal(message(wrong("", 15)), "row 17, column “width” is empty");
  assert.equal(message(wrong("", 15, "  ")), "row 19, column “width” is empty");
  assert.equal(message(wrong("wide", 0)), "row 2, column “width” is not a number: “wide”");
  assert.equal(message(wrong("nan", 3)), "row 5, column “width” is missing: “nan”");
  assert.equal(message(wrong("1e50", 3)), "row 5, column “width” is too large: 1e50");
  for (const cell of ["-1.5", "+2", ".5", "3.", "1e-3"]) assert.equal(message(wrong(cell, 3)), "", cell);
});

test("a row without a label is named, and a class may be called none", () => {
  const labels = many(20).map((value, row) => (row === 4 ? "" : String(value)));
  assert.throws(() => make(csv({ x: many(20), label: labels })), { message: "row 6, column “label” is empty" });
  assert.deepEqual(make(csv({ x: many(20), label: many(20).map((at) => ["none", "NA", "red"][at] ?? "") })).classes, [
    "NA",
    "none",
    "red",
  ]);
});

test("rows with gaps are dropped or filled with the mean, as one likes, and a gap in what is learnt is dropped", () => {
  const x = Array.from({ length: 40 }, (_, at) => (at % 4 === 0 ? "NA" : String(at)));
  const label = Array.from({ length: 40 }, (_, at) => (at === 5 ? "" : `c${at % 2}`));
  const size = (set: ReturnType<typeof make>) =>
    set.train.labels.length + (set.validation?.labels.length ?? 0) + set.test.labels.length;
  const dropped = make(csv({ x, label }), { missing: "drop" });
  assert.deepEqual([size(dropped), dropped.notes], [29, ["11 rows with missing cells left out"]]);
  const filled = make(csv({ x, label }), { missing: "fill" });
  assert.deepEqual([size(filled), filled.notes], [39, ["1 row with missing cells left out"]]);
  assert.equal([...filled.train.items].filter((value) => value === 0).length > 0, true);
  assert.ok(filled.preparation.kind === "table");
  assert.deepEqual([...preparedRow([""], filled.preparation)], [0]);
});

test("words are left out and said, columns may be left out, and something must remain", () => {
  const text = csv({ name: many(20).map((at) => `n${at}`), x: many(20), y: many(20), label: many(20) });
  const set = make(text);
  assert.deepEqual([set.shape, set.notes], [[2], ["not learnt from: name"]]);
  assert.deepEqual(make(text, { leftOut: ["name", "y"] }).shape, [1]);
  assert.throws(() => make(text, { leftOut: ["name", "x", "y"] }), /needs a column to learn and columns of numbers/);
  assert.throws(() => make(text, { leftOut: [] }), { message: "row 2, column “name” is not a number: “n0”" });
});

test("too many classes are refused", () => {
  const rows = Array.from({ length: 300 }, (_, at) => at);
  assert.throws(() => make(csv({ x: rows, label: rows.map((at) => `w${at}`) })), /has 300 different labels; at most 256/);
});

test("a decimal comma is read where it does not divide", () => {
  const set = tableSet(
    "a.csv",
    readTable(
      `x;label\n${many(20)
        .map((at) => `${at},5;c${at}`)
        .join("\n")}`,
    ),
    {
      target: "label",
      task: "classes",
      leftOut: [],
      missing: "refuse",
      ...SHARES,
    },
  );
  assert.ok(set.preparation.kind === "table" && set.preparation.decimalComma);
  assert.deepEqual([...preparedRow(["1,5"], set.preparation)], [...preparedRow(["1.5"], set.preparation)]);
  assert.throws(() => preparedRow(["1,5,5"], set.preparation as never), { message: "“x” is not a number: “1,5,5”" });
});
