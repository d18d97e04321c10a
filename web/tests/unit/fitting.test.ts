import assert from "node:assert/strict";
import { test } from "node:test";
import { fitBack, fitChange, fitting } from "../../src/work/fitting.js";
import { MODELS } from "../../src/work/layers.js";

test("the last layer gets as many outputs as there are classes, the others stay", () => {
  const fits = { shape: [1, 28, 28], outputs: 3, items: 1000 };
  assert.equal(fitting(fits, MODELS.cnn).layers, MODELS.cnn.replace(/10$/, "3"));
  assert.equal(fitting(fits, "flatten_linear-7_relu_linear-10").layers, "flatten_linear-7_relu_linear-3");
});

test("layers that cannot read the items give way to a perceptron", () => {
  assert.equal(fitting({ shape: [4], outputs: 1, items: 100 }, MODELS.cnn).layers, "flatten_linear-128_relu_linear-1");
  assert.equal(fitting({ shape: [4], outputs: 2, items: 100 }, "linear-2_relu").layers, "linear-2_relu");
});

test("batch and epochs follow the number of items", () => {
  const of = (items: number) => {
    const { batch, epochs } = fitting({ shape: [4], outputs: 2, items }, MODELS.mlp);
    return [batch, epochs];
  };
  assert.deepEqual(
    [of(20), of(105), of(1000), of(60_000)],
    [
      [8, 200],
      [8, 58],
      [64, 50],
      [64, 3],
    ],
  );
});

test("what somebody has chosen stays, what was fitted before is fitted again", () => {
  const initial = { layers: "a", batch: 64, epochs: 3 };
  const fitted = { layers: "b", batch: 8, epochs: 50 };
  assert.deepEqual(fitChange(initial, fitted, initial, undefined), fitted);
  assert.deepEqual(fitChange({ ...initial, batch: 16 }, fitted, initial, undefined), { layers: "b", epochs: 50 });
  assert.deepEqual(fitChange({ ...initial, batch: 16, epochs: 9 }, fitted, initial, { layers: "c", batch: 16, epochs: 8 }), {
    layers: "b",
    batch: 8,
  });
});

test("what was fitted goes back to what it was, what somebody has changed since stays", () => {
  const [before, fitted] = [
    { layers: "a", batch: 64, epochs: 3 },
    { layers: "b", batch: 8, epochs: 50 },
  ];
  assert.deepEqual(fitBack(fitted, fitted, before), before);
  assert.deepEqual(fitBack({ ...fitted, epochs: 9 }, fitted, before), { layers: "a", batch: 64 });
});
