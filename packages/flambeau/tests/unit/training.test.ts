import assert from "node:assert/strict";
import { test } from "node:test";
import { type Listeners, TrainingWorker } from "../../src/worker/index.js";
import type { StartOptions } from "../../src/worker/messages.js";

interface Message {
  id: number;
  name: string;
  question: unknown;
}

/** A worker that notes what it is asked; a script says what it does. */
class Fake {
  static made: Fake[] = [];
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onerror: ((event: object) => void) | null = null;
  readonly asked: Message[] = [];
  ended = false;

  constructor(readonly script: (message: Message, worker: Fake) => void) {
    Fake.made.push(this);
    queueMicrotask(() => this.says({ type: "ready" }));
  }

  postMessage(message: Message): void {
    this.asked.push(message);
    queueMicrotask(() => this.script(message, this));
  }

  says(data: unknown): void {
    if (!this.ended) this.onmessage?.({ data });
  }

  tells(note: object): void {
    this.says({ type: "note", note });
  }

  answers({ id }: Message, answer: unknown): void {
    this.says({ type: "answer", id, answer });
  }

  fails({ id }: Message, name: string, message: string): void {
    this.says({ type: "error", id, error: { name, message, stack: "" } });
  }

  terminate(): void {
    this.ended = true;
  }
}

const SUMMARY = { steps: 3, epochs: [], seconds: 1, stopped: "done" };

/** A run on fakes: the n-th worker follows the n-th script, the last all further ones. */
function runOn(scripts: ((message: Message, worker: Fake) => void)[], listeners: Listeners = {}) {
  Fake.made = [];
  const open = () => new Fake(scripts[Math.min(Fake.made.length, scripts.length - 1)] ?? (() => undefined));
  return new TrainingWorker(open as unknown as () => Worker, listeners);
}

const done = (message: Message, worker: Fake) => worker.answers(message, message.name === "start" ? SUMMARY : undefined);
const trapped = (message: Message, worker: Fake) => worker.fails(message, "RuntimeError", "unreachable");

test("a run gives its summary, and hears what is told on the way", async () => {
  const seen: unknown[] = [];
  const script = (message: Message, worker: Fake) => {
    worker.tells({ type: "progress", progress: { step: 1 } });
    worker.tells({ type: "checkpoint", step: 2, bytes: 99 });
    worker.tells({ type: "note", note: "mine" });
    done(message, worker);
  };
  const run = runOn([script], {
    onProgress: ({ step }) => void seen.push(step),
    onCheckpoint: (step, bytes) => void seen.push([step, bytes]),
    onNote: (note) => void seen.push(note),
  });
  assert.deepEqual(await run.start({ epochs: 1 }), SUMMARY);
  assert.deepEqual(seen, [1, [2, 99], "mine"]);
});

test("a trap starts another worker, from a checkpoint only if this run has saved one", async () => {
  const restarts: string[] = [];
  const run = runOn(
    [
      trapped,
      (message, worker) => {
        worker.tells({ type: "checkpoint", step: 4, bytes: 1 });
        trapped(message, worker);
      },
      done,
    ],
    { onRestarted: (why) => void restarts.push(why) },
  );
  await run.start({ name: "mine" });
  const resumed = Fake.made.map(({ asked }) => (asked[0]?.question as StartOptions | undefined)?.resume);
  assert.deepEqual(
    [resumed, restarts],
    [
      [false, false, true],
      ["unreachable", "unreachable"],
    ],
  );
  assert.deepEqual(
    Fake.made.map(({ ended }) => ended),
    [true, true, false],
  );
});

test("a worker that always traps is given up after four", async () => {
  const run = runOn([trapped]);
  await assert.rejects(run.start(), { name: "RuntimeError" });
  assert.equal(Fake.made.length, 4);
});

test("a run may be started again, and has its four workers again", async () => {
  const run = runOn([trapped, trapped, done, trapped, trapped, done]);
  await run.start();
  await run.start();
  assert.equal(Fake.made.length, 6);
});

test("other errors are no reason for another worker", async () => {
  const run = runOn([(message, worker) => worker.fails(message, "Error", "the loss is NaN")]);
  await assert.rejects(run.start(), { message: "the loss is NaN" });
  assert.equal(Fake.made.length, 1);
});

test("a script that does not load ends the run, and Stop does before that", async () => {
  const silent = runOn([() => undefined]);
  const start = silent.start();
  Fake.made[0]?.onerror?.({ preventDefault: () => undefined });
  await assert.rejects(start, /script could not be loaded/);
  const again = silent.start();
  silent.stop();
  await assert.rejects(again, /stopped before the worker had begun/);
});

test("ending the worker ends the run with an error, and so does starting anew", async () => {
  const run = runOn([() => undefined, () => undefined, done]);
  const [first, second] = [run.start(), run.start()];
  await assert.rejects(first, /the worker has ended/);
  run.terminate();
  await assert.rejects(second, /the worker has ended/);
  assert.deepEqual(await run.start(), SUMMARY);
});

test("orders and questions follow the start in the order in which they were given", async () => {
  const run = runOn([
    (message, worker) => {
      if (message.name !== "start") worker.answers(message, "answered");
      if (message.name === "own") worker.answers(worker.asked[0] as Message, SUMMARY);
    },
  ]);
  const start = run.start({ epochs: 2 });
  run.pause();
  run.step(3);
  run.setLearningRate(0.5);
  assert.equal(await run.ask("weights", { layer: 1 }), "answered");
  await start;
  assert.deepEqual(
    Fake.made[0]?.asked.map(({ name, question }) => [name, question]),
    [
      ["start", { epochs: 2, resume: false }],
      ["pause", undefined],
      ["step", 3],
      ["setLearningRate", 0.5],
      ["own", { name: "weights", question: { layer: 1 } }],
    ],
  );
});

test("without a worker a question is an error, and an order is nothing", async () => {
  const run = runOn([done]);
  run.pause();
  await assert.rejects(run.ask("weights"), /no worker to ask/);
});
