import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery } from "../../src/app/url.js";
import { csvOf, eventsOf, svgOf } from "../../src/pages/train/curveFiles.js";
import { testMeasure, titleOf, writeResult } from "../../src/pages/train/measures.js";
import { extentOf, marksOf, placeOf, seriesOf } from "../../src/pages/train/series.js";
import { newRun, type Run } from "../../src/work/run.js";
import { trainSchema } from "../../src/work/settings.js";

const settings = readQuery(trainSchema, new URLSearchParams("lr=0.5&rates=20-0.25_90-0.1&batch=10"));

function someRun(number = 1): Run {
  const curve = {
    step: [10, 20, 30],
    loss: [3, 2, 1],
    accuracy: [0.1, 0.2, 0.3],
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

test("looks at the items for validation, and numbers, are called what they are", () => {
  const classes = someRun();
  const { set } = classes;
  assert.ok(set !== undefined);
  const numbers = { ...classes, set: { ...set, validation: 9, number: { name: "price", mean: 0, deviation: 1 } } };
  assert.equal(seriesOf([numbers], "loss", { axis: "steps", smoothing: 0, view: undefined })[1]?.name, "validation");
  assert.match(csvOf([numbers]), /loss,R²,rate\n(.*\n)*.*,validation,15,/);
  assert.match(csvOf([classes, numbers]), /loss,accuracy or R²,rate/);
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

test("the table has every point with its rate; words are quoted", () => {
  assert.equal(
    csvOf([someRun()]),
    [
      "run,name,part,step,epoch,seconds,loss,accuracy,rate",
      '1,"A ""b"", c",training,10,1,1,3,0.1,0.5',
      '1,"A ""b"", c",training,20,2,2,2,0.2,0.5',
      '1,"A ""b"", c",training,30,3,4,1,0.3,0.25',
      '1,"A ""b"", c",test,15,1.5,1.5,2.5,0.15,0.5',
      '1,"A ""b"", c",test,30,3,4,1.5,0.35,0.25',
      "",
    ].join("\n"),
  );
});

test("the drawing has a line for each curve, within its frame, and nothing that is no number", () => {
  const drawing = { axis: "steps", smoothing: 0, view: undefined } as const;
  const lines = { loss: seriesOf([someRun()], "loss", drawing), accuracy: seriesOf([someRun()], "accuracy", drawing) };
  for (const logarithmic of [false, true]) {
    const text = svgOf(lines, { axis: "steps", logarithmic, view: [0, 30], measure: "Accuracy" });
    const places = [...text.matchAll(/points="([^"]*)"/g)].flatMap(([, all = ""]) =>
      all.split(" ").map((each) => each.split(",").map(Number)),
    );
    assert.equal(text.match(/<polyline/g)?.length, 4);
    assert.equal(places.length, 10);
    for (const [x = -1, y = -1] of places) assert.ok(x >= 60 && x <= 544 && y >= 34 && y <= 560, `${x}, ${y}`);
    assert.doesNotMatch(text, /NaN|Infinity|undefined/);
  }
  assert.doesNotMatch(
    svgOf({ loss: [], accuracy: [] }, { axis: "time", logarithmic: true, view: [0, 0], measure: "R²" }),
    /NaN|polyline/,
  );
});
