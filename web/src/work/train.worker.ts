/** The worker that trains: one run, as its task says. */

import { autocast, currentDevice, DataLoader, io, manualSeed, type nn, type Progress, type Tensor, type Trainer } from "flambeau";
import { Checkpoints, openStore, runTraining } from "flambeau/worker";
import { metadataOf } from "./about.js";
import { assess, inspect } from "./assess.js";
import { augment } from "./augment.js";
import { misfit } from "./errors.js";
import { fingerprint } from "./fingerprint.js";
import { readLayers } from "./layers.js";
import type { Note, TrainDialogue } from "./messages.js";
import { buildModel } from "./model.js";
import { outcomeOf } from "./objective.js";
import { makeOptimizer } from "./optimizer.js";
import { RatePlan } from "./rates.js";
import { hostArrays, openSet, toInput } from "./sets.js";

/** Steps between looks at the test items, and how many of them. */
const ASSESS_EVERY = 100;
const ASSESS_ITEMS = 1000;
/** Milliseconds between looks inside. */
const INSPECT_EVERY = 2000;

/** Step times and counts of the device between two reports, without pauses and the looks at the model. */
class Meter {
  #since = 0;
  #steps = 0;
  #kernels = 0;
  #submissions = 0;

  /** Begins to measure: now, or with the next step where nothing has been measured yet. */
  begin(): void {
    const { kernels, submissions } = currentDevice().stats;
    [this.#since, this.#steps, this.#kernels, this.#submissions] = [performance.now(), 0, kernels, submissions];
  }

  /** A step is being taken. */
  count(): void {
    if (this.#since === 0) this.begin();
    this.#steps += 1;
  }

  read({ step }: Progress, batch: number): Note {
    const { stats, memory, info } = currentDevice();
    const steps = Math.max(this.#steps, 1);
    const stepMs = (performance.now() - this.#since) / steps;
    return {
      kind: "stats",
      step,
      seconds: (steps * stepMs) / 1000,
      stepMs,
      samplesPerSecond: (1000 * batch) / stepMs,
      // On the CPU tensors lie in the module's own memory.
      memory: info.type === "cpu" ? memory.wasm : memory.inUse,
      peak: memory.peak,
      kernels: (stats.kernels - this.#kernels) / steps,
      submissions: (stats.submissions - this.#submissions) / steps,
    };
  }
}

async function takeUp(model: nn.Sequential, weights: Uint8Array): Promise<void> {
  try {
    model.loadStateDict(await io.readSafetensors(weights));
  } catch (error) {
    throw misfit(error);
  }
}

runTraining<nn.Sequential, TrainDialogue>(async (task, tell) => {
  const { settings, source, weights } = task;
  const set = await openSet(source, tell);
  const print = set.fingerprint ?? fingerprint(set);
  if (task.fingerprint !== undefined && task.fingerprint !== print)
    throw new Error(`The data are not those that the run was begun with (fingerprint ${print}, not ${task.fingerprint})`);
  const { shape, classes } = set;
  manualSeed(settings.seed);
  const layers = readLayers(settings.layers);
  if (layers === undefined) throw new Error(`the layers cannot be read: ${settings.layers}`);
  const model = buildModel(layers, shape);
  if (weights !== undefined) await takeUp(model, weights);
  const train = hostArrays(set.train, shape, settings.items === 0 ? undefined : settings.items);
  const optimizer = makeOptimizer(settings.optimizer, model.parameters(), { lr: settings.lr, weightDecay: settings.decay });
  let looked = false;
  const plan = new RatePlan(optimizer, settings.lr, settings.rates, (step) => {
    // A run that goes on looks when it would have looked.
    looked = true;
    tell({ kind: "resumed", step });
  });
  const batches = new DataLoader(train, { batchSize: settings.batch, shuffle: settings.seed });
  tell({
    kind: "set",
    shape,
    classes,
    number: set.number,
    train: batches.items,
    validation: set.validation?.labels.length ?? 0,
    test: set.test.labels.length,
    parameters: model.parameterCount(),
    fingerprint: print,
  });
  const meter = new Meter();
  let inspected = -Infinity;

  const look = async (trainer: Trainer<nn.Sequential>, most: number) => {
    tell({ kind: "assessment", assessment: await assess(model, set, trainer.step, "validation", most) });
    if (performance.now() - inspected < INSPECT_EVERY) return;
    tell({ kind: "inspection", inspection: await inspect(model, set, trainer.step) });
    inspected = performance.now();
  };

  return {
    model,
    optimizer,
    scheduler: plan,
    batches,
    outcome: (model, [items, y]: Tensor[]) => {
      if (items === undefined || y === undefined) throw new Error("a batch is items and labels");
      meter.count();
      const x = toInput(items);
      // Pictures are changed in full precision, whatever the network computes in.
      const changed = () => autocast(() => augment(x, settings), { enabled: false });
      return outcomeOf(model.forward(model.training && shape.length === 3 ? changed() : x), y);
    },
    async onProgress(progress, trainer) {
      tell(meter.read(progress, settings.batch));
      // The first look comes early: a slow model shows something, too.
      if (!looked || progress.step % ASSESS_EVERY === 0) await look(trainer, ASSESS_ITEMS);
      looked = true;
      meter.begin();
    },
    answers: {
      assess: (_, { step }) =>
        assess(model, set, step, "test", Infinity, (part) =>
          tell({ kind: "loading", label: "Reading the whole test set", part }),
        ),
      inspect: (_, { step }) => inspect(model, set, step),
      keep: async (_, trainer) => {
        const bytes = await trainer.checkpoint(batches);
        const files = new Checkpoints(await openStore(), task.checkpoints);
        // It finds out which of its two files is the older one.
        await files.latest().next();
        await files.save(bytes);
        return { step: trainer.step, bytes: bytes.length };
      },
      rested: () => meter.begin(),
      rate: (lr) => {
        const step = plan.change(lr);
        // A lost device is replaced by one that is made from these settings.
        settings.rates = plan.rates;
        return step;
      },
      export: () => io.writeSafetensors(model.stateDict(), metadataOf(settings.layers, set)),
    },
  };
});
