import assert from "node:assert/strict";
import { test } from "node:test";
import {
  choice,
  flag,
  integer,
  misread,
  number,
  readHash,
  readQuery,
  type Schema,
  text,
  writeHash,
  writeQuery,
} from "../../src/app/url.js";
import { addressOf, remember } from "../../src/app/route.js";

interface Settings {
  rate: number;
  seed: number;
  kind: "mlp" | "cnn";
  mirror: boolean;
  name: string;
}
const schema: Schema<Settings> = {
  rate: number(0.1, 0, 1),
  seed: integer(1, 0, 100),
  kind: choice(["mlp", "cnn"], "mlp"),
  mirror: flag(false),
  name: text("none"),
};
const read = (query: string) => readQuery(schema, new URLSearchParams(query));
const initial: Settings = { rate: 0.1, seed: 1, kind: "mlp", mirror: false, name: "none" };

test("an empty address means the settings to begin with", () => {
  assert.deepEqual(read(""), initial);
});

test("an address says settings, each by its name", () => {
  assert.deepEqual(read("rate=0.5&seed=7&kind=cnn&mirror=1&name=a+b"), {
    rate: 0.5,
    seed: 7,
    kind: "cnn",
    mirror: true,
    name: "a b",
  });
});

test("what makes no sense is as at the beginning", () => {
  for (const query of [
    "rate=2",
    "rate=-1",
    "rate=x",
    "rate=",
    "rate=%20",
    "rate=NaN",
    "seed=1.5",
    "seed=101",
    "seed=",
    "kind=rnn",
    "mirror=yes",
  ]) {
    assert.deepEqual(read(query), initial, query);
  }
});

test("a name that every object has is no value of a choice or a flag", () => {
  for (const word of ["toString", "constructor", "__proto__"]) {
    assert.deepEqual(read(`mirror=${word}&kind=${word}`), initial, word);
  }
});

test("bounds themselves are within bounds", () => {
  assert.deepEqual([read("rate=0").rate, read("rate=1").rate, read("seed=0").seed, read("seed=100").seed], [0, 1, 0, 100]);
});

test("only settings that differ from the beginning are written, unless all are wanted", () => {
  const settings: Settings = { ...initial, seed: 9, mirror: true };
  assert.equal(writeQuery(schema, settings).toString(), "seed=9&mirror=1");
  assert.equal(writeQuery(schema, settings, true).toString(), "rate=0.1&seed=9&kind=mlp&mirror=1&name=none");
});

test("what is written is read back, signs and spaces too", () => {
  const settings: Settings = { rate: 1e-7, seed: 100, kind: "cnn", mirror: true, name: "a&b=c?#+é" };
  const hash = writeHash({ page: "train", query: writeQuery(schema, settings) });
  assert.deepEqual(readQuery(schema, readHash(hash).query), settings);
});

test("a hash names a page and its query", () => {
  const { page, query } = readHash("#/train?seed=3");
  assert.deepEqual([page, query.get("seed")], ["train", "3"]);
});

test("a hash may lack its stroke, its query, everything", () => {
  assert.deepEqual(
    ["", "#", "#/", "#train", "#/train/", "#/train?"].map((hash) => readHash(hash).page),
    ["", "", "", "train", "train", "train"],
  );
});

test("a question mark in a value belongs to it", () => {
  assert.equal(readHash("#/train?name=why?&seed=3").query.get("name"), "why?");
  assert.equal(readHash("#/train?name=why?&seed=3").query.get("seed"), "3");
});

test("a place without settings is written without a question mark", () => {
  assert.equal(writeHash({ page: "draw", query: new URLSearchParams() }), "#/draw");
});

test("the device goes along to another page, a page's own settings do not", () => {
  const here = readHash("#/train?device=cpu&seed=3");
  assert.deepEqual([addressOf("draw", here), addressOf("draw", readHash("#/train?seed=3"))], ["#/draw?device=cpu", "#/draw"]);
});

test("a page that is entered again has the settings it was left with, and the device of now", () => {
  remember(readHash("#/train?seed=3&device=cpu"));
  assert.equal(addressOf("train", readHash("#/draw?device=gpu")), "#/train?seed=3&device=gpu");
  assert.equal(addressOf("train", readHash("#/draw")), "#/train?seed=3");
  remember(readHash("#/train"));
  assert.equal(addressOf("train", readHash("#/draw")), "#/train");
});

test("the link to the page one is on leads to what it is set to", () => {
  assert.equal(addressOf("playground", readHash("#/playground?seed=8")), "#/playground?seed=8");
});

test("settings that an address says wrongly are named, those it does not say are not", () => {
  const wrong = (query: string) => misread(schema, new URLSearchParams(query));
  assert.deepEqual(wrong("rate=2&seed=7&kind=rnn&device=cpu"), ["rate", "kind"]);
  assert.deepEqual([wrong(""), wrong("rate=0.5&kind=cnn")], [[], []]);
});
