import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery, writeQuery } from "../../src/app/url.js";
import { messageOf } from "../../src/work/errors.js";
import { checkLayers, readLayers } from "../../src/work/layers.js";
import { PRESETS, trainSchema } from "../../src/work/settings.js";

const read = (query: string) => readQuery(trainSchema, new URLSearchParams(query));

test("every preset can be written into an address and read back", () => {
  for (const { name, settings } of PRESETS) {
    const whole = { ...read(""), ...settings };
    assert.deepEqual(read(writeQuery(trainSchema, whole).toString()), whole, name);
  }
});

test("every preset's network fits MNIST", () => {
  for (const { name, settings } of PRESETS) {
    const layers = readLayers(settings.layers ?? "");
    assert.ok(layers);
    assert.equal(checkLayers(layers, [1, 28, 28], 10).problem, undefined, name);
  }
});

test("layers that cannot be read are those to begin with", () => {
  assert.equal(read("layers=flatten_linear-0").layers, read("").layers);
  assert.equal(read("layers=flatten_linear-3").layers, "flatten_linear-3");
});

test("settings beyond what a run can do are not taken from a link", () => {
  const initial = read("");
  assert.deepEqual(read("batch=0&epochs=0&lr=1000&seed=-1&zoom=2&optimizer=magic&data=imagenet"), initial);
});

test("an error is told without the package's name before it", () => {
  assert.deepEqual(
    [messageOf(new Error("flambeau: too much")), messageOf(new Error("a flambeau: b")), messageOf("text")],
    ["too much", "a flambeau: b", "text"],
  );
});
