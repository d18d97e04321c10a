import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { readQuery } from "../../src/app/url.js";
import { pack, unpack } from "../../src/work/pack.js";
import { isRecord, packState, recordOf, records, runOf, takeState, writeRecord } from "../../src/work/records.js";
import { addAssessment, addProgress, cutCurve, goBack, newRun, type Run } from "../../src/work/run.js";
import { trainSchema } from "../../src/work/settings.js";

const kept = new Map<string, string>();
globalThis.localStorage = {
  get length() {
    return kept.size;
  },
  key: (place: number) => [...kept.keys()][place] ?? null,
  getItem: (name: string) => kept.get(name) ?? null,
  setItem: (name: string, text: string) => void kept.set(name, text),
  removeItem: (name: string) => void kept.delete(name),
} as Storage;
beforeEach(() => kept.clear());

const settings = readQuery(trainSchema, new URLSearchParams("seed=7&optimizer=lion&lr=0.5&rates=20-0.25"));

/** A run that has taken 40 steps, and looked at tests twice. */
function someRun(number = 3): Run {
  const run = newRun(number, settings, "cpu", "Mine");
  for (const step of [10, 20, 30, 40]) {
    run.seconds = step / 100;
    addProgress(run, {
      step,
      steps: 90,
      epoch: 0,
      metrics: { loss: 1 / 3 / step, accuracy: 0.1, gradNorm: 7 / step },
      lr: 0.25,
      samplesPerSecond: 1,
    });
  }
  const look = {
    part: "test" as const,
    count: 5,
    samples: [],
    confusion: [[5]],
    mistakes: [{ index: 1, pixels: Float32Array.of(0.1, 0.7), label: 0, answer: 0, sure: 1 }],
  };
  addAssessment(run, { ...look, step: 20, loss: 0.3, accuracy: 0.8 });
  addAssessment(run, { ...look, step: 40, loss: 0.2, accuracy: 0.9 });
  run.checkpoint = 40;
  return run;
}

test("a run is kept and read back: its record, its curves bit for bit, its looks", () => {
  const run: Run = { ...someRun(), notes: "first try", begunWith: "a.safetensors", branchOf: { name: "Other", step: 10 } };
  run.group = { kind: "sweep", id: "g", down: { setting: "lr", values: ["0.1"] }, across: { setting: "batch", values: ["8"] } };
  writeRecord(run);
  const [record, ...others] = records();
  assert.ok(record !== undefined && others.length === 0);
  const back = runOf(record);
  assert.deepEqual([back.opened, back.shown, back.curve.step], [false, false, []]);
  takeState(back, packState(run));
  for (const name of ["id", "number", "name", "notes", "settings", "device", "begunWith", "branchOf", "step", "steps"] as const)
    assert.deepEqual(back[name], run[name], name);
  for (const name of ["group", "curve", "assessment", "inspection", "result", "checkpoint", "space", "seconds", "date"] as const)
    assert.deepEqual(back[name], run[name], name);
  assert.equal(back.lr, 0.25);
});

test("a run of before the gradients were measured has none; what is no group is left out", () => {
  const run = someRun();
  const { gradient: _, ...before } = run.curve;
  const old = pack({ curve: Object.fromEntries(Object.entries(before).map(([name, list]) => [name, Float64Array.from(list)])) });
  takeState(run, old);
  assert.deepEqual(run.curve.gradient, [Number.NaN, Number.NaN, Number.NaN, Number.NaN]);
  goBack(run, 20);
  assert.deepEqual(run.curve.gradient, [Number.NaN, Number.NaN]);
  const swept = { setting: "lr", values: ["1"] };
  for (const group of [3, {}, { kind: "sweep", id: "g", down: swept }, { kind: "seeds", id: "g", seeds: ["a"] }])
    assert.equal(runOf({ ...recordOf(run), group: group as unknown as Run["group"] }).group, undefined, JSON.stringify(group));
  const odd = { kind: "sweep", id: "g", down: swept, across: { setting: "toString", values: [] } };
  assert.equal(runOf({ ...recordOf(run), group: odd as unknown as Run["group"] }).group, undefined);
});

test("a run that has not ended is kept as one that was cut off; one that has, as it ended", () => {
  const states = ["loading", "running", "paused", "ending", "interrupted", "done", "stopped", "failed"] as const;
  assert.deepEqual(
    states.map((state) => recordOf({ ...someRun(), state }).state),
    [...Array.from({ length: 5 }, () => "interrupted"), "done", "stopped", "failed"],
  );
});

test("each run has a key of its own; what is no record is left alone", () => {
  const [one, two] = [someRun(2), someRun(1)];
  writeRecord(one);
  writeRecord(two);
  kept.set("flambeau.run.x", "{oops");
  kept.set("flambeau.run.y", JSON.stringify({ ...recordOf(one), id: "z" }));
  kept.set("flambeau.theme", "dark");
  assert.deepEqual(
    records().map(({ id }) => id),
    [two.id, one.id],
  );
  assert.equal(kept.size, 5);
});

test("what lacks something is no record", () => {
  const record = JSON.parse(JSON.stringify(recordOf(someRun()))) as Record<string, unknown>;
  assert.ok(isRecord(record));
  for (const name of [
    "id",
    "number",
    "name",
    "notes",
    "settings",
    "device",
    "state",
    "step",
    "steps",
    "seconds",
    "space",
    "date",
  ])
    assert.equal(isRecord({ ...record, [name]: undefined }), false, name);
  for (const value of [null, 3, "text", []]) assert.equal(isRecord(value), false);
});

test("settings of a record that cannot be read are named", () => {
  assert.throws(() => runOf({ ...recordOf(someRun()), settings: "seed=7&optimizer=magic" }), /cannot be read: optimizer/);
});

test("going back to a step takes back what came after it, and the rate and the time of then", () => {
  const run = someRun();
  goBack(run, 20);
  assert.deepEqual([run.curve.step, run.curve.seconds, run.curve.testStep, run.step], [[10, 20], [0.1, 0.2], [20], 20]);
  assert.deepEqual([run.seconds, run.lr], [0.2, 0.25]);
  cutCurve(run.curve, 0);
  assert.deepEqual([run.curve.loss, run.curve.testLoss], [[], []]);
});

test("a second look at the same step takes the first one's place", () => {
  const run = someRun();
  addAssessment(run, { step: 40, part: "test", count: 9, loss: 0.1, accuracy: 0.95, confusion: [], mistakes: [], samples: [] });
  assert.deepEqual(
    [run.curve.testStep, run.curve.testAccuracy, run.result],
    [[20, 40], [0.8, 0.95], { part: "test", accuracy: 0.95, loss: 0.1 }],
  );
});

test("the curve is of the items for validation where there are some; the test at the end is the result, and no point of it", () => {
  const run = newRun(1, settings, "cpu");
  const set = { kind: "set", shape: [2], classes: [], train: 9, test: 5, parameters: 1, fingerprint: "" } as const;
  run.set = { ...set, shape: [2], classes: [], validation: 4, number: { name: "price", mean: 10, deviation: 3 } };
  const look = { count: 4, confusion: [], mistakes: [], samples: [] };
  addAssessment(run, { ...look, step: 10, part: "validation", loss: 0.25, accuracy: 0.75 });
  assert.deepEqual(run.result, { part: "validation", accuracy: 0.75, loss: 0.25, error: 1.5 });
  addAssessment(run, { ...look, step: 20, part: "test", loss: 0.04, accuracy: 0.96 });
  assert.deepEqual([run.curve.testStep, run.curve.testLoss], [[10], [0.25]]);
  assert.equal(run.assessment?.part, "test");
  assert.ok(Math.abs((run.result?.error ?? 0) - 0.6) < 1e-12);
});

test("values with arrays of numbers come back as they were", () => {
  const value = {
    text: "é “x”",
    none: null,
    list: [1, { deep: Float32Array.of(0.1, -0) }],
    bytes: Uint8Array.of(1, 2, 255),
    exact: Float64Array.of(1 / 3, Number.NaN, Number.POSITIVE_INFINITY),
    empty: new Float32Array(0),
  };
  assert.deepEqual(unpack(pack(value)), value);
  // The bytes may stand anywhere in a buffer.
  const wide = new Uint8Array(pack(value).length + 3);
  wide.set(pack(value), 3);
  assert.deepEqual(unpack(wide.subarray(3)), value);
});

test("bytes that are no run are refused in words", () => {
  const bytes = pack({ weights: new Float32Array(10) });
  assert.throws(() => unpack(bytes.subarray(0, 5)), /this is no file of a run/);
  assert.throws(() => unpack(new TextEncoder().encode("only some text, no run")), /this is no file of a run/);
  assert.throws(() => unpack(bytes.subarray(0, 20)), /damaged: it should have more than \d+ bytes, and has 20/);
  assert.throws(() => unpack(bytes.subarray(0, bytes.length - 1)), /damaged: it should have \d+ bytes or more/);
  const broken = bytes.slice();
  broken[13] = 0;
  assert.throws(() => unpack(broken), /damaged: its head cannot be read/);
});
