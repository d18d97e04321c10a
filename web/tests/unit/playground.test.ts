import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery, writeQuery } from "../../src/app/url.js";
import {
  type Config,
  classesOf,
  decodePoints,
  defaults,
  EXTENT,
  encodePoints,
  hasClasses,
  needsReset,
  presets,
  schema,
  sets,
  snap,
} from "../../src/pages/playground/config.js";
import { gridPoints, inputsOf, makeSet, shuffle } from "../../src/pages/playground/datasets.js";
import { uniform } from "../../src/work/random.js";

const read = (query: string) => readQuery(schema, new URLSearchParams(query));

test("every preset can be written into an address and read back", () => {
  for (const [name, preset] of Object.entries(presets)) {
    const config: Config = { ...defaults, ...preset };
    assert.deepEqual(read(writeQuery(schema, config).toString()), config, name);
  }
});

test("a network without hidden layers is one, and one that is too large is none", () => {
  assert.deepEqual(read("layers=").layers, []);
  for (const layers of ["0", "13", "1.5", "x", "1-1-1-1-1-1-1"])
    assert.deepEqual(read(`layers=${layers}`).layers, defaults.layers, layers);
});

test("features are taken in their order, each once, those that exist", () => {
  assert.deepEqual(read("features=xy-x-x-z").features, ["x", "xy"]);
  assert.deepEqual(read("features=z").features, defaults.features);
});

test("points of one's own are the same after a link has carried them", () => {
  const points = [-3, -1.234, 0, 0.5, 3].map((value, label) => ({ x: snap(value), y: snap(-value), label: label % 4 }));
  assert.deepEqual(decodePoints(encodePoints(points)), points);
});

test("a point outside of the plane is brought to its edge", () => {
  assert.deepEqual([snap(99), snap(-99)], [EXTENT, -EXTENT]);
});

test("text that is no points gives none", () => {
  assert.deepEqual([decodePoints(""), decodePoints("zz"), decodePoints("40000")], [[], [], []]);
});

test("some sets always have two classes, one's own as many as are drawn", () => {
  const classes = (set: Config["set"], own: Config["own"] = []) => classesOf({ set, classes: 4, own });
  assert.deepEqual([classes("spirals"), classes("moons"), classes("xor"), classes("own")], [4, 2, 2, 2]);
  assert.equal(classes("own", [{ x: 0, y: 0, label: 2 }]), 3);
});

test("points of one's own need two classes", () => {
  const of = (...labels: number[]) => hasClasses({ set: "own", own: labels.map((label) => ({ x: 0, y: 0, label })) });
  assert.deepEqual([of(), of(0, 0), of(2), of(0, 1), of(1, 3, 3)], [false, false, false, true, true]);
  assert.equal(hasClasses({ set: "moons", own: [] }), true);
});

test("rates and batches leave the network, what it is made of does not", () => {
  const changed = (change: Partial<Config>, from: Partial<Config> = {}) =>
    needsReset({ ...defaults, ...from }, { ...defaults, ...from, ...change });
  assert.deepEqual([changed({ lr: 1, batch: 4, l1: 0.1, speed: 10 }), changed({ layers: [8, 8] })], [false, false]);
  assert.deepEqual([changed({ layers: [8] }), changed({ seed: 2 }), changed({ features: ["x"] })], [true, true, true]);
  const own = [{ x: 0, y: 0, label: 0 }];
  assert.equal(changed({ own }, { set: "own" }), false);
  assert.equal(changed({ own: [{ x: 0, y: 0, label: 2 }] }, { set: "own" }), true);
});

test("every set has its points, divided as asked, the same for the same seed", () => {
  for (const set of sets.filter((name) => name !== "own")) {
    const config: Config = { ...defaults, set, classes: 3, points: 300, share: 70 };
    const { train, test: tested, classes } = makeSet(config);
    const all = [...train, ...tested];
    assert.deepEqual([train.length, tested.length], [210, 90], set);
    for (let label = 0; label < classes; label += 1)
      assert.equal(all.filter((point) => point.label === label).length, 300 / classes, set);
    assert.deepEqual(makeSet(config).train, train);
    assert.notDeepEqual(makeSet({ ...config, seed: 2 }).train, train);
    const least = Math.min(
      ...Array.from({ length: classes }, (_, label) => tested.filter((point) => point.label === label).length),
    );
    assert.ok(least >= 15, `every class is tested, ${set}: ${least}`);
    assert.ok(
      all.every(({ x, y }) => Math.hypot(x, y) < 2 * EXTENT),
      set,
    );
  }
});

test("one's own points are trained on as they are", () => {
  const own = [1, 2, 3].map((x) => ({ x, y: 0, label: 0 }));
  const { train, test: tested } = makeSet({ ...defaults, set: "own", own, share: 34 });
  assert.deepEqual([train.length, tested.length], [1, 2]);
  assert.deepEqual([...train, ...tested].map(({ x }) => x).sort(), [1, 2, 3]);
  assert.equal(makeSet({ ...defaults, set: "own", own: [] }).train.length, 0);
});

test("shuffling keeps every item", () => {
  const list = [...Array(50).keys()];
  shuffle(list, uniform(3));
  assert.notDeepEqual(list, [...Array(50).keys()]);
  assert.deepEqual(
    list.sort((a, b) => a - b),
    [...Array(50).keys()],
  );
});

test("the network sees the features that were chosen, point by point", () => {
  const rows = inputsOf(
    [
      { x: 2, y: 3 },
      { x: -1, y: 0 },
    ],
    ["x", "y", "x2", "y2", "xy"],
  );
  assert.deepEqual([...rows], [2, 3, 4, 9, 6, -1, 0, 1, 0, -0]);
});

test("the grid goes from the top left, row by row, over the whole plane", () => {
  const grid = gridPoints(3);
  assert.deepEqual(grid.slice(0, 4), [
    { x: -2, y: 2 },
    { x: 0, y: 2 },
    { x: 2, y: 2 },
    { x: -2, y: -0 },
  ]);
});
