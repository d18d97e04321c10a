import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery } from "../../src/app/url.js";
import { compare, measure } from "../../src/pages/benchmark/measure.js";
import type { Row } from "../../src/pages/benchmark/messages.js";
import { asCsv, asJson, rateOf } from "../../src/pages/benchmark/report.js";
import { schema, tasksOf } from "../../src/pages/benchmark/settings.js";
import { describe, kinds, makeWork, permuted, workOf } from "../../src/pages/benchmark/tasks.js";

const of = (...values: number[]) => Float32Array.from(values);

test("results that are near are correct, by the largest value", () => {
  assert.deepEqual(compare([of(1000.05, 0.04)], [of(1000, 0)]), {
    compared: 2,
    maxError: Math.fround(1000.05) - 1000,
    scale: 1000,
    correct: true,
  });
  assert.equal(compare([of(1000.2)], [of(1000)]).correct, false);
});

test("what is no number is wrong, wherever it stands", () => {
  for (const place of [0, 1, 2]) {
    const got = of(1, 2, 3);
    got[place] = Number.NaN;
    const { correct, maxError } = compare([got], [of(1, 2, 3)]);
    assert.deepEqual([correct, maxError], [false, Number.NaN], `at ${place}`);
  }
});

test("what is missing or too much is wrong", () => {
  assert.equal(compare([of(1)], [of(1, 2)]).correct, false);
  assert.equal(compare([], [of(1)]).correct, false);
  assert.equal(compare([of(1), of(2)], [of(1)]).correct, false);
});

test("every result is compared by its own scale", () => {
  assert.equal(compare([of(1e6), of(0.2)], [of(1e6), of(0.1)]).correct, false);
});

test("a fast task is run in rounds, and the median lies between best and worst", async () => {
  let runs = 0;
  const run = async (times: number) => {
    runs += times;
  };
  const prepared = { run, result: async () => [], dispose: () => undefined };
  const { median, best, worst, rounds, runsPerRound } = await measure(prepared);
  assert.ok(best <= median && median <= worst);
  assert.deepEqual([rounds, runsPerRound], [15, 200]);
  assert.equal(runs, 2 + 200 + 15 * 200);
});

test("numbers are turned into another layout and back", () => {
  const values = Float32Array.from({ length: 24 }, (_, at) => at);
  const turned = permuted(values, [2, 3, 4], [2, 0, 1]);
  // The element at (i, j, k) is found at (k, i, j).
  assert.equal(turned[3 * 6 + 1 * 3 + 2], values[1 * 12 + 2 * 4 + 3]);
  assert.deepEqual(permuted(turned, [4, 2, 3], [1, 2, 0]), values);
});

test("every contender gets the same numbers, in the shapes that are said", () => {
  for (const kind of kinds) {
    const [one, same] = [makeWork({ kind, size: 8 }), makeWork({ kind, size: 8 })];
    assert.deepEqual(one, same, kind);
    for (const { name, shape, values } of [...one.inputs, ...one.parameters]) {
      assert.equal(
        values.length,
        shape.reduce((product, size) => product * size, 1),
        `${kind} ${name}`,
      );
    }
    assert.ok(one.labels.every((label) => label >= 0 && label < 10));
  }
});

test("work is counted as it is done", () => {
  assert.deepEqual(workOf({ kind: "matmul", size: 1000 }), { amount: 2, unit: "GFLOP/s" });
  assert.deepEqual(workOf({ kind: "elementwise", size: 1000 }), { amount: 0.012, unit: "GB/s" });
  assert.equal(workOf({ kind: "mlp", size: 0 }).unit, "steps/s");
});

test("a sweep goes over every smaller preset up to the size", () => {
  const settings = { ...readQuery(schema, new URLSearchParams("size=600&sweep=1&tasks=mlp-matmul")) };
  assert.deepEqual(
    tasksOf(settings).map(({ kind, size }) => `${kind} ${size}`),
    ["matmul 128", "matmul 256", "matmul 512", "matmul 600", "mlp 0"],
  );
  assert.equal(tasksOf({ ...settings, sweep: false }).length, 2);
  const sizes = tasksOf({ ...settings, size: 512 }).map(({ size }) => size);
  assert.deepEqual(sizes, [128, 256, 512, 0], "a preset is run once");
});

const row = (change: Partial<Row> = {}): Row => ({
  task: { kind: "matmul", size: 1000 },
  contender: "gpu",
  median: 4,
  best: 3,
  worst: 5,
  first: 90,
  rounds: 15,
  runsPerRound: 10,
  compared: 1_000_000,
  maxError: 1e-5,
  scale: 30,
  correct: true,
  ...change,
});

test("speed is work by time, and nothing where nothing was measured", () => {
  assert.deepEqual([rateOf(row()), rateOf(row({ median: 0 }))], [500, 0]);
});

test("a table for spreadsheets has a cell for every column, and quotes what people wrote", () => {
  const [head = "", line = "", end] = asCsv([row({ busy: 0.5, problem: 'it said "no", twice' })]).split("\n");
  assert.equal(end, "");
  assert.equal(head.split(",").length, 16);
  assert.ok(line.startsWith('"matmul",1000,"Flambeau, WebGPU",4,3,5,90,15,10,500,"GFLOP/s",1000000,0.00001,true,'), line);
  assert.ok(line.endsWith(',0.5,"it said ""no"", twice"'), line);
});

test("results for programs say what was measured, where and how fast", () => {
  const { device, results } = JSON.parse(asJson([row()], { device: "a GPU", date: "today", browser: "one" })) as {
    device: string;
    results: Record<string, unknown>[];
  };
  assert.deepEqual(
    [device, results[0]?.["task"], results[0]?.["rate"], results[0]?.["description"]],
    ["a GPU", "matmul", 500, describe({ kind: "matmul", size: 1000 })],
  );
});
