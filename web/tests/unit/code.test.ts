import assert from "node:assert/strict";
import { test } from "node:test";
import { dataFile } from "../../src/work/code/files.js";
import { type CodeSource, LANGUAGES, programOf } from "../../src/work/code/index.js";
import { placedLayers, ratesOf } from "../../src/work/code/source.js";
import { LAYER_KINDS } from "../../src/work/layers.js";
import { OPTIMIZER_NAMES } from "../../src/work/optimizers.js";
import { readHead } from "../../src/work/safetensors.js";
import { readQuery } from "../../src/app/url.js";
import { trainSchema, type TrainSettings } from "../../src/work/settings.js";

const initial = readQuery(trainSchema, new URLSearchParams());
const source = (settings: Partial<TrainSettings> = {}, others: Partial<CodeSource> = {}): CodeSource => ({
  name: "A run",
  settings: { ...initial, ...settings },
  device: "cpu",
  shape: [1, 28, 28],
  isBytes: true,
  isNumber: false,
  begunWith: undefined,
  ...others,
});
const texts = (of: CodeSource) => LANGUAGES.map(([language]) => programOf(language, of).text);

test("every optimizer and every kind of layer has a place in every language", () => {
  for (const optimizer of OPTIMIZER_NAMES)
    for (const text of texts(source({ optimizer }))) assert.doesNotMatch(text, /undefined|NaN|\[object/, optimizer);
  const layers = LAYER_KINDS.filter((kind) => kind !== "linear" && kind !== "flatten" && kind !== "globalpool").join("_");
  for (const text of texts(source({ layers: `${layers}_globalpool_linear-10` })))
    assert.doesNotMatch(text, /undefined|NaN|\[object/);
});

test("a program has every setting that decides a run", () => {
  const settings: Partial<TrainSettings> = {
    batch: 37,
    epochs: 11,
    steps: 1234,
    seed: 567,
    lr: 0.0421,
    items: 890,
    decay: 0.013,
  };
  for (const text of texts(source(settings)))
    for (const value of Object.values(settings)) assert.ok(text.includes(String(value)), `${value} is not in\n${text}`);
});

test("mixed precision is a scope and a scaler in every language, and pictures are changed in full precision", () => {
  const [javascript = "", rust = "", python = ""] = texts(source({ amp: true, noise: 0.1 }));
  assert.match(javascript, /^ {2}amp: true,$/m);
  assert.match(javascript, /import \{ .*\bautocast\b.* \} from "flambeau"/);
  assert.match(javascript, /autocast\(\(\) => augment\(.*\), \{ enabled: false \}\)/);
  assert.match(rust, /autocast\(true, \|\| outcome\(&model\.forward\(&x\), &labels\)\)/);
  assert.match(
    rust,
    /scaler\.scale\(&loss\)\.backward\(\)\?;\n {12}scaler\.step\(&mut optimizer\)\?;\n {12}scaler\.update\(\)\?;/,
  );
  assert.match(python, /with torch\.autocast\("cpu", dtype=torch\.float16\):\n {12}loss, right = outcome\(model\(x\), y\)/);
  assert.match(python, /scaler\.scale\(loss\)\.backward\(\)\n {8}scaler\.step\(optimizer\)\n {8}scaler\.update\(\)/);
  for (const text of texts(source())) assert.doesNotMatch(text, /amp|autocast|scaler/);
});

test("layers know the shape that they get", () => {
  const placed = placedLayers(source({ layers: "conv-16-3-2_relu_flatten_linear-10" }));
  assert.deepEqual(
    placed.map(({ input }) => input),
    [[1, 28, 28], [16, 14, 14], [16, 14, 14], [3136]],
  );
});

test("rates begin with the first one, unless it is changed before the first step", () => {
  assert.deepEqual(ratesOf({ ...initial, lr: 0.5, rates: [{ step: 9, lr: 0.1 }] }), [
    [0, 0.5],
    [9, 0.1],
  ]);
  assert.deepEqual(ratesOf({ ...initial, lr: 0.5, rates: [{ step: 0, lr: 0.1 }] }), [[0, 0.1]]);
});

test("a number in exponents is one for Rust, and a whole one becomes a float", () => {
  const { text } = programOf("rust", source({ lr: 1e-7, noise: 1 }));
  assert.match(text, /learning_rate: 1e-7,/);
  assert.match(text, /\* 1\.0;/);
});

test("on a GPU the program asks for one, and nothing is promised bit for bit", () => {
  const { text, promise } = programOf("javascript", source({}, { device: "gpu" }));
  assert.match(text, /init\(\{ device: "gpu", gpu: create\(\[\]\) \}\)/);
  assert.doesNotMatch(text, /bit for bit/);
  assert.match(promise, /last digits/);
  assert.match(programOf("rust", source({}, { device: "gpu" })).text, /Device::named\("gpu"\)/);
});

test("quotes in the name of a file do not end a text", () => {
  for (const text of texts(source({}, { begunWith: 'my "best".safetensors' })))
    assert.ok(text.includes('my \\"best\\".safetensors'));
});

test("a name does not get out of its comment", () => {
  for (const text of texts(source({}, { name: "first\nsecond\u2028third", begunWith: "a\r\nfourth" })))
    assert.doesNotMatch(text, /^\s*(second|third|fourth)/mu);
});

test("data of one's own become a safetensors file", async () => {
  const blob = dataFile({
    shape: [2],
    train: { items: Float32Array.of(1, 2, 3, 4), labels: Uint8Array.of(0, 1) },
    test: { items: Float32Array.of(5, 6), labels: Uint8Array.of(1) },
  });
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const { tensors } = readHead(bytes);
  assert.deepEqual(Object.fromEntries(tensors.map(({ name, dtype, shape }) => [name, [dtype, ...shape]])), {
    train_items: ["F32", 2, 2],
    test_items: ["F32", 1, 2],
    train_labels: ["U8", 2],
    test_labels: ["U8", 1],
  });
  const start = bytes.length - 3 - 24;
  assert.deepEqual([...new Float32Array(bytes.slice(start, start + 24).buffer)], [1, 2, 3, 4, 5, 6]);
  assert.deepEqual([...bytes.slice(-3)], [0, 1, 1]);
});
