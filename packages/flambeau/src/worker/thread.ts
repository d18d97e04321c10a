/** The worker's side of training off the main thread. */

import { currentDevice, init, type Device } from "../device.js";
import type { DataLoader } from "../data.js";
import type { Module } from "../nn/module.js";
import type { Optimizer, Scheduler } from "../optim.js";
import type { Tensor } from "../tensor.js";
import { Trainer, type EpochReport, type Outcome, type Progress, type TrainerOptions } from "../trainer.js";
import type { Command, Report, StartOptions } from "./messages.js";
import { Checkpoints, openStore } from "./store.js";
import { arrived, wasm } from "../wasm.js";

/** What is trained, on the device that `define` finds as the current one. */
export interface Training<M extends Module> {
  model: M;
  optimizer: Optimizer;
  batches: DataLoader;
  test?: DataLoader;
  /** What became of a batch. */
  outcome: (model: M, batch: Tensor[]) => Outcome;
  scheduler?: Scheduler;
  schedulePer?: TrainerOptions["schedulePer"];
  /** Called after a report of progress; training waits for it. */
  onProgress?: (progress: Progress, trainer: Trainer<M>) => void | Promise<void>;
  /** Called after an epoch; training waits for it. */
  onEpoch?: (report: EpochReport, trainer: Trainer<M>) => void | Promise<void>;
  /** Answers what the page asks (`TrainingWorker.ask`), between two steps, while paused, or after the last step. */
  answer?: (question: unknown, trainer: Trainer<M>) => unknown;
}

/** Makes what is trained; called again when the device was lost. What it tells reaches the page's `onNote`. */
export type Define<M extends Module> = (settings: unknown, tell: (note: unknown) => void) => Training<M> | Promise<Training<M>>;

/** Lost devices that are replaced by their like before the CPU takes over. */
const MOST_REPLACEMENTS = 3;
/** How long training may go on before messages are let in, in milliseconds. */
const SLICE = 12;

/** Lets waiting messages in. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

class Run<M extends Module> {
  #paused: boolean;
  #permits = 0;
  #stopped = false;
  #wake: () => void = () => undefined;
  #last = 0;
  #trainer: Trainer<M> | undefined;
  #lr: number | undefined;
  #saveNow = false;
  #crashNow = false;
  #checkpoints: Checkpoints | undefined;
  /** Is the latest checkpoint of that name this run's? Another run may have left one. */
  #isOwn: boolean;
  #device: Device | undefined;
  #answer: ((question: unknown) => unknown) | undefined;
  #questions: { id: number; question: unknown }[] = [];
  /** Is the loop over? Questions are then answered as they come. */
  #over = false;

  constructor(
    readonly define: Define<M>,
    readonly options: StartOptions,
    readonly tell: (report: Report) => void,
  ) {
    this.#paused = options.paused ?? false;
    this.#isOwn = options.resume ?? false;
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#wake();
  }

  step(count: number): void {
    this.#permits += count;
    this.#wake();
  }

  stop(): void {
    this.#stopped = true;
    this.#wake();
  }

  setLearningRate(lr: number): void {
    this.#lr = lr;
    if (this.#trainer !== undefined) this.#trainer.optimizer.lr = lr;
  }

  checkpoint(): void {
    this.#saveNow = true;
    this.#wake();
  }

  loseDevice(): void {
    this.#device?.destroy();
    this.#wake();
  }

  ask(id: number, question: unknown): void {
    this.#questions.push({ id, question });
    if (this.#over && this.#questions.length === 1) void this.#answerAll();
    else this.#wake();
  }

  /** Answers what has been asked so far. */
  async #answerAll(): Promise<void> {
    for (let next = this.#questions[0]; next !== undefined; next = this.#questions[0]) {
      const { id, question } = next;
      try {
        if (this.#answer === undefined) throw new Error("flambeau: this training answers no questions");
        this.tell({ type: "answer", id, answer: await this.#answer(question) });
      } catch (error) {
        this.tell({ type: "noAnswer", id, message: error instanceof Error ? error.message : String(error) });
      }
      this.#questions.shift();
    }
  }

  #isHeld(): boolean {
    return this.#paused && this.#permits === 0 && !this.#stopped;
  }

  crash(): void {
    this.#crashNow = true;
    this.#wake();
  }

  /** Asked before each step: lets messages in, waits while paused. */
  async #mayStop(batches: DataLoader): Promise<boolean> {
    if (performance.now() - this.#last > SLICE) {
      await breathe();
      this.#last = performance.now();
    }
    let told = false;
    while (this.#isHeld()) {
      if (this.#saveNow) await this.#save(batches);
      await this.#answerAll();
      if (!told) this.tell({ type: "paused", step: this.#trainer?.step ?? 0 });
      told = true;
      // Messages may have come in meanwhile.
      if (this.#isHeld() && !this.#saveNow && this.#questions.length === 0) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
    if (this.#saveNow) await this.#save(batches);
    await this.#answerAll();
    if (this.#crashNow) await arrived(wasm().module_panic());
    if (this.#permits > 0) this.#permits -= 1;
    const { error } = currentDevice();
    if (error !== undefined) throw new Error(error);
    return this.#stopped;
  }

  async #save(batches: DataLoader): Promise<void> {
    this.#saveNow = false;
    if (this.#trainer === undefined) return;
    const bytes = await this.#trainer.checkpoint(batches);
    await this.#keep(bytes, this.#trainer.step);
  }

  async #keep(bytes: Uint8Array, step: number): Promise<void> {
    this.#checkpoints ??= new Checkpoints(await openStore(), this.options.name ?? "run");
    await this.#checkpoints.save(bytes);
    this.#isOwn = true;
    this.tell({ type: "checkpoint", step, bytes: bytes.byteLength });
  }

  /** Goes on from the newest checkpoint that is whole. */
  async #load(trainer: Trainer<M>, batches: DataLoader): Promise<void> {
    this.#checkpoints ??= new Checkpoints(await openStore(), this.options.name ?? "run");
    let problem: unknown;
    for await (const bytes of this.#checkpoints.latest()) {
      try {
        await trainer.resume(bytes, batches);
        return;
      } catch (error) {
        problem = error;
      }
    }
    if (problem !== undefined) throw problem;
  }

  async #once(
    device: NonNullable<StartOptions["device"]>,
    resume: boolean,
    lost?: { why: string; attempt: number },
  ): Promise<void> {
    const {
      wasm: source,
      powerPreference,
      memoryLimit,
      settings,
      epochs = 1,
      maxSteps,
      logEvery = 50,
      clipGradNorm,
      checkpointEvery,
    } = this.options;
    this.#device = await init({
      device,
      onCompile: (done, all) => this.tell({ type: "compile", done, all }),
      ...(powerPreference && { powerPreference }),
      ...(memoryLimit !== undefined && { memoryLimit }),
      ...(source !== undefined && { wasm: source }),
    });
    if (lost === undefined) this.tell({ type: "device", info: this.#device.info });
    const made = await this.define(settings, (note) => this.tell({ type: "note", note }));
    const { model, optimizer, batches, test, outcome, scheduler, schedulePer = "step" } = made;
    const trainer: Trainer<M> = new Trainer(model, optimizer, {
      epochs,
      logEvery,
      schedulePer,
      ...(maxSteps !== undefined && { maxSteps }),
      ...(clipGradNorm !== undefined && { clipGradNorm }),
      ...(scheduler !== undefined && { scheduler }),
      ...(checkpointEvery !== undefined && { checkpointEvery }),
      onCheckpoint: (bytes, step) => this.#keep(bytes, step),
      onProgress: (progress) => {
        this.tell({ type: "progress", progress });
        return made.onProgress?.(progress, trainer);
      },
      onEpoch: (report) => {
        this.tell({ type: "epoch", report });
        return made.onEpoch?.(report, trainer);
      },
      shouldStop: () => this.#mayStop(batches),
    });
    this.#trainer = trainer;
    this.#answer = made.answer && ((question) => made.answer?.(question, trainer));
    if (resume) await this.#load(trainer, batches);
    if (this.#lr !== undefined) optimizer.lr = this.#lr;
    if (lost !== undefined) {
      this.tell({ type: "recovered", ...lost, info: this.#device.info, step: trainer.step });
    }
    const summary = await trainer.fit(batches, outcome, test);
    await this.#answerAll();
    this.#over = true;
    this.tell({ type: "done", summary });
  }

  /** Trains, and begins again from its last checkpoint (or from the start) when the device is lost. */
  async all(): Promise<void> {
    const wanted = this.options.device ?? "best";
    let lost: { why: string; attempt: number } | undefined;
    for (;;) {
      const device = lost !== undefined && lost.attempt > MOST_REPLACEMENTS ? "cpu" : wanted;
      try {
        await this.#once(device, this.#isOwn, lost);
        return;
      } catch (error) {
        const why = this.#device?.error;
        // The CPU is the last resort: what fails there has failed.
        if (why === undefined || device === "cpu" || error instanceof WebAssembly.RuntimeError) throw error;
        lost = { why, attempt: (lost?.attempt ?? 0) + 1 };
      }
    }
  }
}

/**
 * Trains in this worker as a page's `TrainingWorker` asks.
 *
 * ```ts
 * // train.worker.ts
 * import { nn, optim } from "flambeau";
 * import { runTraining } from "flambeau/worker";
 * runTraining(async () => ({ model, optimizer, batches, outcome }));
 * ```
 */
export function runTraining<M extends Module>(define: Define<M>): void {
  const world = globalThis as unknown as {
    postMessage(report: Report): void;
    onmessage: ((event: MessageEvent<Command>) => void) | null;
  };
  const tell = (report: Report) => world.postMessage(report);
  let run: Run<M> | undefined;
  world.onmessage = ({ data: command }) => {
    switch (command.type) {
      case "start": {
        const started = new Run(define, command.options, tell);
        run = started;
        started.all().catch((error: unknown) => {
          const message = error instanceof Error ? error.message : String(error);
          tell({ type: "failed", message, dead: error instanceof WebAssembly.RuntimeError });
        });
        return;
      }
      case "step":
        run?.step(command.count);
        return;
      case "setLearningRate":
        run?.setLearningRate(command.lr);
        return;
      case "ask":
        if (run === undefined) tell({ type: "noAnswer", id: command.id, message: "flambeau: nothing is being trained" });
        else run.ask(command.id, command.question);
        return;
      default:
        run?.[command.type]();
    }
  };
  tell({ type: "ready" });
}
