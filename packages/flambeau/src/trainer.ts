/** The loop: epochs, metrics, clipping, schedules, evaluation, checkpoints. */

import { autocast, GradScaler, type GradScalerState } from "./amp.js";
import { noGrad } from "./autograd.js";
import { currentDevice } from "./device.js";
import type { DataLoader } from "./data.js";
import type { GradScalerOptions } from "./generated/optimizers.js";
import { readCheckpoint, writeCheckpoint, type Source } from "./io.js";
import { clipGradNorm, gradNorm } from "./nn/index.js";
import type { Module } from "./nn/module.js";
import type { Optimizer, Scheduler, SchedulerState } from "./optim.js";
import { generatorCounter, setGeneratorCounter } from "./random.js";
import { scope } from "./scope.js";
import { evaluate, items, tensor, type Tensor } from "./tensor.js";

/** What became of a batch: the mean loss, and sums of metrics over its items. */
export interface Outcome {
  loss: Tensor;
  /** Items in the batch. */
  count: number;
  /** Sums over the items, such as the number of right answers: `accuracy` becomes their mean. */
  metrics?: Record<string, Tensor>;
}

/** How training goes, every `logEvery` steps. */
export interface Progress {
  step: number;
  steps: number;
  epoch: number;
  /** Means since the last report; `gradNorm`, where it is asked for, is of this step. */
  metrics: Record<string, number>;
  lr: number;
  samplesPerSecond: number;
}

/** What an epoch came to. */
export interface EpochReport {
  epoch: number;
  metrics: Record<string, number>;
  /** Means over the test batches, under `test_` names. */
  test: Record<string, number>;
}

/** What a run came to. */
export interface Summary {
  steps: number;
  epochs: EpochReport[];
  seconds: number;
  stopped: "done" | "asked" | "early";
}

/** Settings of a run. */
export interface TrainerOptions {
  epochs?: number;
  maxSteps?: number;
  logEvery?: number;
  clipGradNorm?: number;
  /** Adds `gradNorm` to the metrics of every report: the norm of all gradients together at that step, before clipping. */
  gradNorm?: boolean;
  /** Batches whose gradients are added up before a step. */
  accumulation?: number;
  /**
   * Trains and evaluates in mixed precision, with a `GradScaler` of these settings: losses are made in a scope of `autocast`. A GPU
   * needs the feature `shader-f16`.
   */
  amp?: boolean | GradScalerOptions;
  scheduler?: Scheduler;
  schedulePer?: "step" | "epoch";
  /** Ends when a metric of the epochs has not improved for `patience` of them. */
  earlyStopping?: { metric: string; patience: number; minDelta?: number; goal?: "min" | "max" };
  /** Steps between checkpoints. */
  checkpointEvery?: number;
  /** Given each checkpoint. */
  onCheckpoint?: (bytes: Uint8Array, step: number) => void | Promise<void>;
  /** Told every `logEvery` steps. */
  onProgress?: (progress: Progress) => void | Promise<void>;
  /** Told after each epoch. */
  onEpoch?: (report: EpochReport) => void | Promise<void>;
  /** Asked before each step; true ends the run. */
  shouldStop?: () => boolean | Promise<boolean>;
}

/** What a checkpoint holds beside model and optimizer. */
interface SavedRun {
  step: number;
  loader: ReturnType<DataLoader["state"]> | null;
  scheduler: SchedulerState | null;
  /** Of a run in mixed precision. */
  scaler?: GradScalerState;
  generator: number;
}

/** Right answers in a batch of logits (N, C) against class numbers (N). */
export function correct(logits: Tensor, labels: Tensor): Tensor {
  return logits.argmax(1).eq(labels).sum();
}

/** Sums of losses and metrics, which stay on the device until they are read. */
class Sums {
  #sums = new Map<string, Tensor>();
  count = 0;

  add({ loss, count, metrics = {} }: Outcome): void {
    const parts = { loss: loss.detach().mul(count), ...metrics };
    for (const [name, value] of Object.entries(parts)) {
      const before = this.#sums.get(name);
      const sum = value.toDtype("f32");
      this.#sums.set(name, (before === undefined ? sum : before.add(sum)).keep());
      before?.dispose();
    }
    this.count += count;
  }

  /** Computes the sums so far, so that nothing chains from batch to batch. */
  settle(): void {
    if (this.#sums.size > 0) evaluate([...this.#sums.values()]);
  }

  /** The means, and nothing is left. What else is to be read comes with them, in the same read. */
  async take(others: Record<string, Tensor> = {}): Promise<Record<string, number>> {
    const [sums, count] = [this.#sums, this.count];
    this.#sums = new Map();
    this.count = 0;
    const names = [...sums.keys(), ...Object.keys(others)];
    const tensors = [...sums.values(), ...Object.values(others)];
    const values = tensors.length === 0 ? [] : await items(tensors);
    for (const tensor of tensors) tensor.dispose();
    return Object.fromEntries(names.map((name, index) => [name, (values[index] ?? Number.NaN) / (sums.has(name) ? count : 1)]));
  }
}

/** Trains a model. What a batch is and what its loss is, the function given to `fit` says. */
export class Trainer<M extends Module> {
  #step = 0;
  /** Has a batch been drawn that no step has used yet? */
  #isDrawn = false;
  /** In mixed precision. */
  readonly #scaler: GradScaler | undefined;

  constructor(
    readonly model: M,
    readonly optimizer: Optimizer,
    readonly options: TrainerOptions = {},
  ) {
    model.setNames();
    const { amp = false } = options;
    this.#scaler = amp === false ? undefined : new GradScaler(amp === true ? {} : amp);
  }

  /** What became of a batch, in the precision that was asked for. */
  #outcome(batch: Tensor[], outcome: (model: M, batch: Tensor[]) => Outcome): Outcome {
    const made = () => outcome(this.model, batch);
    return this.#scaler === undefined ? made() : autocast(made);
  }

  /** Steps so far. */
  get step(): number {
    return this.#step;
  }

  /** Trains until the last epoch or step, and evaluates after each epoch if there are batches for that. */
  async fit(batches: DataLoader, outcome: (model: M, batch: Tensor[]) => Outcome, test?: DataLoader): Promise<Summary> {
    const { epochs = 1, maxSteps = Number.POSITIVE_INFINITY, logEvery = 50, accumulation = 1 } = this.options;
    const { scheduler, schedulePer = "step", checkpointEvery, onCheckpoint, shouldStop } = this.options;
    const start = performance.now();
    const steps = Math.min(maxSteps, epochs * batches.length);
    const epochReports: EpochReport[] = [];
    const [recent, whole] = [new Sums(), new Sums()];
    let stopped: Summary["stopped"] = "done";
    let [since, samples] = [start, 0];
    const best = { value: Number.NaN, epoch: 0 };

    this.model.train();
    while (stopped === "done" && this.#step < steps && batches.epoch < epochs) {
      for await (const batch of batches) {
        this.#isDrawn = true;
        if ((await shouldStop?.()) === true) stopped = "asked";
        if (stopped !== "done" || this.#step >= steps) break;
        const reports = (this.#step + 1) % logEvery === 0 || this.#step + 1 === steps;
        const { count, gradNorm } = this.#train(batch, outcome, accumulation, [recent, whole], reports);
        samples += count;
        if (schedulePer === "step") scheduler?.step();
        if (reports) {
          const metrics = await recent.take(gradNorm === undefined ? {} : { gradNorm });
          if (!Number.isFinite(metrics["loss"] ?? 0)) {
            throw new Error(`flambeau: the loss is ${metrics["loss"]} near step ${this.#step}; try a smaller learning rate`);
          }
          const now = performance.now();
          const samplesPerSecond = (1000 * samples) / Math.max(now - since, 1e-3);
          [since, samples] = [now, 0];
          const { epoch } = batches;
          await this.options.onProgress?.({ step: this.#step, steps, epoch, metrics, lr: this.optimizer.lr, samplesPerSecond });
        }
        if (checkpointEvery !== undefined && this.#step % checkpointEvery === 0) {
          await onCheckpoint?.(await this.checkpoint(batches), this.#step);
        }
      }
      // A batch that was not used comes again.
      if (this.#isDrawn) batches.load(this.#used(batches));
      this.#isDrawn = false;
      if (stopped !== "done") break;
      // A checkpoint of an epoch's last step has no batch of it left.
      if (whole.count === 0) continue;
      const metrics = await whole.take();
      const tested = test === undefined ? {} : await this.evaluate(test, outcome);
      const report = { epoch: batches.epoch, metrics, test: tested };
      epochReports.push(report);
      if (schedulePer === "epoch") scheduler?.step(tested["test_loss"] ?? metrics["loss"]);
      await this.options.onEpoch?.(report);
      if (this.#isStuck(report, best)) stopped = "early";
    }
    return { steps: this.#step, epochs: epochReports, seconds: (performance.now() - start) / 1000, stopped };
  }

  /** One step. Of one that a report follows the norm of the gradients is computed along with it, where that is asked for. */
  #train(
    batch: Tensor[],
    outcome: (model: M, batch: Tensor[]) => Outcome,
    accumulation: number,
    sums: Sums[],
    reports: boolean,
  ): { count: number; gradNorm: Tensor | undefined } {
    this.#isDrawn = false;
    return scope(() => {
      const scaler = this.#scaler;
      const { clipGradNorm: most, gradNorm: isAsked = false } = this.options;
      const result = this.#outcome(batch, outcome);
      const loss = accumulation === 1 ? result.loss : result.loss.div(accumulation);
      (scaler?.scale(loss) ?? loss).backward();
      for (const sum of sums) sum.add(result);
      this.#step += 1;
      const isWhole = this.#step % accumulation === 0;
      const isLookedAt = (reports && isAsked) || most !== undefined;
      if (isWhole && isLookedAt) scaler?.unscale(this.optimizer);
      let norm: Tensor | undefined;
      if (reports && isAsked) {
        norm = gradNorm(this.model.parameters());
        // Gradients that others are still to be added to are as the scaled loss made them.
        if (!isWhole && scaler !== undefined) norm = norm.div(scaler.scale(tensor(1)));
        norm.keep();
      }
      if (isWhole) {
        if (most !== undefined) clipGradNorm(this.model.parameters(), most);
        if (scaler === undefined) {
          this.optimizer.step();
        } else {
          scaler.step(this.optimizer);
          scaler.update();
        }
        this.optimizer.zeroGrad();
      }
      return { count: result.count, gradNorm: norm };
    });
  }

  #isStuck({ metrics, test }: EpochReport, best: { value: number; epoch: number }): boolean {
    const { earlyStopping } = this.options;
    if (earlyStopping === undefined) return false;
    const { metric, patience, minDelta = 0, goal = "min" } = earlyStopping;
    const value = { ...metrics, ...test }[metric];
    if (value === undefined) throw new Error(`flambeau: early stopping looks at ${metric}, which there is not`);
    const gain = goal === "min" ? best.value - value : value - best.value;
    if (Number.isNaN(best.value) || gain > minDelta) {
      best.value = value;
      best.epoch = 0;
    } else {
      best.epoch += 1;
    }
    return best.epoch >= patience;
  }

  /** Means over all batches, under `test_` names, in evaluation mode. */
  async evaluate(batches: DataLoader, outcome: (model: M, batch: Tensor[]) => Outcome): Promise<Record<string, number>> {
    this.model.eval();
    const sums = new Sums();
    try {
      for await (const batch of batches) {
        scope(() => noGrad(() => sums.add(this.#outcome(batch, outcome))));
        sums.settle();
        await currentDevice().throttle();
      }
    } finally {
      this.model.train();
    }
    const means = await sums.take();
    return Object.fromEntries(Object.entries(means).map(([name, value]) => [`test_${name}`, value]));
  }

  /** Where the batches are, without one that was drawn and not used. */
  #used(batches: DataLoader): ReturnType<DataLoader["state"]> {
    const state = batches.state();
    return this.#isDrawn ? { ...state, position: state.position - 1 } : state;
  }

  /** Everything the run needs to go on later, as bytes. */
  async checkpoint(batches?: DataLoader): Promise<Uint8Array> {
    const scaler = await this.#scaler?.state();
    const values: SavedRun = {
      step: this.#step,
      loader: batches === undefined ? null : this.#used(batches),
      scheduler: this.options.scheduler?.state() ?? null,
      ...(scaler && { scaler }),
      generator: generatorCounter(),
    };
    return writeCheckpoint(this.model, this.optimizer, { trainer: values });
  }

  /** Goes on from a checkpoint. */
  async resume(source: Source, batches?: DataLoader): Promise<void> {
    const { trainer } = (await readCheckpoint(source, this.model, this.optimizer)) as {
      trainer?: SavedRun;
    };
    if (trainer === undefined) throw new Error("flambeau: the checkpoint is not a trainer's");
    this.#step = trainer.step;
    setGeneratorCounter(trainer.generator);
    if (trainer.loader !== null) batches?.load(trainer.loader);
    if (trainer.scheduler !== null) this.options.scheduler?.load(trainer.scheduler);
    if (trainer.scaler !== undefined) this.#scaler?.load(trainer.scaler);
  }
}
