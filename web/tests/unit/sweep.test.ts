import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery } from "../../src/app/url.js";
import { meanAndDeviation, seedsFrom, seedsSchema, type SweepGroup } from "../../src/work/groups.js";
import { writeRecord } from "../../src/work/records.js";
import { newRun, type Run } from "../../src/work/run.js";
import { trainSchema } from "../../src/work/settings.js";
import { cellsOf, hindranceOf, readValues, reasonOf, settingsAt, sweepCsv } from "../../src/work/sweep.js";

const kept = new Map<string, string>();
globalThis.localStorage = {
  length: 0,
  getItem: (name: string) => kept.get(name) ?? null,
  setItem: (name: string, text: string) => void kept.set(name, text),
} as Storage;

const base = readQuery(trainSchema, new URLSearchParams("lr=0.5&rates=20-0.25&seed=3"));
const group: SweepGroup = {
  kind: "sweep",
  id: "g",
  down: { setting: "lr", values: ["0.1", "0.01"] },
  across: { setting: "batch", values: ["8", "16"] },
};

/** A run of the sweep that has ended. */
function member(row: string, column: string, more: Partial<Run> = {}): Run {
  const run = newRun(1, settingsAt(base, group, row, column), "cpu", "Mine");
  return { ...run, group, state: "done", step: 40, steps: 40, result: { part: "test", accuracy: 0.9, loss: 0.3 }, ...more };
}

test("values are read as they are typed, each once; what cannot be used is named", () => {
  assert.deepEqual(readValues("lr", "0.1, 1e-2;0.001 0.10"), { values: ["0.1", "0.01", "0.001"] });
  assert.deepEqual(readValues("optimizer", "adam lion"), { values: ["adam", "lion"] });
  assert.deepEqual(readValues("batch", "32, 9999"), { problem: "Batch size: “9999” cannot be used" });
  assert.deepEqual(readValues("batch", "32.5"), { problem: "Batch size: “32.5” cannot be used" });
  assert.deepEqual(readValues("seed", " , "), { problem: "Seed: give at least one value" });
});

test("two different settings, and no more runs than one waits for", () => {
  const many = (count: number) => Array.from({ length: count }, (_, place) => String(place + 1));
  assert.equal(hindranceOf(group.down, group.across), undefined);
  assert.equal(hindranceOf(group.down, group.down), "Choose two different settings");
  assert.equal(
    hindranceOf({ setting: "seed", values: many(8) }, { setting: "batch", values: many(9) }),
    "72 runs are too many: 64 at most",
  );
});

test("each cell has its own values, and all other settings; a rate that is tried stays as it is", () => {
  assert.deepEqual(settingsAt(base, group, "0.01", "16"), { ...base, lr: 0.01, batch: 16, rates: [] });
  const others = { ...group, down: { setting: "optimizer", values: ["lion"] } } as const;
  assert.deepEqual(settingsAt(base, { ...others, down: { ...others.down, values: ["lion"] } }, "lion", "8"), {
    ...base,
    optimizer: "lion",
    batch: 8,
  });
});

test("the table is filled by the runs of the sweep, the newest of each; the rest waits, or says why it is not there", () => {
  const [done, again] = [member("0.1", "8"), member("0.1", "8", { number: 2 })];
  writeRecord(again);
  const failed = member("0.01", "8", { state: "failed", result: undefined, error: "the loss is NaN" });
  const foreign = { ...member("0.01", "16"), group: { ...group, id: "other" } };
  const waiting = [{ settings: settingsAt(base, group, "0.1", "16"), group }];
  const cells = cellsOf(group, [done, again, failed, foreign], waiting);
  assert.deepEqual(
    cells.map((row) => row.map(({ run, waits }) => [run?.number, waits])),
    [
      [
        [2, false],
        [undefined, true],
      ],
      [
        [1, false],
        [undefined, false],
      ],
    ],
  );
  assert.deepEqual(cells.flat().map(reasonOf), [
    undefined,
    undefined,
    "the loss is NaN",
    "not run: the sweep was stopped, or the run was removed",
  ]);
  const reason = (run: Run) => reasonOf({ row: "", column: "", run, waits: false });
  assert.match(reason(done) ?? "", /^not kept/);
  assert.equal(reason({ ...done, state: "stopped", step: 12 }), "stopped after 12 of 40 steps");
  assert.match(reason({ ...done, state: "interrupted" }) ?? "", /^cut off/);
  assert.equal(reason({ ...done, state: "running" }), undefined);
  assert.equal(
    sweepCsv(group, cells),
    [
      "lr,batch,run,state,part,accuracy,loss,steps,seconds,why",
      "0.1,8,2,done,test,0.9,0.3,40,0,",
      "0.1,16,,waiting,,,,,,",
      "0.01,8,1,failed,,,,40,0,the loss is NaN",
      '0.01,16,,none,,,,,,"not run: the sweep was stopped, or the run was removed"',
      "",
    ].join("\n"),
  );
});

test("seeds follow one another, also past the largest; a link asks for one, three or five", () => {
  assert.deepEqual(seedsFrom(4294967294, 3), [4294967294, 4294967295, 0]);
  for (const [text, count] of [
    ["3", 3],
    ["5", 5],
    ["2", undefined],
    ["", undefined],
  ] as const)
    assert.equal(seedsSchema.seeds.read(text), count);
});

test("the deviation is that of a sample: squares over one less than there are", () => {
  assert.deepEqual(meanAndDeviation([2, 4, 6]), { mean: 4, deviation: 2 });
  assert.deepEqual(meanAndDeviation([7]), { mean: 7, deviation: 0 });
});
