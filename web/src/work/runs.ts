/**
 * The runs of this visit: starting, steering and watching them. They live here and not in a page, so that training goes
 * on while one looks at another page.
 */

import type { DeviceInfo, Progress } from "flambeau";
import { TrainingWorker } from "flambeau/worker";
import type { Used } from "../app/device.js";
import { isMisfit, messageOf } from "./errors.js";
import type { Assessment, DataSource, Inspection, Note, TrainDialogue } from "./messages.js";
import { forgetSession, freeCheckpoints, keepModel, lastSession, saveSession, type SavedCurve, type Session } from "./session.js";
import type { TrainSettings } from "./settings.js";
import { rateAt, withChange } from "./rates.js";
import { Changes } from "./store.js";
import { nameOf } from "./layers.js";

/** `ending`: the last step is done, and the whole test set is being read. */
export type RunState = "loading" | "running" | "paused" | "ending" | "done" | "stopped" | "failed";

export interface RunStats {
  stepMs: number;
  samplesPerSecond: number;
  memory: number;
  peak: number;
  kernels: number;
  submissions: number;
}

/** A run and all that is known of it. */
export interface Run {
  id: number;
  name: string;
  /** What decides it; a rate that is changed while it runs is added to them. */
  settings: TrainSettings;
  device: Used;
  /** The name that its checkpoints are kept under. */
  checkpoints: string;
  /** The colour of its curves, 1 to 6. */
  colour: number;
  state: RunState;
  shown: boolean;
  loading: { label: string; part: number | undefined } | undefined;
  info: DeviceInfo | undefined;
  set: Extract<Note, { kind: "set" }> | undefined;
  step: number;
  steps: number;
  lr: number;
  curve: SavedCurve;
  stats: RunStats | undefined;
  seconds: number;
  assessment: Assessment | undefined;
  inspection: Inspection | undefined;
  weights: Uint8Array | undefined;
  /** The file whose weights it began with. */
  begunWith: string | undefined;
  /** It lost its device and went on on one of another kind. */
  changedDevice: boolean;
  /** What happened on the way, such as a lost device. */
  events: string[];
  error: string | undefined;
}

/** How a run is started. */
export interface StartRequest {
  settings: TrainSettings;
  device: Used;
  source: DataSource;
  weights?: { name: string; bytes: Uint8Array } | undefined;
  /** The weights could not be taken up: they must not be used again. */
  onMisfit?: () => void;
  session?: Session;
  paused?: boolean;
  /** Takes no step: the weights are only looked at. */
  untrained?: boolean;
  name?: string;
}

const LOG_EVERY = 10;
const CHECKPOINT_EVERY = 100;
const COLOURS = 6;
const DEVICES: Record<Used, string> = { gpu: "GPU", cpu: "CPU", software: "software GPU" };
const MODEL_NAMES = { mlp: "MLP", cnn: "CNN", resnet: "ResNet" } as const;

const emptyCurve = (): SavedCurve => ({ step: [], loss: [], accuracy: [], testStep: [], testLoss: [], testAccuracy: [] });

/** All runs, the newest last. */
class Runs {
  readonly changes = new Changes();
  readonly list: Run[] = [];
  #queue: StartRequest[] = [];
  #worker: TrainingWorker<TrainDialogue> | undefined;
  #active: Run | undefined;
  #count = 0;

  /** The run whose worker is there: it trains, or has trained last. */
  get active(): Run | undefined {
    return this.#active;
  }

  /** Is one being trained? */
  get isBusy(): boolean {
    const state = this.#active?.state;
    return state === "loading" || state === "running" || state === "paused" || state === "ending";
  }

  /** Starts several runs, one after the other. */
  start(...requests: StartRequest[]): void {
    this.#queue.push(...requests);
    if (!this.isBusy) void this.#next();
  }

  async #next(): Promise<void> {
    const request = this.#queue.shift();
    if (request === undefined) return;
    await this.#train(request);
    await this.#next();
  }

  async #train({
    settings,
    device,
    source,
    weights,
    onMisfit,
    session,
    paused = false,
    untrained = false,
    name,
  }: StartRequest): Promise<void> {
    this.#count += 1;
    const model = nameOf(settings.layers);
    const run: Run = {
      id: this.#count,
      name:
        name ??
        `${model === undefined ? "Own" : MODEL_NAMES[model]}, ${settings.optimizer} ${settings.lr}, seed ${settings.seed}, ${DEVICES[device]}`,
      settings: { ...settings },
      device,
      checkpoints: session?.checkpoints ?? freeCheckpoints(),
      colour: ((this.#count - 1) % COLOURS) + 1,
      state: "loading",
      shown: true,
      loading: { label: "Starting the worker", part: undefined },
      info: undefined,
      set: undefined,
      step: session?.step ?? 0,
      steps: 0,
      lr: rateAt(settings.lr, settings.rates, session?.step ?? 0),
      curve: session?.curve ?? emptyCurve(),
      stats: undefined,
      seconds: 0,
      assessment: undefined,
      inspection: undefined,
      weights: undefined,
      begunWith: weights?.name,
      changedDevice: false,
      events: [],
      error: undefined,
    };
    this.list.push(run);
    this.#active = run;
    this.changes.changed(true);
    this.#worker?.terminate();
    const worker = this.#open(run, paused);
    this.#worker = worker;
    try {
      const summary = await worker.start({
        name: run.checkpoints,
        device,
        settings: { settings: run.settings, source, weights: weights?.bytes },
        epochs: settings.epochs,
        ...(untrained ? { maxSteps: 0 } : settings.steps > 0 && { maxSteps: settings.steps }),
        logEvery: LOG_EVERY,
        checkpointEvery: CHECKPOINT_EVERY,
        paused,
        resume: session !== undefined,
      });
      run.step = summary.steps;
      run.seconds = summary.seconds;
      run.state = "ending";
      await this.#finish(run, worker);
      run.state = summary.stopped === "asked" ? "stopped" : "done";
      if (lastSession()?.checkpoints === run.checkpoints) forgetSession();
    } catch (error) {
      run.error = messageOf(error);
      // A look at a file that fails is the file's fault, however it was noticed.
      if (weights !== undefined && (untrained || isMisfit(error))) {
        run.error += ". The model file is no longer used: the next Start begins with fresh weights.";
        onMisfit?.();
      }
      run.state = "failed";
      this.#queue = [];
    }
    run.loading = undefined;
    this.changes.changed(true);
  }

  /** Takes the weights out, keeps them for the page Draw, and looks at the whole test set. Stop cuts it short. */
  async #finish(run: Run, worker: TrainingWorker<TrainDialogue>): Promise<void> {
    run.loading = { label: "Reading the whole test set", part: undefined };
    this.changes.changed(true);
    try {
      run.weights = await worker.ask("export");
      await keepModel(run.weights);
      this.#assessed(run, await worker.ask("assess"));
      run.inspection = await worker.ask("inspect");
    } catch (error) {
      run.events.push(`The last look at the model was cut short: ${messageOf(error)}.`);
    }
  }

  #open(run: Run, paused: boolean): TrainingWorker<TrainDialogue> {
    const changed = () => this.changes.changed();
    return new TrainingWorker(
      () => new Worker(new URL("./train.worker.ts", import.meta.url), { type: "module", name: "training" }),
      {
        onDevice: (info) => {
          run.info = info;
          run.loading = { label: "Preparing the data and the model", part: undefined };
          changed();
        },
        onNote: (note) => {
          this.#noted(run, note, paused);
          changed();
        },
        onProgress: (progress) => {
          this.#progressed(run, progress);
          changed();
        },
        onPaused: (step) => {
          run.step = step;
          run.state = "paused";
          run.loading = undefined;
          this.changes.changed(true);
          void this.#look(run);
        },
        onCheckpoint: (step) => {
          if (run.settings.data === "mnist")
            saveSession({
              checkpoints: run.checkpoints,
              settings: run.settings,
              device: run.device,
              step,
              steps: run.steps,
              curve: run.curve,
              date: Date.now(),
            });
        },
        onRecovered: ({ why, step, info }) => {
          run.events.push(
            `The GPU was lost (${why}). Training went on from step ${step} on ${info.type === "gpu" ? "a new GPU device" : "the CPU"}.`,
          );
          run.changedDevice ||= info.type !== run.info?.type;
          run.info = info;
          cutCurve(run.curve, step);
          run.step = step;
          run.loading = undefined;
          this.changes.changed(true);
        },
        onRestarted: (why) => {
          run.events.push(`The worker broke (${why}) and was replaced.`);
          changed();
        },
      },
    );
  }

  #noted(run: Run, note: Note, paused: boolean): void {
    switch (note.kind) {
      case "loading":
        run.loading = { label: note.label, part: note.part };
        return;
      case "set":
        run.set = note;
        run.steps = run.settings.epochs * Math.ceil(note.train / run.settings.batch);
        if (run.settings.steps > 0) run.steps = Math.min(run.steps, run.settings.steps);
        run.loading = { label: "First step: the kernels are being compiled", part: undefined };
        if (!paused && run.state === "loading") run.state = "running";
        return;
      case "stats":
        run.stats = note;
        return;
      case "assessment":
        this.#assessed(run, note.assessment);
        return;
      case "inspection":
        run.inspection = note.inspection;
    }
  }

  #assessed(run: Run, assessment: Assessment): void {
    const { curve } = run;
    run.assessment = assessment;
    if (curve.testStep.at(-1) === assessment.step)
      for (const list of [curve.testStep, curve.testLoss, curve.testAccuracy]) list.pop();
    curve.testStep.push(assessment.step);
    curve.testLoss.push(assessment.loss);
    curve.testAccuracy.push(assessment.accuracy);
  }

  #progressed(run: Run, { step, steps, metrics, lr }: Progress): void {
    run.loading = undefined;
    run.step = step;
    run.steps = steps;
    run.lr = lr;
    run.curve.step.push(step);
    run.curve.loss.push(metrics["loss"] ?? Number.NaN);
    run.curve.accuracy.push(metrics["accuracy"] ?? Number.NaN);
  }

  /** Looks inside the paused run. */
  async #look(run: Run): Promise<void> {
    const worker = this.#worker;
    try {
      run.inspection = await worker?.ask("inspect");
      run.weights = await worker?.ask("export");
      if (run.weights !== undefined) await keepModel(run.weights);
    } catch (error) {
      run.events.push(messageOf(error));
    }
    this.changes.changed(true);
  }

  pause(): void {
    this.#worker?.pause();
  }

  resume(): void {
    const run = this.#active;
    if (run === undefined) return;
    run.state = "running";
    this.#worker?.resume();
    this.changes.changed(true);
  }

  step(count = 1): void {
    this.#worker?.step(count);
  }

  /** Ends the run, and those that wait for their turn. */
  stop(): void {
    this.#queue = [];
    if (this.#active?.state !== "ending") {
      this.#worker?.stop();
      return;
    }
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  /** Another rate from the next step on: which one that is the worker says, as the link needs it. */
  async setLearningRate(lr: number): Promise<void> {
    const run = this.#active;
    if (run === undefined || this.#worker === undefined) return;
    run.lr = lr;
    this.changes.changed(true);
    try {
      const step = await this.#worker.ask("rate", lr);
      run.settings.rates = withChange(run.settings.rates, { step, lr });
      run.events.push(`Learning rate ${lr} from step ${step} on.`);
    } catch (error) {
      run.events.push(`The learning rate was not changed: ${messageOf(error)}.`);
    }
    this.changes.changed(true);
  }

  loseDevice(): void {
    this.#worker?.loseDevice();
  }

  /** The weights of a run: those of the active one as they are now. */
  async weightsOf(run: Run): Promise<Uint8Array | undefined> {
    if (run !== this.#active || this.#worker === undefined || run.state === "failed") return run.weights;
    run.weights = await this.#worker.ask("export");
    return run.weights;
  }

  show(run: Run, shown: boolean): void {
    run.shown = shown;
    this.changes.changed(true);
  }

  remove(run: Run): void {
    if (run === this.#active && this.isBusy) return;
    const place = this.list.indexOf(run);
    if (place >= 0) this.list.splice(place, 1);
    if (run === this.#active) {
      this.#worker?.terminate();
      this.#worker = undefined;
      this.#active = this.list.at(-1);
    }
    this.changes.changed(true);
  }
}

/** Takes back what was drawn after a step. */
function cutCurve(curve: SavedCurve, step: number): void {
  const cut = (steps: number[], ...others: number[][]) => {
    const kept = steps.filter((each) => each <= step).length;
    for (const list of [steps, ...others]) list.length = kept;
  };
  cut(curve.step, curve.loss, curve.accuracy);
  cut(curve.testStep, curve.testLoss, curve.testAccuracy);
}

export const runs = new Runs();
