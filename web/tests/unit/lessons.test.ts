import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { misread } from "../../src/app/url.js";
import {
  isDone,
  LANGUAGES,
  PARTS,
  type Facts,
  type Lesson,
  type RunFacts,
  type Task,
  type Words,
} from "../../src/lessons/lesson.js";
import { FRAME } from "../../src/lessons/words.js";
import { MODELS } from "../../src/work/layers.js";
import { trainSchema } from "../../src/work/settings.js";

/** The lessons' folder, from wherever in the repository the tests are run. */
function folder(from = process.cwd()): string {
  const here = join(from, "web/src/lessons/files");
  assert.notEqual(dirname(from), from, "the lessons are not found");
  return existsSync(here) ? here : folder(dirname(from));
}
const lessons = readdirSync(folder()).map((name): [string, Lesson] => [
  name,
  JSON.parse(readFileSync(join(folder(), name), "utf8")) as Lesson,
]);

const isSaid = (words: Words, where: string) => {
  for (const language of LANGUAGES) assert.ok((words[language] ?? "").length > 5, `${where} says nothing in ${language}`);
  assert.notEqual(words.en, words.de, `${where} is not translated`);
};

test("there are five lessons, and every text is there in every language", () => {
  assert.equal(lessons.length, 5);
  for (const [name, { title, about, steps }] of lessons) {
    assert.match(name, /^\d-[a-z-]+\.json$/);
    isSaid(title, `${name}, title`);
    isSaid(about, `${name}, about`);
    assert.ok(steps.length > 0, name);
    for (const [index, { text, tasks }] of steps.entries()) {
      isSaid(text, `${name}, step ${index + 1}`);
      assert.ok(tasks.length > 0, `${name}, step ${index + 1} has no task`);
      for (const { say } of tasks) isSaid(say, `${name}, a task of step ${index + 1}`);
    }
  }
});

test("every lesson's settings can be read, and it puts away parts that there are", () => {
  const known = new Set<string>(Object.keys(trainSchema));
  for (const [name, { steps }] of lessons)
    for (const { settings, hidden } of steps) {
      const query = new URLSearchParams(settings);
      assert.deepEqual(misread(trainSchema, query), [], name);
      assert.deepEqual(
        [...query.keys()].filter((key) => !known.has(key)),
        [],
        name,
      );
      assert.deepEqual(
        hidden.filter((part) => !PARTS.includes(part)),
        [],
        name,
      );
    }
});

test("the frame has the same words in every language", () => {
  const names = LANGUAGES.map((language) => Object.keys(FRAME[language]).sort().join());
  assert.equal(new Set(names).size, 1);
  assert.equal(FRAME.de.step(1, 2), "Schritt 1 von 2");
});

const say: Words = { en: "x", de: "y" };
const run: RunFacts = {
  settings: { data: "mnist", lr: 0.001, items: 0, layers: MODELS.cnn },
  failed: false,
  parameters: 1000,
  accuracy: 0.9,
  trained: 0.95,
};
const done = (task: Task, ...runs: RunFacts[]) => {
  const facts: Facts = { runs, wasAt: (page) => page === "draw" };
  return isDone(task, facts);
};

test("a task about a run is done by one run that has all of it", () => {
  const wanted = { say, run: { data: "mnist", layers: "conv", accuracy: { atLeast: 0.9 }, gap: { atMost: 0.06 } } } as const;
  assert.equal(done(wanted), false);
  assert.equal(done(wanted, run), true);
  assert.equal(done(wanted, { ...run, accuracy: 0.89 }), false);
  assert.equal(done(wanted, { ...run, trained: 1 }), false);
  assert.equal(done(wanted, { ...run, settings: { ...run.settings, layers: MODELS.mlp } }), false);
  assert.equal(done(wanted, { ...run, accuracy: undefined }), false);
  const half = [
    { ...run, accuracy: 0.5 },
    { ...run, settings: { ...run.settings, layers: MODELS.mlp } },
  ];
  assert.equal(done(wanted, ...half), false, "two runs that have half of it each");
});

test("a run that broke off has learnt nothing, all items are more than any number, and own data are not MNIST", () => {
  const bad = { say, run: { accuracy: { atMost: 0.5 } } } as const;
  assert.deepEqual([done(bad, { ...run, failed: true, accuracy: undefined }), done(bad, run)], [true, false]);
  const many = { say, run: { items: { atLeast: 20_000 } } } as const;
  assert.deepEqual([done(many, run), done(many, { ...run, settings: { ...run.settings, items: 500 } })], [true, false]);
  const own = { say, run: { data: "own" } } as const;
  assert.deepEqual([done(own, run), done(own, { ...run, settings: { ...run.settings, data: "csv" } })], [false, true]);
});

test("a task about a page is done by going there", () => {
  assert.deepEqual([done({ say, page: "draw" }), done({ say, page: "try" })], [true, false]);
});
