/**
 * Training off the main thread: `TrainingWorker` for the page, `runTraining` for the worker.
 *
 * @packageDocumentation
 */

import type { DeviceInfo } from "../device.js";
import type { EpochReport, Progress, Summary } from "../trainer.js";
import type { Command, Report, StartOptions } from "./messages.js";

export type { StartOptions } from "./messages.js";
export { Checkpoints, openStore, type Store } from "./store.js";
export { runTraining, type Define, type Training } from "./thread.js";

/** What a page may want to know. */
export interface Listeners {
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
  /** What the worker's own functions tell. */
  onNote?: (note: unknown) => void;
  /** The GPU was lost; training goes on from the last checkpoint, on the device that is told. */
  onRecovered?: (event: { why: string; attempt: number; info: DeviceInfo; step: number }) => void;
  /** The worker's WebAssembly broke; another worker goes on from the last checkpoint. */
  onRestarted?: (why: string) => void;
}

/** Workers that may be started for one run. */
const MOST_WORKERS = 4;

/**
 * A training run in a worker.
 *
 * ```ts
 * const run = new TrainingWorker(
 *   () => new Worker(new URL("./train.worker.js", import.meta.url), { type: "module" }),
 *   { onProgress: ({ step, metrics }) => console.log(step, metrics.loss) },
 * );
 * const summary = await run.start({ epochs: 3, checkpointEvery: 200, name: "mine" });
 * ```
 */
export class TrainingWorker {
  #worker: Worker | undefined;
  #started = 0;
  #asked = 0;
  #waiting = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>();

  constructor(
    /** Makes the worker; called again when one had to be replaced. */
    readonly open: () => Worker,
    readonly listeners: Listeners = {},
  ) {}

  /** Trains to the end; an error if it cannot. */
  start(options: StartOptions = {}): Promise<Summary> {
    return new Promise((resolve, reject) => this.#begin(options, resolve, reject));
  }

  #begin(options: StartOptions, resolve: (summary: Summary) => void, reject: (error: Error) => void): void {
    this.terminate();
    this.#started += 1;
    const worker = this.open();
    this.#worker = worker;
    // Another run may have left a checkpoint of that name.
    let isOwn = options.resume ?? false;
    const again = (why: string) => {
      if (this.#started >= MOST_WORKERS) return false;
      this.listeners.onRestarted?.(why);
      this.#begin({ ...options, resume: isOwn }, resolve, reject);
      return true;
    };
    worker.onerror = (event) => {
      // It is told here, once.
      event.preventDefault();
      // A trap in something that was waited for ends nobody's promise.
      if (event.message.includes("RuntimeError") && again(event.message)) return;
      reject(new Error(`flambeau: the worker broke: ${event.message}`));
    };
    worker.onmessage = ({ data }: MessageEvent<Report>) => {
      const { listeners } = this;
      switch (data.type) {
        case "ready":
          this.#send({ type: "start", options });
          return;
        case "device":
          listeners.onDevice?.(data.info);
          return;
        case "compile":
          listeners.onCompile?.(data.done, data.all);
          return;
        case "progress":
          listeners.onProgress?.(data.progress);
          return;
        case "epoch":
          listeners.onEpoch?.(data.report);
          return;
        case "paused":
          listeners.onPaused?.(data.step);
          return;
        case "checkpoint":
          isOwn = true;
          listeners.onCheckpoint?.(data.step, data.bytes);
          return;
        case "recovered":
          listeners.onRecovered?.(data);
          return;
        case "note":
          listeners.onNote?.(data.note);
          return;
        case "answer":
          this.#taken(data.id)?.resolve(data.answer);
          return;
        case "noAnswer":
          this.#taken(data.id)?.reject(new Error(data.message));
          return;
        case "done":
          resolve(data.summary);
          return;
        case "failed":
          if (!data.dead || !again(data.message)) reject(new Error(data.message));
      }
    };
  }

  #taken(id: number) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #send(command: Command): void {
    this.#worker?.postMessage(command);
  }

  /** Holds before the next step. */
  pause(): void {
    this.#send({ type: "pause" });
  }

  /** Goes on. */
  resume(): void {
    this.#send({ type: "resume" });
  }

  /** Takes single steps while paused. */
  step(count = 1): void {
    this.#send({ type: "step", count });
  }

  /** Ends the run after the present step: `start` then gives its summary. */
  stop(): void {
    this.#send({ type: "stop" });
  }

  /** Changes the learning rate of the steps to come. */
  setLearningRate(lr: number): void {
    this.#send({ type: "setLearningRate", lr });
  }

  /** Saves a checkpoint before the next step. */
  checkpoint(): void {
    this.#send({ type: "checkpoint" });
  }

  /** Ends the GPU device as if it had been lost, to try what happens then. */
  loseDevice(): void {
    this.#send({ type: "loseDevice" });
  }

  /** Asks the `answer` of what is trained something, between two steps or after the last; the question must be cloneable. */
  ask(question: unknown): Promise<unknown> {
    this.#asked += 1;
    const id = this.#asked;
    return new Promise((resolve, reject) => {
      if (this.#worker === undefined) {
        reject(new Error("flambeau: there is no worker to ask"));
        return;
      }
      this.#waiting.set(id, { resolve, reject });
      this.#send({ type: "ask", id, question });
    });
  }

  /** Breaks the worker's WebAssembly before its next step, to try what happens then. */
  crash(): void {
    this.#send({ type: "crash" });
  }

  /** Ends the worker at once. */
  terminate(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error("flambeau: the worker has ended"));
    this.#waiting.clear();
    this.#worker?.terminate();
    this.#worker = undefined;
  }
}
