/**
 * The runs of this browser: starting, steering, watching and keeping them. They live here and not in a page, so that
 * training goes on while one looks at another page.
 */

import type { Used } from "../app/device.js";
import { activity } from "./activity.js";
import { messageOf } from "./errors.js";
import type { Group } from "./groups.js";
import { openHolding } from "./holding.js";
import type { DataSource } from "./messages.js";
import {
  giveCheckpoint,
  idOfKey,
  latestCheckpoint,
  openRun,
  readRecord,
  records,
  removeRun,
  runOf,
  writeRecord,
} from "./records.js";
import { type BranchChange, branchRun, isLive, newRun, type Run } from "./run.js";
import type { TrainSettings } from "./settings.js";
import { type Task, Training } from "./training.js";

export type { Run } from "./run.js";

/** How a run is started. */
export interface StartRequest extends Omit<Task, "resume"> {
  settings: TrainSettings;
  device: Used;
  name?: string;
  /** The runs that it is started with; one that fails does not end the others. */
  group?: Group | undefined;
}

/** All runs, the newest last. */
class Runs {
  readonly changes = activity.changes;
  readonly list: Run[] = [];
  /** The run whose details are open: the one that is looked into. */
  chosen: Run | undefined;
  readonly #holding = openHolding();
  #queue: StartRequest[] = [];
  #training: Training | undefined;
  /** Do we know which runs other tabs have? */
  #knows = false;
  #claiming = false;
  #looks = 0;

  constructor() {
    activity.follow(this);
    for (const { id } of records()) this.#sync(id);
    window.addEventListener("storage", ({ key }) => {
      const id = idOfKey(key);
      // Only other tabs tell us so: a run that is new to us is theirs until we have looked.
      if (id !== undefined) this.#sync(id, true);
      void this.#lookElsewhere();
    });
    this.#holding.onChange = () => void this.#lookElsewhere();
    void this.#lookElsewhere();
  }

  /** The run whose worker is there: it trains, or has trained last. */
  get active(): Run | undefined {
    return this.#training?.run;
  }

  /** Is one being trained? */
  get isBusy(): boolean {
    return this.#claiming || (this.active !== undefined && isLive(this.active));
  }

  /** What waits for its turn. */
  get waiting(): readonly StartRequest[] {
    return this.#queue;
  }

  /** The runs that were cut off and that nobody trains, the newest first. */
  get interrupted(): Run[] {
    if (!this.#knows) return [];
    return this.list.filter((run) => run.state === "interrupted" && !run.elsewhere && run.checkpoint !== undefined).reverse();
  }

  /** Makes the list say what the storage says of a run that this tab does not train. Who trains it the storage does not say. */
  #sync(id: string, elsewhere = false): void {
    const [record, place] = [readRecord(id), this.list.findIndex((run) => run.id === id)];
    const known = this.list[place];
    if (known !== undefined && isLive(known)) return;
    try {
      if (record === undefined) {
        if (place >= 0 && known !== this.active) this.list.splice(place, 1);
      } else if (known === undefined) this.list.push({ ...runOf(record), elsewhere });
      else {
        const { shown, opened: _, elsewhere: __, curve, colour, ...changed } = runOf(record);
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
    this.#looks += 1;
    const look = this.#looks;
    const others = await this.#holding.elsewhere();
    // A look that was begun later knows better.
    if (look !== this.#looks) return;
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
    const { settings, device, weights, name, group } = request;
    const run = newRun(this.#nextNumber(), settings, device, name);
    Object.assign(run, { begunWith: weights?.name, group });
    // The curves of a sweep would hide each other: the one that trains is shown.
    if (group?.kind === "sweep") for (const other of this.list) if (other.group?.id === group.id) other.shown = false;
    this.list.push(run);
    // Nobody else knows it yet, so nobody else can have it.
    void this.#holding.hold(run.id);
    await this.#train(run, request);
    await this.#next();
  }

  #nextNumber(): number {
    return Math.max(0, ...this.list.map((run) => run.number)) + 1;
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
      // Another tab may have taken it further.
      if (readRecord(run.id) !== undefined) this.#sync(run.id);
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
    await this.#train(run, { source, resume: true });
    await this.#next();
  }

  /** A new run that goes on from the latest checkpoint of another, at another rate or for longer. */
  async branch(from: Run, change: BranchChange, source: DataSource, device: Used): Promise<void> {
    if (this.isBusy) return;
    this.#claiming = true;
    let run: Run;
    try {
      await openRun(from);
      run = branchRun(from, this.#nextNumber(), change, device);
      const checkpoint = await latestCheckpoint(from.id);
      if (checkpoint === undefined) throw new Error("its checkpoint is no longer there");
      await giveCheckpoint(run, checkpoint);
    } catch (error) {
      from.events.push(`The run cannot be branched: ${messageOf(error)}.`);
      this.changes.changed(true);
      return;
    } finally {
      this.#claiming = false;
    }
    this.list.push(run);
    void this.#holding.hold(run.id);
    await this.#train(run, { source, resume: true });
    await this.#next();
  }

  async #train(run: Run, task: Task): Promise<void> {
    this.#training?.terminate();
    const training = new Training(run, this.changes);
    this.#training = training;
    this.chosen = undefined;
    Object.assign(run, { state: "loading", error: undefined, loading: { label: "Starting the worker", part: undefined } });
    this.changes.changed(true);
    await training.train(task);
    if (run.state === "failed" && run.group === undefined) this.#queue = [];
    this.#holding.release(run.id);
  }

  pause(): void {
    this.#training?.pause();
  }

  resume(): void {
    this.#training?.resume();
  }

  step(count = 1): void {
    this.#training?.step(count);
  }

  /** Ends the run, and those that wait for their turn. */
  stop(): void {
    this.#queue = [];
    this.#training?.stop();
  }

  setLearningRate(lr: number): Promise<void> | undefined {
    return this.#training?.setLearningRate(lr);
  }

  loseDevice(): void {
    this.#training?.loseDevice();
  }

  /** The weights of a run: those of the active one as they are now. */
  async weightsOf(run: Run): Promise<Uint8Array | undefined> {
    if (this.#training === undefined || run !== this.active || run.state === "failed") return run.weights;
    return this.#training.weights().catch((error) => run.weights ?? Promise.reject(error));
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

  /** Opens the details of a run, or closes them. */
  choose(run: Run | undefined): void {
    this.chosen = run;
    this.changes.changed(true);
    if (run !== undefined) void this.open(run);
  }

  /** Gives a run another name, or other notes. */
  describe(run: Run, words: Partial<Pick<Run, "name" | "notes">>): void {
    Object.assign(run, words);
    // A run that is not kept yet will be kept with them.
    if (readRecord(run.id) !== undefined) writeRecord(run);
    this.changes.changed(true);
  }

  /** Takes up the run of a file. */
  async take(bytes: Uint8Array): Promise<void> {
    const { importRun } = await import("./runfile.js");
    const run = await importRun(bytes, this.#nextNumber());
    this.list.push(run);
    this.choose(run);
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
    if (run === this.active) {
      this.#training?.terminate();
      this.#training = undefined;
    }
    await removeRun(run.id);
    const place = this.list.indexOf(run);
    if (place >= 0) this.list.splice(place, 1);
    if (run === this.chosen) this.chosen = undefined;
    this.#holding.release(run.id);
    this.changes.changed(true);
  }
}

export const runs = new Runs();
