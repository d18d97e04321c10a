import assert from "node:assert/strict";
import { test } from "node:test";
import { divide, order } from "../../src/work/divide.js";

test("the order of items is a permutation, and always the same", () => {
  const found = order(100);
  assert.deepEqual(
    [...found].sort((a, b) => a - b),
    [...Array(100).keys()],
  );
  assert.deepEqual(found, order(100));
  assert.notDeepEqual([...found], [...Array(100).keys()]);
});

test("every item is in one part, and every class has its share in each", () => {
  const classes = Array.from({ length: 200 }, (_, at) => (at % 10 === 0 ? 2 : at % 2));
  const parts = divide(classes, { validation: 0.1, test: 0.2 });
  const all = Object.values(parts).flatMap((places) => [...places]);
  assert.deepEqual(
    all.sort((a, b) => a - b),
    [...Array(200).keys()],
  );
  const counts = (places: Uint32Array) => [0, 1, 2].map((label) => [...places].filter((at) => classes[at] === label).length);
  assert.deepEqual(
    [counts(parts.train), counts(parts.validation), counts(parts.test)],
    [
      [56, 70, 14],
      [8, 10, 2],
      [16, 20, 4],
    ],
  );
});

test("the parts have the sizes of the shares where classes are small, and each keeps one item to train with", () => {
  const classes = Array.from({ length: 60 }, (_, at) => at % 20);
  const { train, validation, test: tested } = divide(classes, { validation: 0.1, test: 0.2 });
  assert.deepEqual([train.length, validation.length, tested.length], [42, 6, 12]);
  assert.equal(new Set([...train].map((at) => classes[at])).size, 20);
});

test("parts are mixed, not class by class", () => {
  const { train } = divide(
    Array.from({ length: 100 }, (_, at) => (at < 50 ? 0 : 1)),
    { validation: 0, test: 0.2 },
  );
  const first = [...train].slice(0, 40).filter((at) => at < 50).length;
  assert.ok(first > 10 && first < 30, `${first} of the first 40 are of the first class`);
});

test("too few items, and shares that leave nothing, are refused", () => {
  assert.throws(() => divide(new Uint8Array(9), { validation: 0.1, test: 0.2 }), /10 items or more, and there are 9/);
  assert.throws(() => divide(new Uint8Array(20), { validation: 0.5, test: 0.5 }), /nothing would be left to train with/);
  assert.throws(
    () =>
      divide(
        Uint8Array.from({ length: 12 }, (_, at) => at),
        { validation: 0.1, test: 0.2 },
      ),
    /every class needs two items or more/,
  );
});
