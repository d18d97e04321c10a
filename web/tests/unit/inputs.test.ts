import assert from "node:assert/strict";
import { test } from "node:test";
import { inputOfInk } from "../../src/work/inputs.js";
import { toPlanes } from "../../src/work/prepare.js";

/** A sheet of 8 × 8 with ink in its upper left quarter. */
const ink = {
  width: 8,
  height: 8,
  values: Float32Array.from({ length: 64 }, (_, at) => (at % 8 < 4 && at < 32 ? 1 : 0)),
};

test("a drawing for pictures is dark ink on light paper where it was drawn, or swapped", () => {
  const about = { shape: [1, 2, 2], preparation: { kind: "picture" } } as const;
  assert.deepEqual([...(inputOfInk(ink, about) ?? [])], [0, 1, 1, 1]);
  assert.deepEqual([...(inputOfInk(ink, about, true) ?? [])], [1, 0, 0, 0]);
  assert.deepEqual([...(inputOfInk(ink, { ...about, shape: [3, 2, 2] }) ?? [])], [0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1]);
  assert.equal(inputOfInk({ ...ink, values: new Float32Array(64) }, about), undefined);
});

test("a drawing for digits is centred", () => {
  const pixels = inputOfInk(ink, { shape: [1, 28, 28], preparation: { kind: "ink" } }) ?? new Float32Array();
  const inked = [...pixels.keys()].filter((at) => (pixels[at] ?? 0) > 0.5);
  const [x, y] = [inked.map((at) => at % 28), inked.map((at) => Math.floor(at / 28))];
  assert.deepEqual([Math.min(...x), Math.max(...x), Math.min(...y), Math.max(...y)], [4, 23, 4, 23]);
});

test("pixels become planes, and grey is the eye's", () => {
  const rgba = Uint8ClampedArray.of(255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255);
  const [grey, colour] = [new Uint8Array(4), new Uint8Array(12)];
  toPlanes(rgba, 1, grey);
  toPlanes(rgba, 3, colour);
  assert.deepEqual([...grey], [76, 150, 29, 255]);
  assert.deepEqual([...colour], [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255]);
});
