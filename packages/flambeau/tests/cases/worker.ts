import { Checkpoints, openStore, TrainingWorker, type StartOptions } from "flambeau/worker";
import type { Progress } from "flambeau";
import { assert, equal, near, test, throws } from "../harness.js";
import type { LineDialogue, Settings } from "../worker.js";

const open = () => new Worker("/packages/flambeau/tests/.build/worker.mjs", { type: "module" });
const common = (gpu: boolean): StartOptions<Settings> => ({ device: gpu ? "software" : "cpu", epochs: 5, logEvery: 4 });

test("a worker trains, and tells how it goes", async ({ gpu }) => {
  const seen: Progress[] = [];
  const run = new TrainingWorker(open, { onProgress: (progress) => void seen.push(progress) });
  const summary = await run.start(common(gpu));
  run.terminate();
  equal([summary.steps, summary.stopped, seen.map(({ step }) => step)], [20, "done", [4, 8, 12, 16, 20]]);
  assert((seen[4]?.metrics["loss"] ?? 9) < (seen[0]?.metrics["loss"] ?? 0), "the loss falls");
});

test("a worker pauses, takes single steps, changes its rate, goes on and stops", async ({ gpu }) => {
  const paused: number[] = [];
  const rates: number[] = [];
  let asked = false;
  const run = new TrainingWorker(open, {
    onPaused: (step) => {
      paused.push(step);
      if (step === 0) run.step(2);
      if (step === 2) {
        run.setLearningRate(0.01);
        run.resume();
      }
    },
    onProgress: ({ lr, step }) => {
      rates.push(lr);
      if (step >= 8 && !asked) run.stop();
      asked = step >= 8;
    },
  });
  const summary = await run.start({ ...common(gpu), epochs: 1000, paused: true });
  run.terminate();
  equal([summary.stopped, paused, rates[0]], ["asked", [0, 2], 0.01]);
});

test("a worker saves checkpoints, and another run goes on from them", async ({ gpu }) => {
  const name = `again-${performance.now()}`;
  const saved: number[] = [];
  const first = new TrainingWorker(open, { onCheckpoint: (step) => void saved.push(step) });
  await first.start({ ...common(gpu), epochs: 2, name, checkpointEvery: 4 });
  first.terminate();
  equal(saved, [4, 8]);
  const losses: [number[], number[]] = [[], []];
  const note = (into: number[]) => (report: { metrics: Record<string, number> }) => void into.push(report.metrics["loss"] ?? 0);
  for (const [run, options] of [
    [new TrainingWorker(open, { onEpoch: note(losses[0]) }), { ...common(gpu), name, resume: true }],
    [new TrainingWorker(open, { onEpoch: note(losses[1]) }), { ...common(gpu) }],
  ] as const) {
    const summary = await run.start(options);
    equal(summary.steps, 20);
    run.terminate();
  }
  near(losses[0], losses[1].slice(2), 1e-5);
});

test("a checkpoint that cannot be saved is told, and training goes on", async ({ gpu }) => {
  const unsaved: [number, string][] = [];
  const saved: number[] = [];
  const run = new TrainingWorker(open, {
    onUnsaved: (...told) => void unsaved.push(told),
    onCheckpoint: (step) => void saved.push(step),
  });
  // No file can have this name.
  const summary = await run.start({ ...common(gpu), name: "no/such/file", checkpointEvery: 8 });
  run.terminate();
  equal([summary.steps, summary.stopped, saved, unsaved.map(([step]) => step)], [20, "done", [], [8, 16]]);
  assert(
    unsaved.every(([, why]) => why !== ""),
    JSON.stringify(unsaved),
  );
});

test("a file whose first write was cut off holds nothing, and the checkpoint before it is what is left", async () => {
  const name = `cut-${performance.now()}`;
  const store = await openStore();
  const checkpoints = new Checkpoints(store, name);
  await checkpoints.save(Uint8Array.of(1, 2, 3));
  const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("flambeau");
  // What a browser leaves whose tab is killed between the file's making and the closing of its stream.
  await folder.getFileHandle(`${name}.1.safetensors`, { create: true });
  equal(await store.read(`${name}.1.safetensors`), undefined);
  const found: number[][] = [];
  for await (const bytes of new Checkpoints(store, name).latest()) found.push([...bytes]);
  equal(found, [[1, 2, 3]]);
  await checkpoints.clear();
});

test("a lost device is replaced, and training goes on from the last checkpoint", async ({ gpu }) => {
  let lost = false;
  const recovered: [string, number, number][] = [];
  const run = new TrainingWorker(open, {
    onCheckpoint: (step) => {
      if (step === 8 && !lost) {
        lost = true;
        run.loseDevice();
      }
    },
    onRecovered: ({ info, attempt, step }) => void recovered.push([info.type, attempt, step]),
  });
  const summary = await run.start({ ...common(gpu), name: `lost-${performance.now()}`, checkpointEvery: 4 });
  run.terminate();
  equal(summary.steps, 20);
  // The CPU cannot be lost.
  if (!gpu) equal(recovered, []);
  else assert(recovered.length === 1 && recovered[0]?.[0] === "gpu" && (recovered[0]?.[2] ?? 0) >= 8, JSON.stringify(recovered));
});

test("a worker tells notes, and answers between steps, while paused, and after the last step", async ({ gpu }) => {
  const notes: LineDialogue["note"][] = [];
  const asked: Promise<{ step: number }>[] = [];
  const run = new TrainingWorker<LineDialogue>(open, {
    onNote: (note) => void notes.push(note),
    onPaused: (step) => {
      asked.push(run.ask("weight"));
      if (step === 0) run.step();
      else run.resume();
    },
  });
  await run.start({ ...common(gpu), epochs: 1, paused: true });
  asked.push(run.ask("weight"));
  const answers = await Promise.all(asked);
  equal(
    answers.map(({ step }) => step),
    [0, 1, 4],
  );
  equal(notes, [{ after: 4 }]);
  run.terminate();
  await throws(() => run.ask("weight"), "there is no worker to ask");
});

test("an error crosses to the page with name, message and stack, and so does a question that nobody answers", async ({ gpu }) => {
  const run = new TrainingWorker<LineDialogue>(open);
  await run.start({ ...common(gpu), epochs: 1 });
  const thrown = await run.ask("fail", "on purpose").catch((error: unknown) => error);
  assert(thrown instanceof Error && thrown.name === "RangeError" && thrown.message === "on purpose", String(thrown));
  assert(thrown.stack?.includes("worker.mjs") === true, `the stack is the worker's: ${thrown.stack}`);
  // A page that is newer than its worker.
  const newer = run as unknown as TrainingWorker;
  await throws(() => newer.ask("nothing"), "answers no question “nothing”");
  run.terminate();
});

test("a worker whose script is not there ends the run with an error, and so does one whose script breaks", async () => {
  const missing = new TrainingWorker(() => new Worker("/packages/flambeau/tests/.build/nowhere.mjs", { type: "module" }));
  await throws(() => missing.start(), "the worker's script could not be loaded");
  await throws(() => missing.ask("anything"), "the worker's script could not be loaded");
  const script = URL.createObjectURL(new Blob(["throw new TypeError('broken at once')"], { type: "text/javascript" }));
  const broken = new TrainingWorker(() => new Worker(script, { type: "module" }));
  await throws(() => broken.start(), "the worker broke");
});

test("a run whose worker never begins can be stopped, and one that trains can be ended; both are told", async ({ gpu }) => {
  const script = URL.createObjectURL(new Blob([""], { type: "text/javascript" }));
  const silent = new TrainingWorker(() => new Worker(script, { type: "module" }));
  const waiting = silent.start();
  silent.stop();
  await throws(() => waiting, "stopped before the worker had begun");
  const run: TrainingWorker = new TrainingWorker(open, { onProgress: () => run.terminate() });
  await throws(() => run.start({ ...common(gpu), epochs: 1000 }), "the worker has ended");
});

test("what is asked of a run that fails is told the run's error", async ({ gpu }) => {
  const run = new TrainingWorker<LineDialogue>(open, {
    onPaused: () => {
      run.setLearningRate(1e30);
      run.resume();
    },
  });
  await throws(() => run.start({ ...common(gpu), epochs: 1000, logEvery: 1, paused: true }), "the loss is");
  await throws(() => run.ask("weight"), "the loss is");
  run.terminate();
});

test("a device that is lost before the first checkpoint begins anew, not from another run's checkpoint", async ({ gpu }) => {
  const name = `reused-${performance.now()}`;
  const before = new TrainingWorker(open);
  await before.start({ ...common(gpu), epochs: 1, name, checkpointEvery: 4 });
  before.terminate();
  const recovered: number[] = [];
  let lost = false;
  const run = new TrainingWorker(open, {
    onProgress: () => {
      if (!lost) run.loseDevice();
      lost = true;
    },
    onRecovered: ({ step }) => void recovered.push(step),
  });
  const summary = await run.start({ ...common(gpu), name });
  run.terminate();
  // The CPU cannot be lost.
  equal([summary.steps, recovered], [20, gpu ? [0] : []]);
});

/** The losses of the epochs, and how often a worker was replaced, when `disturb` is called at each checkpoint. */
async function disturbed(gpu: boolean, settings: Settings, disturb: (run: TrainingWorker<LineDialogue>, step: number) => void) {
  const [losses, restarts]: [number[], string[]] = [[], []];
  const run = new TrainingWorker<LineDialogue>(open, {
    onEpoch: ({ epoch, metrics }) => (losses[epoch - 1] = metrics["loss"] ?? 0),
    onCheckpoint: (step) => disturb(run, step),
    onRestarted: (why) => void restarts.push(why),
  });
  const name = `disturbed-${performance.now()}`;
  const summary = await run.start({ ...common(gpu), name, checkpointEvery: 4, settings });
  run.terminate();
  equal(summary.steps, 20);
  return { losses, restarts };
}

test("when WebAssembly panics while something is waited for, another worker goes on from the last checkpoint, to the same end", async ({
  gpu,
}) => {
  const calm = await disturbed(gpu, {}, () => undefined);
  equal(calm.restarts, []);
  let crashed = false;
  const broken = await disturbed(gpu, {}, (run, step) => {
    if (step === 8 && !crashed) run.crash();
    crashed ||= step === 8;
  });
  assert(broken.restarts.length === 1 && /asked for|unreachable/.test(broken.restarts[0] ?? ""), JSON.stringify(broken.restarts));
  near(broken.losses.at(-1), calm.losses.at(-1), 1e-6);
});

test("a trap that nobody waits for ends the worker too, and a worker that always breaks is given up", async ({ gpu }) => {
  await throws(() => disturbed(gpu, { trap: true }, () => undefined), "the worker broke");
});

test("the page goes on while a worker compiles and trains, and is told how far that is", async ({ gpu, note }) => {
  // Timers of the page alone end this run: on a page that its worker holds up it would take all its steps.
  let ticks = 0;
  let steps = 0;
  let compiling = false;
  const compiled: [number, number][] = [];
  const run = new TrainingWorker<LineDialogue>(open, {
    onDevice: () => {
      compiling = true;
    },
    onCompile: (done, all) => void (compiling && compiled.push([done, all])),
    onProgress: ({ step }) => {
      compiling = false;
      steps = step;
    },
  });
  const ticking = setInterval(() => {
    ticks += 1;
    if (ticks >= 3 && steps >= 1) run.stop();
  }, 10);
  const summary = await run.start({ ...common(gpu), epochs: 1000, logEvery: 1, settings: { model: "cnn" } });
  run.terminate();
  clearInterval(ticking);
  note(`${ticks} timers of the page until its worker had stopped, after ${summary.steps} steps`);
  equal(summary.stopped, "asked");
  if (gpu) {
    const last = compiled.at(-1) ?? [0, 1];
    note(`${compiled.length} times told how far compiling is before the first step, at last ${last.join(" of ")}`);
    assert(compiled.length > 10 && last[0] === last[1], "every kernel of the first step is told of before its end");
  }
});
