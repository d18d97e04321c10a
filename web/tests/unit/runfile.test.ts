import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery } from "../../src/app/url.js";
import { fingerprint } from "../../src/work/fingerprint.js";
import { pack } from "../../src/work/pack.js";
import { addProgress, branchRun, newRun, type Run } from "../../src/work/run.js";
import { readRunFile, writeRunFile } from "../../src/work/runfile.js";
import { trainSchema } from "../../src/work/settings.js";

const settings = readQuery(trainSchema, new URLSearchParams("lr=0.5&rates=10-0.25_90-0.125&steps=100"));

function someRun(): Run {
  const run = newRun(1, settings, "cpu", "Mine");
  for (const step of [10, 20, 30])
    addProgress(run, { step, steps: 100, epoch: 0, metrics: { loss: 1 / step, accuracy: 0.5 }, lr: 0.25, samplesPerSecond: 1 });
  return { ...run, checkpoint: 20, state: "stopped", notes: "a note", fingerprint: "ab", weights: tensors() };
}

/** The smallest file of tensors. */
function tensors(): Uint8Array {
  const head = new TextEncoder().encode(JSON.stringify({ a: { dtype: "U8", shape: [1], data_offsets: [0, 1] } }));
  const bytes = new Uint8Array(8 + head.length + 1);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(head.length), true);
  bytes.set(head, 8);
  return bytes;
}

test("a run goes out and comes in with everything but its place in the browser", () => {
  const run = someRun();
  const { run: back, checkpoint } = readRunFile(writeRunFile(run, tensors()), 7);
  assert.notEqual(back.id, run.id);
  assert.equal(back.number, 7);
  for (const name of ["name", "notes", "settings", "device", "curve", "weights", "fingerprint", "checkpoint", "state"] as const)
    assert.deepEqual(back[name], run[name], name);
  assert.deepEqual(checkpoint, tensors());
});

test("a run without its checkpoint comes in, and cannot go on", () => {
  const { run, checkpoint } = readRunFile(writeRunFile(someRun(), undefined), 1);
  assert.deepEqual([run.checkpoint, checkpoint], [undefined, undefined]);
});

test("a file that is no run, or has damaged tensors, is refused in words", () => {
  assert.throws(() => readRunFile(pack({ format: "flambeau run 9" }), 1), /no run, or one of a later version/);
  assert.throws(() => readRunFile(pack({ format: "flambeau run 1", record: {}, state: pack({}) }), 1), /no run/);
  const run = { ...someRun(), weights: tensors().subarray(0, 30) };
  assert.throws(() => readRunFile(writeRunFile(run, tensors()), 1), /its weights cannot be read: the file is damaged/);
  assert.throws(() => readRunFile(writeRunFile(someRun(), Uint8Array.of(1)), 1), /its checkpoint cannot be read/);
});

test("a branch shares the past of its run, and says from where its rate is another", () => {
  const from = someRun();
  const branch = branchRun(from, 2, { lr: 0.01, epochs: 5, steps: 0 }, "cpu");
  assert.deepEqual(branch.settings, {
    ...settings,
    epochs: 5,
    steps: 0,
    rates: [
      { step: 10, lr: 0.25 },
      { step: 20, lr: 0.01 },
    ],
  });
  assert.deepEqual([branch.curve.step, branch.step, branch.lr, branch.checkpoint], [[10, 20], 20, 0.01, 20]);
  assert.deepEqual(branch.branchOf, { name: "Mine", step: 20 });
  assert.equal(branch.fingerprint, "ab");
  assert.equal(branch.changedDevice, false);
  assert.deepEqual(from.curve.step, [10, 20, 30], "the run itself has changed");
});

test("a branch at the same rate has no change of it; on another device it says so; without a checkpoint there is none", () => {
  const branch = branchRun(someRun(), 2, { lr: 0.25, epochs: 5, steps: 0 }, "gpu");
  assert.deepEqual(branch.settings.rates, [{ step: 10, lr: 0.25 }]);
  assert.equal(branch.changedDevice, true);
  assert.throws(
    () => branchRun({ ...someRun(), checkpoint: undefined }, 2, { lr: 1, epochs: 1, steps: 0 }, "cpu"),
    /no checkpoint/,
  );
});

test("a fingerprint is of the data, every byte of them, and of nothing else", () => {
  const set = (change: Partial<Parameters<typeof fingerprint>[0]> = {}) => ({
    name: "A",
    shape: [3],
    classes: ["a", "b"],
    preparation: { kind: "picture" } as const,
    train: { items: Uint8Array.of(1, 2, 3, 4, 5, 6), labels: Uint8Array.of(0, 1) },
    test: { items: Uint8Array.of(7, 8, 9), labels: Uint8Array.of(1) },
    ...change,
  });
  const print = fingerprint(set());
  assert.match(print, /^[0-9a-f]{16}$/);
  assert.equal(fingerprint(set({ name: "B" })), print);
  // The same bytes, where they are not aligned.
  const wide = Uint8Array.of(0, 1, 2, 3, 4, 5, 6);
  assert.equal(fingerprint(set({ train: { items: wide.subarray(1), labels: Uint8Array.of(0, 1) } })), print);
  const others = [
    ...Array.from({ length: 6 }, (_, place) => {
      const items = Uint8Array.of(1, 2, 3, 4, 5, 6);
      items[place] = 99;
      return set({ train: { items, labels: Uint8Array.of(0, 1) } });
    }),
    set({ shape: [1, 3] }),
    set({ classes: ["a", "c"] }),
    set({ test: { items: Uint8Array.of(7, 8, 9), labels: Uint8Array.of(0) } }),
    set({ validation: { items: Uint8Array.of(7, 8, 9), labels: Uint8Array.of(1) } }),
    set({ preparation: { kind: "ink" } }),
    set({ number: { name: "price", mean: 1, deviation: 2 } }),
    set({ number: { name: "price", mean: 1, deviation: 3 } }),
    set({ train: { items: Float32Array.of(1, 2, 3, 4, 5, 6), labels: Uint8Array.of(0, 1) } }),
  ];
  const prints = others.map((other) => fingerprint(other));
  assert.equal(new Set([...prints, print]).size, others.length + 1);
});
