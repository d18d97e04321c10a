import assert from "node:assert/strict";
import { test } from "node:test";
import {
  checkLayers,
  LAYER_KINDS,
  type LayerSpec,
  MODELS,
  modelFor,
  nameOf,
  newLayer,
  readLayers,
  writeLayers,
  written,
} from "../../src/work/layers.js";

const list = (text: string): LayerSpec[] => {
  const layers = readLayers(text);
  assert.ok(layers, `${text} can be read`);
  return layers;
};
const check = (text: string, input: readonly number[], classes: number) => checkLayers(list(text), input, classes);
const shapes = (text: string, input: readonly number[]) => check(text, input, 10).layers.map(({ shape }) => shape?.join("×"));

test("a list is one word and back", () => {
  for (const text of Object.values(MODELS)) assert.equal(writeLayers(list(text)), text);
});

test("every kind of layer can be made new, written and read back", () => {
  for (const kind of LAYER_KINDS) assert.deepEqual(readLayers(writeLayers([newLayer(kind)])), [newLayer(kind)], kind);
});

test("the library's activations are kinds, also by the names of older links", () => {
  for (const kind of ["relu", "gelu", "leakyRelu", "hardswish", "logSoftmax"] as const)
    assert.ok(LAYER_KINDS.includes(kind), kind);
  assert.deepEqual(readLayers("leaky"), [newLayer("leakyRelu")]);
});

test("numbers that are left out have their first values", () => {
  assert.deepEqual(list("conv-8"), [{ kind: "conv", values: [8, 3, 1] }]);
});

test("a probability is read back however small it is", () => {
  for (const p of [0.25, 0.000001, 1e-7]) {
    const again = readLayers(writeLayers([{ kind: "dropout", values: [p] }]));
    assert.ok(again, `${p} can be read`);
    assert.ok(Math.abs((again[0]?.values[0] ?? 1) - p) <= 1e-6, `${p} is ${again[0]?.values[0]}`);
  }
});

test("what is no list is refused: unknown kinds, too many numbers, none that fit", () => {
  for (const text of [
    "lstm-3",
    "linear-0",
    "linear-5000",
    "linear-1.5",
    "linear-x",
    "linear-",
    "dropout-",
    "relu-1",
    "conv-8-3-1-1",
    "toString",
  ]) {
    assert.equal(readLayers(text), undefined, text);
  }
});

test("an empty list is a list", () => {
  assert.deepEqual([readLayers(""), readLayers("__")], [[], []]);
});

test("the shape is followed through convolutions and pooling", () => {
  assert.deepEqual(shapes("conv-16-3-1_conv-8-5-2_maxpool-2_flatten_linear-10", [1, 28, 28]), [
    "16×28×28",
    "8×14×14",
    "8×7×7",
    "392",
    "10",
  ]);
  assert.deepEqual(shapes("residual-8-2_globalpool_linear-10", [3, 9, 9]), ["8×5×5", "8", "10"]);
});

test("parameters are counted as PyTorch counts them", () => {
  const count = (text: string, input: readonly number[]) => check(text, input, 10).parameters;
  assert.equal(count("flatten_linear-128_relu_linear-10", [1, 28, 28]), 101770);
  assert.equal(count("conv-16-3-1", [3, 8, 8]), 16 * 3 * 9 + 16);
  assert.equal(count("batchnorm", [16, 4, 4]), 32);
  // Two convolutions without bias with batch norm; where the shape changes, one of 1 × 1 with batch norm too.
  assert.equal(count("residual-4-1", [4, 8, 8]), 2 * (4 * 4 * 9 + 8));
  assert.equal(count("residual-8-2", [4, 8, 8]), 4 * 8 * 9 + 16 + (8 * 8 * 9 + 16) + (4 * 8 + 16));
});

test("a layer that does not fit is named, with what it gets, and nothing after it is judged", () => {
  const { problem, layers } = check("conv-4_linear-10_relu", [1, 8, 8], 10);
  assert.match(problem ?? "", /^Layer 2, Linear: needs features in a row, and gets 4 × 8 × 8: put Flatten before it/);
  assert.deepEqual(
    layers.map(({ shape, problem }) => [shape !== undefined, problem !== undefined]),
    [
      [true, false],
      [false, true],
      [false, false],
    ],
  );
});

test("pictures are needed where there are pixels, and windows must fit", () => {
  assert.match(check("flatten_conv-4", [1, 8, 8], 10).problem ?? "", /needs a picture .* gets 64/);
  assert.match(check("maxpool-8", [1, 4, 4], 10).problem ?? "", /a window of 8 does not fit into 4 pixels/);
});

test("the last layer must give the classes, and features alone", () => {
  assert.match(check("flatten_linear-9", [1, 8, 8], 10).problem ?? "", /gives 9; there are 10 classes, so it must give 10/);
  assert.match(check("flatten_linear-9", [1, 8, 8], 1).problem ?? "", /there is 1 class, so it must give 1/);
  assert.match(check("conv-10", [1, 8, 8], 10).problem ?? "", /gives 10 × 8 × 8/);
  assert.equal(check("flatten_linear-10", [1, 8, 8], 10).problem, undefined);
  assert.notEqual(check("", [1, 8, 8], 10).problem, undefined);
});

test("a model is known by its list, for any number of classes, until it is changed", () => {
  assert.deepEqual(
    [nameOf(MODELS.cnn), nameOf(modelFor("resnet", 3)), modelFor("mlp", 2)],
    ["cnn", "resnet", "flatten_linear-128_relu_linear-2"],
  );
  assert.equal(nameOf("flatten_linear-64_relu_linear-10"), undefined);
  assert.equal(nameOf(`${MODELS.mlp}_relu`), undefined);
});

test("shapes are written as they are read", () => {
  assert.deepEqual([written([1, 28, 28]), written([10]), written([])], ["1 × 28 × 28", "10", ""]);
});
