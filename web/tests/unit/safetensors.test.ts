import assert from "node:assert/strict";
import { test } from "node:test";
import { aboutModel, metadataOf } from "../../src/work/about.js";
import { MODELS } from "../../src/work/layers.js";
import { readHead } from "../../src/work/safetensors.js";

/** A file with this head and so many bytes behind it. */
function file(head: unknown, bytes: number): Uint8Array {
  const text = new TextEncoder().encode(typeof head === "string" ? head : JSON.stringify(head));
  const made = new Uint8Array(8 + text.length + bytes);
  new DataView(made.buffer).setBigUint64(0, BigInt(text.length), true);
  made.set(text, 8);
  return made;
}
const weight = (shape: number[], end = 8) => ({ dtype: "F32", shape, data_offsets: [0, end] });

test("a head says which tensors a file holds, and what was written about them", () => {
  const { tensors, metadata } = readHead(file({ __metadata__: { format: "pt" }, "1.weight": weight([1, 2]) }, 8));
  assert.deepEqual([tensors, metadata], [[{ name: "1.weight", dtype: "F32", shape: [1, 2] }], { format: "pt" }]);
});

test("a file may lie in the middle of a buffer", () => {
  const whole = file({ a: weight([2]) }, 8);
  const inside = new Uint8Array(whole.length + 5);
  inside.set(whole, 5);
  assert.equal(readHead(inside.subarray(5)).tensors.length, 1);
});

test("what is no safetensors file is said to be none", () => {
  assert.throws(() => readHead(new Uint8Array(7)), /this is no safetensors file: it has only 7 bytes/);
  assert.throws(
    () => readHead(new TextEncoder().encode("this is only some text, not a model")),
    /does not begin with the length of its head/,
  );
  assert.throws(() => readHead(new Uint8Array(20)), /does not begin with the length/);
});

test("a file that was cut off, or has too much, is damaged", () => {
  const whole = file({ a: weight([2]) }, 8);
  assert.throws(() => readHead(whole.subarray(0, 20)), /its head should have/);
  assert.throws(
    () => readHead(whole.subarray(0, whole.length - 1)),
    new RegExp(`it should have ${whole.length} bytes, and has ${whole.length - 1}`),
  );
  assert.throws(() => readHead(file({ a: weight([2]) }, 9)), /it should have/);
});

test("a head that is no head is damaged, in words", () => {
  for (const head of ["{oops", "null", "[]", "33", '"text"', "\u00ff\u0000"]) {
    assert.throws(() => readHead(file(head, 0)), /^Error: the file (is damaged|holds no tensors)/, head);
  }
});

test("a tensor that is not described is named", () => {
  for (const entry of [null, 3, {}, { dtype: "F32", shape: 3, data_offsets: [0, 1] }, { dtype: "F32", shape: [1] }]) {
    assert.throws(() => readHead(file({ "a.b": entry }, 8)), /the file is damaged: a\.b is not described/, JSON.stringify(entry));
  }
});

test("a file without tensors is refused", () => {
  assert.throws(() => readHead(file({ __metadata__: {} }, 0)), /holds no tensors/);
});

test("a model of ours says its layers, shape and classes", () => {
  const metadata = { layers: "flatten_linear-2", shape: "[1,8,8]", classes: '["a","b"]' };
  const about = aboutModel(file({ __metadata__: metadata, "1.weight": weight([2]) }, 8));
  assert.deepEqual(about, {
    layers: "flatten_linear-2",
    shape: [1, 8, 8],
    classes: ["a", "b"],
    number: undefined,
    preparation: { kind: "ink" },
  });
});

test("a file of another maker is taken for the first of our models that has its names", () => {
  const [flat, pictures] = [weight([1, 2]), weight([1, 1, 1, 2])].map(
    (entry) => aboutModel(file({ "0.weight": entry }, 8)).layers,
  );
  assert.deepEqual([flat, pictures], [MODELS.mlp, MODELS.cnn]);
});

test("metadata that make no sense are another maker's", () => {
  for (const metadata of [
    { layers: "lstm-3", shape: "[1]", classes: "[]" },
    { layers: "flatten", shape: "{oops", classes: "[]" },
    { layers: "flatten", shape: "3", classes: "[]" },
    { layers: "flatten", shape: "[1]", classes: '"ab"' },
  ]) {
    const { layers, shape } = aboutModel(file({ __metadata__: metadata, "1.weight": weight([1, 2]) }, 8));
    assert.deepEqual([layers, shape], [MODELS.mlp, [1, 28, 28]], JSON.stringify(metadata));
  }
});

test("how inputs are prepared and what is predicted travel with the file", () => {
  const of = (set: Parameters<typeof metadataOf>[1], layers: string) =>
    aboutModel(file({ __metadata__: metadataOf(layers, set), "1.weight": weight([2]) }, 8));
  const columns = [
    { name: "width", mean: 2, deviation: 0.5 },
    { name: "hö“he", mean: -1, deviation: 3 },
  ];
  const table = {
    shape: [2],
    classes: [],
    number: { name: "price", mean: 100, deviation: 20 },
    preparation: { kind: "table", columns, fill: true, decimalComma: true },
  } as const;
  assert.deepEqual(of({ ...table, classes: [], preparation: { ...table.preparation, columns } }, "linear-1"), {
    layers: "linear-1",
    ...table,
  });
  const pictures = { shape: [3, 8, 8], classes: ["a", "b"], preparation: { kind: "picture" } } as const;
  assert.deepEqual(of({ ...pictures, classes: ["a", "b"] }, "flatten_linear-2"), {
    layers: "flatten_linear-2",
    ...pictures,
    number: undefined,
  });
});

test("a row's columns have numbers for names where the file does not say them, or says too few", () => {
  for (const preparation of [undefined, '{"kind":"table","columns":[{"name":"a","mean":0,"deviation":1}]}', "oops"]) {
    const metadata = { layers: "linear-2", shape: "[2]", classes: '["a","b"]', ...(preparation && { preparation }) };
    const about = aboutModel(file({ __metadata__: metadata, "0.weight": weight([2]) }, 8));
    assert.ok(about.preparation.kind === "table");
    assert.deepEqual(
      about.preparation.columns.map(({ name }) => name),
      ["input 1", "input 2"],
    );
  }
});
