import assert from "node:assert/strict";
import { test } from "node:test";
import { readHash, readQuery, writeQuery } from "../../src/app/url.js";
import { promiseOf, settingsHash } from "../../src/work/link.js";
import { shortLayers } from "../../src/work/layers.js";
import { PRESETS, trainSchema, type TrainSettings } from "../../src/work/settings.js";

const initial = readQuery(trainSchema, new URLSearchParams());

/** A value of every setting that is not the one to begin with. */
const OTHERS: TrainSettings = {
  data: "csv",
  items: 500,
  layers: "flatten_linear-32_tanh_dropout-0.25_linear-10",
  optimizer: "lion",
  lr: 0.000123456789,
  rates: [
    { step: 0, lr: 0.5 },
    { step: 137, lr: 1e-7 },
  ],
  decay: 0.1,
  batch: 17,
  epochs: 9,
  steps: 1234,
  seed: 4294967295,
  shift: 2.5,
  zoom: 0.15,
  noise: 0.05,
  mirror: true,
  amp: true,
};

const throughLink = (settings: TrainSettings, device?: "cpu") => {
  const { page, query } = readHash(new URL(`http://host/folder/${settingsHash(settings, device)}`).hash);
  assert.equal(page, "train");
  return { settings: readQuery(trainSchema, query), device: query.get("device") };
};

test("every setting is in the table of this test", () => {
  assert.deepEqual(Object.keys(OTHERS).sort(), Object.keys(trainSchema).sort());
});

for (const name of Object.keys(trainSchema) as (keyof TrainSettings)[]) {
  test(`a link carries the setting ${name}`, () => {
    assert.notDeepEqual(OTHERS[name], initial[name], "the table says what is there anyway");
    const settings = { ...initial, [name]: OTHERS[name] };
    assert.deepEqual(throughLink(settings).settings, settings);
  });
}

test("a link carries all settings at once, and the device", () => {
  assert.deepEqual(throughLink(OTHERS, "cpu"), { settings: OTHERS, device: "cpu" });
});

test("a link leaves out what is as at the beginning", () => {
  assert.equal(settingsHash(initial, undefined), "#/train");
  assert.equal(settingsHash({ ...initial, seed: 4 }, "cpu"), "#/train?seed=4&device=cpu");
  for (const name of Object.keys(trainSchema) as (keyof TrainSettings)[]) {
    const { query } = readHash(settingsHash({ ...initial, [name]: OTHERS[name] }, undefined));
    assert.deepEqual([...query.keys()], [name]);
  }
});

test("settings to begin with are part of what links in the world mean: they stay", () => {
  assert.equal(
    writeQuery(trainSchema, initial, true).toString(),
    "data=mnist&items=0&layers=flatten_linear_relu_linear-10&optimizer=adam&lr=0.001&rates=&decay=0&batch=64&epochs=3&steps=0&seed=1&shift=0&zoom=0&noise=0&mirror=0&amp=0",
  );
});

test("layers are short in a link and whole behind it", () => {
  for (const preset of PRESETS) {
    const settings = { ...initial, ...preset.settings };
    assert.deepEqual(throughLink(settings).settings, settings, preset.name);
  }
  const cnn = PRESETS.find(({ name }) => name === "Convolutions");
  assert.equal(
    settingsHash({ ...initial, ...cnn?.settings }, undefined),
    "#/train?layers=conv-16_relu_maxpool_conv_relu_maxpool_flatten_linear-64_relu_dropout_linear-10",
  );
  assert.equal(shortLayers("conv-32-3-2_conv-8-3-1_dropout-0_linear-128"), "conv-32-3-2_conv-8_dropout-0_linear");
});

test("repetition is promised where everything that decides the run is in the link, and nowhere else", () => {
  const run = { settings: initial, device: "cpu", begunWith: undefined, changedDevice: false, seams: [] } as const;
  assert.deepEqual(promiseOf(run), {
    repeats: true,
    sentences: ["It repeats this run, number for number, on the CPU of any machine."],
  });
  assert.match(promiseOf({ ...run, seams: [57] }).sentences.join(" "), /Only the point after step 57/);
  for (const [other, words] of [
    [{ settings: { ...initial, data: "folder" } }, "The data stay"],
    [{ begunWith: "mine.safetensors" }, "The weights of mine.safetensors"],
    [{ changedDevice: true }, "another device"],
  ] as const) {
    const { repeats, sentences } = promiseOf({ ...run, ...other });
    assert.equal(repeats, false);
    assert.match(sentences.join(" "), new RegExp(words));
    assert.doesNotMatch(sentences.join(" "), /number for number/);
  }
});
