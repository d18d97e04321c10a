import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery } from "../../src/app/url.js";
import { csvOf, eventsOf, svgOf } from "../../src/pages/train/curveFiles.js";
import { testMeasure, titleOf, writeResult, writeSpread } from "../../src/pages/train/measures.js";
import { extentOf, marksOf, placeOf, seriesOf } from "../../src/pages/train/series.js";
import { cutCurve, newRun, type Run } from "../../src/work/run.js";
import { trainSchema } from "../../src/work/settings.js";

const settings = readQuery(trainSchema, new URLSearchParams("lr=0.5&rates=20-0.25_90-0.1&batch=10"));

function someRun(number = 1): Run {
  const curve = {
    step: [10, 20, 30],
    loss: [3, 2, 1],
    accuracy: [0.1, 0.2, 0.3],
    gradient: [5, 4, Number.NaN],
    seconds: [1, 2, 4],
    testStep: [15, 30],
    testLoss: [2.5, 1.5],
    testAccuracy: [0.15, 0.35],
  };
  const set = {
    kind: "set",
    shape: [1],
    classes: [],
    train: 95,
    validation: 0,
    test: 5,
    parameters: 1,
    fingerprint: "",
  } as const;
  return { ...newRun(number, settings, "cpu", 'A "b", c'), curve, set: { ...set, shape: [1], classes: [] }, step: 30 };
}

test("a step stands on the axis of steps, of epochs, and of time, between reports too", () => {
  const run = someRun();
  assert.deepEqual(
    [5, 10, 15, 25, 30, 40].map((step) => [
      placeOf(run, step, "steps"),
      placeOf(run, step, "epochs"),
      placeOf(run, step, "time"),
    ]),
    [
      [5, 0.5, 0.5],
      [10, 1, 1],
      [15, 1.5, 1.5],
      [25, 2.5, 3],
      [30, 3, 4],
      [40, 4, 4],
    ],
  );
});

test("the lines of a chart: one run's are named by what they are, several runs' by their numbers too", () => {
  const drawing = { axis: "steps", smoothing: 0, view: undefined } as const;
  const [training, tests, ...others] = seriesOf([someRun()], "loss", drawing);
  assert.deepEqual([training?.name, training?.x, training?.y], ["training", [10, 20, 30], [3, 2, 1]]);
  assert.deepEqual([tests?.name, tests?.x, tests?.y, others.length], ["test", [15, 30], [2.5, 1.5], 0]);
  const two = seriesOf([someRun(1), someRun(2)], "accuracy", { ...drawing, smoothing: 0.5 });
  assert.deepEqual(
    two.map(({ name }) => name),
    ["1 training", "1 as it was", "1 test", "2 training", "2 as it was", "2 test"],
  );
  assert.deepEqual(seriesOf([someRun()], "loss", { ...drawing, view: [21, 22] })[0]?.x, [20, 30]);
});

/** Three runs with the seeds 1, 2 and 3; what each loses lies further down. */
function seedRuns(): Run[] {
  const group = { kind: "seeds", id: "g", seeds: [1, 2, 3] } as const;
  return [1, 2, 3].map((seed) => {
    const run: Run = { ...someRun(seed), state: "done", settings: { ...settings, seed }, group: { ...group, seeds: [1, 2, 3] } };
    run.curve.loss = run.curve.loss.map((loss) => loss * seed);
    run.result = { part: "test", accuracy: 0.5 + 0.1 * seed, loss: seed };
    return run;
  });
}

test("runs with several seeds that have ended are a mean with a band from the smallest to the largest", () => {
  const drawing = { axis: "steps", smoothing: 0, view: undefined } as const;
  const [one, two, three] = seedRuns();
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  const [mean, high, low, ...looks] = seriesOf([one, two, three], "loss", drawing);
  assert.deepEqual([mean?.name, mean?.y, mean?.edge], ["training, mean", [6, 4, 2], undefined]);
  assert.deepEqual([high?.edge, high?.y, low?.edge, low?.y], ["high", [9, 6, 3], "low", [3, 2, 1]]);
  assert.deepEqual(
    looks.map(({ name }) => name),
    ["test, mean", "test, mean, largest", "test, mean, smallest"],
  );
  // One that is still trained stands for itself, and one with another group too.
  const names = seriesOf([one, two, { ...three, state: "running" }, someRun(4)], "loss", drawing).map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => name.includes("training")),
    ["1–2 training, mean", "1–2 training, mean, largest", "1–2 training, mean, smallest", "3 training", "4 training"],
  );
  // A run that was stopped early counts as far as it came.
  cutCurve(three.curve, 10);
  assert.deepEqual(seriesOf([one, two, three], "loss", drawing)[0]?.y, [6, 3, 1.5]);
  assert.equal(marksOf([one, two], "steps").length, 1);
  const slowed = { ...two, settings: { ...two.settings, rates: [...two.settings.rates, { step: 25, lr: 0.01 }] } };
  assert.deepEqual(
    marksOf([one, slowed], "steps").map(({ x, text }) => [x, text]),
    [
      [20, "rate 0.25"],
      [25, "rate 0.01"],
    ],
  );
  const [gradient] = seriesOf([one, two], "gradient", drawing);
  assert.deepEqual(
    [gradient?.x, gradient?.y],
    [
      [10, 20],
      [5, 4],
    ],
  );
  const drawn = { axis: "steps", logarithmic: false, view: [0, 30], measure: "Accuracy" } as const;
  const text = svgOf({ loss: seriesOf([one, two], "loss", drawing), accuracy: [], gradient: [] }, drawn);
  assert.deepEqual([text.match(/<polygon/g)?.length, text.match(/<polyline/g)?.length], [2, 2]);
});

test("several runs come to a mean and a deviation of those that were tested", () => {
  const [one, two, three] = seedRuns();
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  assert.deepEqual(writeSpread([one, two, three]), { measure: "70.0 % ± 10.0", loss: "2.0000 ± 1.0000", count: 3 });
  assert.deepEqual(writeSpread([{ ...one, result: undefined }]), { measure: "–", loss: "–", count: 0 });
  const number = { ...one, result: { part: "test", accuracy: 0.5, loss: 1, error: 3 } as const };
  assert.deepEqual(writeSpread([number, two]).measure, "R² 60.0 % ± 14.1");
});

test("looks at the items for validation, and numbers, are called what they are", () => {
  const classes = someRun();
  const { set } = classes;
  assert.ok(set !== undefined);
  const numbers = { ...classes, set: { ...set, validation: 9, number: { name: "price", mean: 0, deviation: 1 } } };
  assert.equal(seriesOf([numbers], "loss", { axis: "steps", smoothing: 0, view: undefined })[1]?.name, "validation");
  assert.match(csvOf([numbers]), /loss,R²,rate,gradient norm\n(.*\n)*.*,validation,15,/);
  assert.match(csvOf([classes, numbers]), /loss,accuracy or R²,rate,/);
  assert.deepEqual([titleOf([classes]), titleOf([numbers]), titleOf([])], ["Accuracy", "R²", "Accuracy"]);
  assert.match(new TextDecoder().decode(eventsOf(numbers)), /r2\/validation/);
  // A run that is not open is known by its result.
  const result = { part: "validation", accuracy: 0.5, loss: 0.5, error: 12.345 } as const;
  const kept = { ...classes, set: undefined, result };
  assert.deepEqual([testMeasure(kept), writeResult(kept)], ["Validation R²", "R² 50.0 %, error 12.3"]);
});

test("rates are marked where they changed, those to come are not", () => {
  assert.deepEqual(marksOf([someRun()], "time"), [{ x: 2, text: "rate 0.25", colour: 1 }]);
  assert.deepEqual(extentOf([someRun()], "epochs"), [0, 3]);
  assert.deepEqual(extentOf([], "steps"), [0, 0]);
});

test("the table has every point with its rate and the norm of its gradients, where there are some; words are quoted", () => {
  assert.equal(
    csvOf([someRun()]),
    [
      "run,name,part,step,epoch,seconds,loss,accuracy,rate,gradient norm",
      '1,"A ""b"", c",training,10,1,1,3,0.1,0.5,5',
      '1,"A ""b"", c",training,20,2,2,2,0.2,0.5,4',
      '1,"A ""b"", c",training,30,3,4,1,0.3,0.25,',
      '1,"A ""b"", c",test,15,1.5,1.5,2.5,0.15,0.5,',
      '1,"A ""b"", c",test,30,3,4,1.5,0.35,0.25,',
      "",
    ].join("\n"),
  );
  // TensorBoard has the norms that there are.
  assert.equal(new TextDecoder().decode(eventsOf(someRun())).split("gradient_norm").length, 3);
});

test("the drawing has a line for each curve, within its frame, and nothing that is no number", () => {
  const drawing = { axis: "steps", smoothing: 0, view: undefined } as const;
  const [loss, accuracy, gradient] = (["loss", "accuracy", "gradient"] as const).map((what) =>
    seriesOf([someRun()], what, drawing),
  );
  assert.ok(loss !== undefined && accuracy !== undefined && gradient !== undefined);
  const lines = { loss, accuracy, gradient };
  for (const logarithmic of [false, true]) {
    const text = svgOf(lines, { axis: "steps", logarithmic, view: [0, 30], measure: "Accuracy" });
    const places = [...text.matchAll(/points="([^"]*)"/g)].flatMap(([, all = ""]) =>
      all.split(" ").map((each) => each.split(",").map(Number)),
    );
    assert.equal(text.match(/<polyline/g)?.length, 5);
    assert.equal(places.length, 12);
    for (const [x = -1, y = -1] of places) assert.ok(x >= 60 && x <= 544 && y >= 34 && y <= 860, `${x}, ${y}`);
    assert.doesNotMatch(text, /NaN|Infinity|undefined/);
  }
  assert.doesNotMatch(
    svgOf({ loss: [], accuracy: [], gradient: [] }, { axis: "time", logarithmic: true, view: [0, 0], measure: "R²" }),
    /NaN|polyline/,
  );
});
