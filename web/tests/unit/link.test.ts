import assert from "node:assert/strict";
import { test } from "node:test";
import { readHash, readQuery, writeQuery } from "../../src/app/url.js";
import { promiseOf, settingsHash } from "../../src/work/link.js";
import { trainSchema, type TrainSettings } from "../../src/work/settings.js";

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

test("a link carries all settings at once, those that are as at the beginning too, and the device", () => {
  assert.deepEqual(throughLink(OTHERS, "cpu"), { settings: OTHERS, device: "cpu" });
  const said = readHash(settingsHash(initial, undefined)).query;
  assert.deepEqual([...said.keys()].sort(), Object.keys(trainSchema).sort());
  assert.equal(said.toString(), writeQuery(trainSchema, initial, true).toString());
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
