/**
 * Work off the main thread: `TrainingWorker` for the page and `runTraining` for the worker; `WorkerClient` and
 * `answerQuestions` for anything else.
 *
 * @packageDocumentation
 */

import type { DeviceInfo } from "../device.js";
import type { EpochReport, Progress, Summary } from "../trainer.js";
import { type Dialogue, isTrap, type Report, type StartOptions, type TrainingQuestions } from "./messages.js";
import { type Asked, WorkerClient } from "./protocol.js";

export type { Dialogue, StartOptions } from "./messages.js";
export {
  type Answers,
  type Asked,
  answerQuestions,
  type ClientListeners,
  type Port,
  type Questions,
  WorkerClient,
} from "./protocol.js";
export { Checkpoints, openStore, type Store } from "./store.js";
export { type Define, runTraining, type Training } from "./thread.js";

/** What a page may want to know. */
export interface Listeners<Note = unknown> {
  /** The device on which training begins. */
  onDevice?: (info: DeviceInfo) => void;
  /** So many of the kernels asked for have been compiled; the first step waits for them. */
  onCompile?: (done: number, all: number) => void;
  /** How it goes, every `logEvery` steps. */
  onProgress?: (progress: Progress) => void;
  /** An epoch has ended. */
  onEpoch?: (report: EpochReport) => void;
  /** It waits, after this many steps. */
  onPaused?: (step: number) => void;
  /** A checkpoint of this many bytes has been saved. */
  onCheckpoint?: (step: number, bytes: number) => void;
  /** A checkpoint could not be saved, for want of room perhaps; training goes on. Without a listener the console is told. */
  onUnsaved?: (step: number, why: string) => void;
  /** What the worker's own functions tell. */
  onNote?: (note: Note) => void;
  /** The GPU was lost; training goes on from the last checkpoint, on the device that is told. */
  onRecovered?: (event: { why: string; attempt: number; info: DeviceInfo; step: number }) => void;
  /** The worker's WebAssembly broke; another worker goes on from the last checkpoint. */
  onRestarted?: (why: string) => void;
}

/** Workers that may be started for one run. */
const MOST_WORKERS = 4;

/**
 * A training run in a worker. Its `Dialogue` says what the worker's own functions are given, tell and answer.
 *
 * ```ts
 * const run = new TrainingWorker(
 *   () => new Worker(new URL("./train.worker.js", import.meta.url), { type: "module" }),
 *   { onProgress: ({ step, metrics }) => console.log(step, metrics.loss) },
 * );
 * const summary = await run.start({ epochs: 3, checkpointEvery: 200, name: "mine" });
 * ```
 */
export class TrainingWorker<D extends Dialogue = Dialogue> {
  #client: WorkerClient<TrainingQuestions, Report> | undefined;

  constructor(
    /** Makes the worker; called again when one had to be replaced. */
    readonly open: () => Worker,
    readonly listeners: Listeners<D["note"]> = {},
  ) {}

  /** Trains to the end; an error if it cannot, or if the worker cannot be loaded, breaks for good or is ended. */
  async start(options: StartOptions<D["settings"]> = {}): Promise<Summary> {
    // Another run may have left a checkpoint of that name.
    let { resume = false } = options;
    for (let started = 1; ; started += 1) {
      this.terminate();
      const client = new WorkerClient<TrainingQuestions, Report>(this.open(), {
        onNote: (report) => {
          if (report.type === "checkpoint") resume = true;
          this.#told(report);
        },
      });
      this.#client = client;
      try {
        return await client.ask("start", { ...options, resume });
      } catch (error) {
        if (!isTrap(error) || started === MOST_WORKERS || this.#client !== client) throw error;
        this.listeners.onRestarted?.(error.message);
      }
    }
  }

  #told(report: Report): void {
    const { listeners } = this;
    switch (report.type) {
      case "device":
        listeners.onDevice?.(report.info);
        return;
      case "compile":
        listeners.onCompile?.(report.done, report.all);
        return;
      case "progress":
        listeners.onProgress?.(report.progress);
        return;
      case "epoch":
        listeners.onEpoch?.(report.report);
        return;
      case "paused":
        listeners.onPaused?.(report.step);
        return;
      case "checkpoint":
        listeners.onCheckpoint?.(report.step, report.bytes);
        return;
      case "unsaved":
        if (listeners.onUnsaved !== undefined) listeners.onUnsaved(report.step, report.why);
        else console.warn(`flambeau: the checkpoint of step ${report.step} was not saved: ${report.why}`);
        return;
      case "recovered":
        listeners.onRecovered?.(report);
        return;
      case "note":
        listeners.onNote?.(report.note);
    }
  }

  /** What hinders an order ends the run too, and `start` tells it. */
  #order<K extends keyof TrainingQuestions>(name: K, ...asked: Asked<TrainingQuestions[K]["ask"]>): void {
    this.#client?.ask(name, ...asked).catch(() => undefined);
  }

  /** Holds before the next step. */
  pause(): void {
    this.#order("pause");
  }

  /** Goes on. */
  resume(): void {
    this.#order("resume");
  }

  /** Takes single steps while paused. */
  step(count = 1): void {
    this.#order("step", count);
  }

  /** Ends the run after the present step: `start` then gives its summary; an error if the worker has not begun yet. */
  stop(): void {
    if (this.#client?.isReady === false) this.#client.end(new Error("flambeau: stopped before the worker had begun"));
    else this.#order("stop");
  }

  /** Changes the learning rate of the steps to come. */
  setLearningRate(lr: number): void {
    this.#order("setLearningRate", lr);
  }

  /** Saves a checkpoint before the next step. */
  checkpoint(): void {
    this.#order("checkpoint");
  }

  /** Ends the GPU device as if it had been lost, to try what happens then. */
  loseDevice(): void {
    this.#order("loseDevice");
  }

  /** Asks the `answers` of what is trained something, between two steps or after the last; it must be cloneable. */
  async ask<K extends keyof D["questions"] & string>(
    name: K,
    ...asked: Asked<D["questions"][K]["ask"]>
  ): Promise<D["questions"][K]["answer"]> {
    const [question, transfer] = asked;
    if (this.#client === undefined) throw new Error("flambeau: there is no worker to ask");
    return this.#client.ask("own", { name, question }, transfer);
  }

  /** Breaks the worker's WebAssembly before its next step, to try what happens then. */
  crash(): void {
    this.#order("crash");
  }

  /** Ends the worker at once: what is waited for, `start` too, ends with an error. */
  terminate(): void {
    this.#client?.end();
    this.#client = undefined;
  }
}
