import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery } from "../../src/app/url.js";
import { cardSvg, cardWords } from "../../src/pages/train/cardSvg.js";
import { settingsHash } from "../../src/work/link.js";
import { printOf, reachedBy, reachedSchema } from "../../src/work/reached.js";
import { addAssessment, newRun, type Run } from "../../src/work/run.js";
import { trainSchema } from "../../src/work/settings.js";
import { settingsInWords } from "../../src/work/words.js";

const settings = readQuery(trainSchema, new URLSearchParams("seed=7&decay=0.1&rates=20-0.25"));

/** A run of 100 reports that has ended. */
function someRun(): Run {
  const run = newRun(1, settings, "cpu", "Mine <b> & “co”");
  const steps = Array.from({ length: 100 }, (_, place) => 10 * (place + 1));
  const share = steps.map((step) => step / 1000);
  run.curve = {
    ...{ step: steps, loss: share.map((each) => 1 - each), accuracy: share, gradient: share, seconds: steps },
    ...{ testStep: [], testLoss: [], testAccuracy: [] },
  };
  const classes = ["0", "1"];
  run.set = {
    ...{ kind: "set", shape: [1, 2, 2], classes, train: 1000, validation: 0, test: 50 },
    ...{ parameters: 101770, fingerprint: "" },
  };
  Object.assign(run, { state: "done", step: 1000, steps: 1000 });
  addAssessment(run, {
    ...{ step: 1000, part: "test", count: 4, loss: 0.0612345, accuracy: 0.98125, mistakes: [] },
    confusion: [
      [2, 0],
      [1, 1],
    ],
    samples: [{ pixels: Float32Array.of(0, 1, 0, 1), label: 0, answer: 1 }],
  });
  return run;
}

test("a link says what its run reached, and of these settings only", () => {
  const run = someRun();
  const reached = reachedBy(run);
  assert.ok(reached !== undefined);
  const link = new URLSearchParams(settingsHash(run.settings, "cpu", { reached }).split("?")[1]);
  const back = readQuery(reachedSchema, link).reached;
  assert.ok(back !== undefined);
  assert.deepEqual(
    [back.part, back.accuracy, back.loss, back.steps, back.of, back.curve.length],
    ["test", 0.98125, 0.0612345, 1000, printOf(run.settings), 32],
  );
  for (const [place, value] of back.curve.entries()) assert.ok(Math.abs(value - (reached.curve[place] ?? 9)) < 0.01, `${place}`);
  assert.deepEqual([back.curve[0], back.curve.at(-1)], [Math.round(0.01 * 61) / 61, 1]);
  assert.notEqual(printOf({ ...run.settings, seed: 8 }), back.of);
  const number = reachedBy({ ...run, result: { part: "validation", accuracy: -3, loss: 2, error: 1.5 } });
  assert.deepEqual(readQuery(reachedSchema, new URLSearchParams({ reached: reachedSchema.reached.write(number) })).reached, {
    ...number,
    curve: back.curve,
  });
});

test("a run that has not ended has reached nothing yet; what no link says is not read", () => {
  const run = someRun();
  assert.equal(reachedBy({ ...run, state: "running" }), undefined);
  assert.equal(reachedBy({ ...run, result: undefined }), undefined);
  assert.doesNotMatch(settingsHash(run.settings, "cpu", { reached: undefined }), /reached|seeds/);
  assert.match(settingsHash(run.settings, "cpu", { seeds: 3 }), /seeds=3/);
  const good = reachedSchema.reached.write(reachedBy(run));
  assert.ok(reachedSchema.reached.read(good) !== undefined);
  for (const text of [
    "",
    "98",
    good.replace("test", "luck"),
    good.replace("0.98125", "1.5"),
    good.replace("0.98125", ""),
    `${good}_x`,
    `${good}!`,
  ])
    assert.equal(reachedSchema.reached.read(text), undefined, text);
});

test("settings are said in words, those that are not as usual among them", () => {
  assert.deepEqual(settingsInWords(someRun()), [
    "MNIST: 1\u202f000 to train, 50 to test",
    "MLP, 101\u202f770 parameters",
    "Adam, rate 0.001, then 0.25, weight decay 0.1, batch 64",
    "3 epochs, 1\u202f000 steps, seed 7, CPU",
  ]);
  const own = {
    ...settings,
    data: "csv",
    layers: "linear-8_tanh_linear-2",
    rates: [],
    decay: 0,
    noise: 0.1,
    mirror: true,
    amp: true,
  } as const;
  assert.deepEqual(settingsInWords({ ...someRun(), settings: { ...own, rates: [] }, set: undefined }), [
    "A table",
    "Linear 8, Tanh, Linear 2",
    "Adam, rate 0.001, batch 64, mixed precision",
    "3 epochs, 1\u202f000 steps, seed 7, CPU, noise 0.1, mirrored",
  ]);
});

test("a card is whole SVG: words escaped, figures, curve, pictures or the confusion matrix, and nothing that is no number", () => {
  const run = someRun();
  const plain = cardSvg(run, []);
  assert.match(plain, />98.1 %<\/text>/);
  assert.match(plain, /Mine &lt;b> &amp; “co”/);
  assert.equal(plain.match(/<rect /g)?.length, 2 + 4);
  const pictured = cardSvg(run, ["data:image/png;base64,AAAA"]);
  assert.match(pictured, /<image [^>]*href="data:image\/png;base64,AAAA"/);
  const numbers = cardSvg(
    { ...run, assessment: { ...run.assessment, pairs: Float32Array.of(1, 2, 3, 3) } as Run["assessment"] },
    [],
  );
  assert.equal(numbers.match(/<circle /g)?.length, 2);
  for (const text of [plain, pictured, numbers]) assert.doesNotMatch(text, /NaN|Infinity|undefined/);
  assert.match(cardWords(run), /Test accuracy 98.1 %, loss 0.0612\. MNIST: /);
});
