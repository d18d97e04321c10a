/** The worker's side of training off the main thread. */

import { currentDevice, init, type Device } from "../device.js";
import type { DataLoader } from "../data.js";
import type { Module } from "../nn/module.js";
import type { Optimizer, Scheduler } from "../optim.js";
import type { Tensor } from "../tensor.js";
import { Trainer, type EpochReport, type Outcome, type Progress, type Summary, type TrainerOptions } from "../trainer.js";
import { isTrap, type Dialogue, type Report, type StartOptions, type TrainingQuestions } from "./messages.js";
import { answerQuestions } from "./protocol.js";
import { Checkpoints, openStore } from "./store.js";
import { arrived, wasm } from "../wasm.js";

/** What is trained, on the device that `define` finds as the current one. */
export interface Training<M extends Module, D extends Dialogue = Dialogue> {
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
  /** Answer what the page asks (`TrainingWorker.ask`), between two steps, while paused, or after the last step. */
  answers?: {
    [K in keyof D["questions"]]: (
      question: D["questions"][K]["ask"],
      trainer: Trainer<M>,
    ) => D["questions"][K]["answer"] | Promise<D["questions"][K]["answer"]>;
  };
}

/** Makes what is trained; called again when the device was lost. What it tells reaches the page's `onNote`. */
export type Define<M extends Module, D extends Dialogue = Dialogue> = (
  settings: D["settings"],
  tell: (note: D["note"]) => void,
) => Training<M, D> | Promise<Training<M, D>>;

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

/** A question that waits for the end of a step. */
interface Waiting {
  name: string;
  question: unknown;
  resolve: (answer: unknown) => void;
  reject: (error: unknown) => void;
}

class Run<M extends Module, D extends Dialogue> {
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
  #answer: (name: string, question: unknown) => unknown = () => undefined;
  #questions: Waiting[] = [];
  /** Is the loop over? Questions are then answered as they come. */
  #over = false;

  constructor(
    readonly define: Define<M, D>,
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

  ask(name: string, question: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#questions.push({ name, question, resolve, reject });
      if (this.#over && this.#questions.length === 1) void this.#answerAll();
      else this.#wake();
    });
  }

  /** Answers what has been asked so far. */
  async #answerAll(): Promise<void> {
    for (let next = this.#questions[0]; next !== undefined; next = this.#questions[0]) {
      const { name, question, resolve, reject } = next;
      try {
        resolve(await this.#answer(name, question));
      } catch (error) {
        reject(error);
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

  /** Saves a checkpoint; where that is not possible, the page is told, and training goes on. */
  async #keep(bytes: Uint8Array, step: number): Promise<void> {
    try {
      this.#checkpoints ??= new Checkpoints(await openStore(), this.options.name ?? "run");
      await this.#checkpoints.save(bytes);
    } catch (error) {
      this.tell({ type: "unsaved", step, why: error instanceof Error ? error.message : String(error) });
      return;
    }
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
  ): Promise<Summary> {
    const {
      wasm: source,
      powerPreference,
      memoryLimit,
      matmulPrecision,
      settings,
      epochs = 1,
      maxSteps,
      logEvery = 50,
      clipGradNorm,
      gradNorm = false,
      amp = false,
      checkpointEvery,
    } = this.options;
    this.#device = await init({
      device,
      onCompile: (done, all) => this.tell({ type: "compile", done, all }),
      ...(powerPreference && { powerPreference }),
      ...(memoryLimit !== undefined && { memoryLimit }),
      ...(matmulPrecision !== undefined && { matmulPrecision }),
      ...(source !== undefined && { wasm: source }),
    });
    if (lost === undefined) this.tell({ type: "device", info: this.#device.info });
    const made = await this.define(settings, (note) => this.tell({ type: "note", note }));
    const { model, optimizer, batches, test, outcome, scheduler, schedulePer = "step" } = made;
    const trainer: Trainer<M> = new Trainer(model, optimizer, {
      epochs,
      logEvery,
      schedulePer,
      gradNorm,
      amp,
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
    const answers: Training<M>["answers"] = made.answers ?? {};
    this.#answer = (name, question) => {
      if (!Object.hasOwn(answers, name)) throw new Error(`flambeau: this training answers no question “${name}”`);
      return answers[name]?.(question, trainer);
    };
    if (resume) await this.#load(trainer, batches);
    if (this.#lr !== undefined) optimizer.lr = this.#lr;
    if (lost !== undefined) {
      this.tell({ type: "recovered", ...lost, info: this.#device.info, step: trainer.step });
    }
    const summary = await trainer.fit(batches, outcome, test);
    await this.#answerAll();
    this.#over = true;
    return summary;
  }

  /** Trains, and begins again from its last checkpoint (or from the start) when the device is lost. */
  async #attempts(): Promise<Summary> {
    const wanted = this.options.device ?? "best";
    let lost: { why: string; attempt: number } | undefined;
    for (;;) {
      const device = lost !== undefined && lost.attempt > MOST_REPLACEMENTS ? "cpu" : wanted;
      try {
        return await this.#once(device, this.#isOwn, lost);
      } catch (error) {
        const why = this.#device?.error;
        // The CPU is the last resort: what fails there has failed.
        if (why === undefined || device === "cpu" || isTrap(error)) throw error;
        lost = { why, attempt: (lost?.attempt ?? 0) + 1 };
      }
    }
  }

  /** Trains to the end. */
  async all(): Promise<Summary> {
    try {
      return await this.#attempts();
    } catch (error) {
      // There is no next step any more after which a question could be answered.
      this.#answer = () => {
        throw error;
      };
      this.#over = true;
      void this.#answerAll();
      throw error;
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
export function runTraining<M extends Module, D extends Dialogue = Dialogue>(define: Define<M, D>): void {
  let run: Run<M, D> | undefined;
  const tell: (report: Report) => void = answerQuestions<TrainingQuestions, Report>({
    start: (options) => {
      run = new Run(define, options, tell);
      return run.all();
    },
    pause: () => run?.pause(),
    resume: () => run?.resume(),
    step: (count) => run?.step(count),
    stop: () => run?.stop(),
    setLearningRate: (lr) => run?.setLearningRate(lr),
    checkpoint: () => run?.checkpoint(),
    loseDevice: () => run?.loseDevice(),
    crash: () => run?.crash(),
    own: ({ name, question }) => {
      if (run === undefined) throw new Error("flambeau: nothing is being trained");
      return run.ask(name, question);
    },
  });
}
