/**
 * The runs of this browser: starting, steering, watching and keeping them. They live here and not in a page, so that
 * training goes on while one looks at another page.
 */

import { TrainingWorker } from "flambeau/worker";
import type { Used } from "../app/device.js";
import { isMisfit, messageOf } from "./errors.js";
import { openHolding } from "./holding.js";
import type { DataSource, Note, TrainDialogue } from "./messages.js";
import { withChange } from "./rates.js";
import { checkpointsOf, idOfKey, keepRun, openRun, readRecord, records, removeRun, runOf, writeRecord } from "./records.js";
import { addAssessment, addProgress, goBack, isLive, newRun, type Run } from "./run.js";
import { keepModel } from "./session.js";
import type { TrainSettings } from "./settings.js";
import { Changes } from "./store.js";

export type { Run } from "./run.js";

/** How a run is started. */
export interface StartRequest {
  settings: TrainSettings;
  device: Used;
  source: DataSource;
  weights?: { name: string; bytes: Uint8Array } | undefined;
  /** The weights could not be taken up: they must not be used again. */
  onMisfit?: () => void;
  paused?: boolean;
  /** Takes no step: the weights are only looked at. */
  untrained?: boolean;
  name?: string;
}

/** A run and what it needs to be trained. */
interface Task extends Pick<StartRequest, "source" | "weights" | "onMisfit" | "paused" | "untrained"> {
  run: Run;
  /** Goes on from its latest checkpoint. */
  resume: boolean;
}

const LOG_EVERY = 10;
const CHECKPOINT_EVERY = 100;

/** All runs, the newest last. */
class Runs {
  readonly changes = new Changes();
  readonly list: Run[] = [];
  readonly #holding = openHolding();
  #queue: StartRequest[] = [];
  #worker: TrainingWorker<TrainDialogue> | undefined;
  #active: Run | undefined;
  /** Do we know which runs other tabs have? */
  #knows = false;
  #claiming = false;

  constructor() {
    for (const { id } of records()) this.#sync(id);
    window.addEventListener("storage", ({ key }) => {
      const id = idOfKey(key);
      if (id !== undefined) this.#sync(id);
      void this.#lookElsewhere();
    });
    this.#holding.onChange = () => void this.#lookElsewhere();
    void this.#lookElsewhere();
  }

  /** The run whose worker is there: it trains, or has trained last. */
  get active(): Run | undefined {
    return this.#active;
  }

  /** Is one being trained? */
  get isBusy(): boolean {
    return this.#claiming || (this.#active !== undefined && isLive(this.#active));
  }

  /** The runs that were cut off and that nobody trains, the newest first. */
  get interrupted(): Run[] {
    if (!this.#knows) return [];
    return this.list.filter((run) => run.state === "interrupted" && !run.elsewhere && run.checkpoint !== undefined).reverse();
  }

  /** Makes the list say what the storage says of a run that this tab does not train. */
  #sync(id: string): void {
    const [record, place] = [readRecord(id), this.list.findIndex((run) => run.id === id)];
    const known = this.list[place];
    if (known !== undefined && isLive(known)) return;
    try {
      if (record === undefined) {
        if (place >= 0 && known !== this.#active) this.list.splice(place, 1);
      } else if (known === undefined) this.list.push(runOf(record));
      else {
        const { shown, opened: _, curve, colour, ...changed } = runOf(record);
        Object.assign(known, changed, { opened: false });
        if (shown || known.shown) void this.open(known);
      }
    } catch (error) {
      // It is left where it is, for a version that can read it.
      console.warn(`Run ${id}: ${messageOf(error)}`);
    }
    this.changes.changed(true);
  }

  async #lookElsewhere(): Promise<void> {
    const others = await this.#holding.elsewhere();
    for (const run of this.list) run.elsewhere = others.has(run.id);
    this.#knows = true;
    this.changes.changed(true);
  }

  /** Starts several runs, one after the other. */
  start(...requests: StartRequest[]): void {
    this.#queue.push(...requests);
    if (!this.isBusy) void this.#next();
  }

  async #next(): Promise<void> {
    const request = this.#queue.shift();
    if (request === undefined) return;
    const { settings, device, weights, name } = request;
    const number = Math.max(0, ...this.list.map((run) => run.number)) + 1;
    const run = newRun(number, settings, device, name);
    run.begunWith = weights?.name;
    this.list.push(run);
    // Nobody else knows it yet, so nobody else can have it.
    void this.#holding.hold(run.id);
    await this.#train({ ...request, run, resume: false });
    await this.#next();
  }

  /** Goes on with a run from its latest checkpoint, unless another tab has it. */
  async continue(run: Run, source: DataSource, device: Used): Promise<void> {
    if (this.isBusy) return;
    this.#claiming = true;
    this.changes.changed(true);
    try {
      if (!(await this.#holding.hold(run.id))) {
        await this.#lookElsewhere();
        return;
      }
      // Another tab may have taken it further, or away.
      this.#sync(run.id);
      await openRun(run);
    } catch (error) {
      run.events.push(`The run could not be opened: ${messageOf(error)}.`);
      this.#holding.release(run.id);
      return;
    } finally {
      this.#claiming = false;
      this.changes.changed(true);
    }
    run.changedDevice ||= run.device !== device;
    run.device = device;
    run.shown = true;
    await this.#train({ run, source, resume: true });
    await this.#next();
  }

  async #train({ run, source, weights, onMisfit, paused = false, untrained = false, resume }: Task): Promise<void> {
    const { settings } = run;
    this.#active = run;
    Object.assign(run, { state: "loading", error: undefined, loading: { label: "Starting the worker", part: undefined } });
    this.changes.changed(true);
    this.#worker?.terminate();
    const worker = this.#open(run, paused);
    this.#worker = worker;
    try {
      const summary = await worker.start({
        name: checkpointsOf(run.id),
        device: run.device,
        settings: { settings, source, weights: weights?.bytes },
        epochs: settings.epochs,
        ...(untrained ? { maxSteps: 0 } : settings.steps > 0 && { maxSteps: settings.steps }),
        logEvery: LOG_EVERY,
        checkpointEvery: CHECKPOINT_EVERY,
        paused,
        resume,
      });
      run.step = summary.steps;
      run.state = "ending";
      await this.#finish(run, worker);
      run.state = summary.stopped === "asked" ? "stopped" : "done";
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
    if (run.state !== "failed" || run.checkpoint !== undefined) await this.#keep(run, run.weights);
    this.#holding.release(run.id);
    this.changes.changed(true);
  }

  /** Keeps a run as it is; where that is not possible, says so, and training goes on. */
  async #keep(run: Run, weights?: Uint8Array): Promise<void> {
    try {
      await keepRun(run, weights);
    } catch (error) {
      run.events.push(`The run cannot be kept in this browser: ${messageOf(error)}. Remove others to make room.`);
    }
  }

  /** Takes the weights out, keeps them for the page Draw, and looks at the whole test set. Stop cuts it short. */
  async #finish(run: Run, worker: TrainingWorker<TrainDialogue>): Promise<void> {
    run.loading = { label: "Reading the whole test set", part: undefined };
    this.changes.changed(true);
    try {
      run.weights = await worker.ask("export");
      await keepModel(run.weights);
      addAssessment(run, await worker.ask("assess"));
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
          addProgress(run, progress);
          changed();
        },
        onPaused: (step) => {
          run.step = step;
          run.state = "paused";
          run.loading = undefined;
          this.changes.changed(true);
          void this.#look(run);
        },
        onCheckpoint: (step, bytes) => {
          run.checkpoint = step;
          // There are two files, which are written in turn.
          run.space.checkpoints = Math.min(run.space.checkpoints + bytes, 2 * bytes);
          void this.#keep(run);
        },
        onRecovered: ({ why, step, info }) => {
          run.events.push(
            `The GPU was lost (${why}). Training went on from step ${step} on ${info.type === "gpu" ? "a new GPU device" : "the CPU"}.`,
          );
          run.changedDevice ||= info.type !== run.info?.type;
          run.info = info;
          goBack(run, step);
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
      case "resumed":
        goBack(run, note.step);
        return;
      case "stats":
        run.stats = note;
        run.seconds += note.seconds;
        if (run.curve.step.at(-1) === note.step) run.curve.seconds[run.curve.seconds.length - 1] = run.seconds;
        return;
      case "assessment":
        addAssessment(run, note.assessment);
        return;
      case "inspection":
        run.inspection = note.inspection;
    }
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
    this.#rested();
    this.#worker?.resume();
    this.changes.changed(true);
  }

  step(count = 1): void {
    this.#rested();
    this.#worker?.step(count);
  }

  /** What has passed until now was a pause, and no time of a step. What hinders it ends the run, which tells it. */
  #rested(): void {
    this.#worker?.ask("rested").catch(() => undefined);
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

  /** Fetches what a run has in files. */
  async open(run: Run): Promise<void> {
    try {
      await openRun(run);
    } catch (error) {
      run.events.push(`Its curves cannot be read: ${messageOf(error)}.`);
    }
    this.changes.changed(true);
  }

  show(run: Run, shown: boolean): void {
    run.shown = shown;
    this.changes.changed(true);
    if (shown) void this.open(run);
  }

  /** A run that was cut off counts as stopped: it is no longer offered by itself. */
  settle(run: Run): void {
    if (run.state !== "interrupted" || run.elsewhere) return;
    run.state = "stopped";
    writeRecord(run);
    this.changes.changed(true);
  }

  /** Removes a run and all that is kept of it, unless it is being trained here or elsewhere. */
  async remove(run: Run): Promise<void> {
    if (isLive(run) || run.elsewhere || !(await this.#holding.hold(run.id))) return;
    const place = this.list.indexOf(run);
    if (place >= 0) this.list.splice(place, 1);
    if (run === this.#active) {
      this.#worker?.terminate();
      this.#worker = undefined;
      this.#active = undefined;
    }
    this.changes.changed(true);
    await removeRun(run.id);
    this.#holding.release(run.id);
  }
}

export const runs = new Runs();
