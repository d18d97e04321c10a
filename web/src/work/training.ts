/** One run in its worker: started, steered, watched and kept until it ends. */

import { TrainingWorker } from "flambeau/worker";
import { isMisfit, messageOf } from "./errors.js";
import type { DataSource, Note, TrainDialogue } from "./messages.js";
import { withChange } from "./rates.js";
import { checkpointsOf, keepRun } from "./records.js";
import { addAssessment, addProgress, goBack, type Run } from "./run.js";
import { keepModel } from "./session.js";
import { Sparingly } from "./sparingly.js";
import type { Changes } from "./store.js";

/** What a run needs to be trained. */
export interface Task {
  source: DataSource;
  /** Weights to begin with. */
  weights?: { name: string; bytes: Uint8Array } | undefined;
  /** The weights could not be taken up: they must not be used again. */
  onMisfit?: () => void;
  paused?: boolean;
  /** Takes no step: the weights are only looked at. */
  untrained?: boolean;
  /** Goes on from the run's latest checkpoint. */
  resume?: boolean;
}

const LOG_EVERY = 10;
const CHECKPOINT_EVERY = 100;
/** The part of the time that keeping a run at its checkpoints may take: one in so many. */
const KEEPING = 100;
/** Where there was no room, it rests as if it had taken so many milliseconds. */
const NO_ROOM = 500;

export class Training {
  readonly #worker: TrainingWorker<TrainDialogue>;
  #isPaused = false;
  /** Could the last checkpoint not be kept? */
  #isUnsaved = false;
  /** The writing that is under way: a later one waits for it, so that the newest is what stays. */
  #keeping: Promise<void> = Promise.resolve();
  readonly #sparingly = new Sparingly(KEEPING);

  constructor(
    readonly run: Run,
    readonly changes: Changes,
  ) {
    this.#worker = this.#open();
  }

  /** Trains to the end, and keeps the run; what goes wrong is the run's `error`. */
  async train({ source, weights, onMisfit, paused = false, untrained = false, resume = false }: Task): Promise<void> {
    const { run } = this;
    const { settings } = run;
    this.#isPaused = paused;
    try {
      const summary = await this.#worker.start({
        name: checkpointsOf(run.id),
        device: run.device,
        settings: {
          settings,
          source,
          weights: weights?.bytes,
          checkpoints: checkpointsOf(run.id),
          fingerprint: run.fingerprint,
        },
        epochs: settings.epochs,
        ...(untrained ? { maxSteps: 0 } : settings.steps > 0 && { maxSteps: settings.steps }),
        logEvery: LOG_EVERY,
        gradNorm: true,
        amp: settings.amp,
        checkpointEvery: CHECKPOINT_EVERY,
        paused,
        resume,
      });
      run.step = summary.steps;
      run.state = "ending";
      await this.#finish();
      run.state = summary.stopped === "asked" ? "stopped" : "done";
    } catch (error) {
      run.error = messageOf(error);
      // A look at a file that fails is the file's fault, however it was noticed.
      if (weights !== undefined && (untrained || isMisfit(error))) {
        run.error += ". The model file is no longer used: the next Start begins with fresh weights.";
        onMisfit?.();
      }
      run.state = "failed";
    }
    run.loading = undefined;
    // What a run of several came to is kept in any case: the others are compared with it.
    if (run.state !== "failed" || run.checkpoint !== undefined || run.group !== undefined) await this.#keep(run.weights);
    this.changes.changed(true);
  }

  /** Keeps the run as it is; where that is not possible, says so, and training goes on. */
  #keep(weights?: Uint8Array): Promise<void> {
    // Checkpoints on the way need not be kept: one that follows keeps them too.
    this.#sparingly.begin();
    this.#keeping = this.#keeping
      .then(() => keepRun(this.run, weights))
      .then((took) => this.#sparingly.end(took))
      .catch((error: unknown) => {
        this.#sparingly.end(NO_ROOM);
        this.run.events.push(`The run cannot be kept in this browser: ${messageOf(error)}. Remove others to make room.`);
      });
    return this.#keeping;
  }

  /** Takes the weights out, keeps them for the page Draw, and looks at the whole test set. Stop cuts it short. */
  async #finish(): Promise<void> {
    const { run } = this;
    run.loading = { label: "Reading the whole test set", part: undefined };
    this.changes.changed(true);
    try {
      run.weights = await this.#worker.ask("export");
      await keepModel(run.weights);
      if (run.step > 0) this.#checkpointed(await this.#worker.ask("keep"));
      addAssessment(run, await this.#worker.ask("assess"));
      run.inspection = await this.#worker.ask("inspect");
    } catch (error) {
      run.events.push(`The last look at the model was cut short: ${messageOf(error)}.`);
    }
  }

  #open(): TrainingWorker<TrainDialogue> {
    const { run, changes } = this;
    return new TrainingWorker(
      () => new Worker(new URL("./train.worker.ts", import.meta.url), { type: "module", name: "training" }),
      {
        onDevice: (info) => {
          run.info = info;
          run.loading = { label: "Preparing the data and the model", part: undefined };
          changes.changed();
        },
        onNote: (note) => {
          this.#noted(note);
          changes.changed();
        },
        onProgress: (progress) => {
          addProgress(run, progress);
          changes.changed();
        },
        onPaused: (step) => {
          run.step = step;
          run.state = "paused";
          run.loading = undefined;
          changes.changed(true);
          void this.#look();
        },
        onUnsaved: (step, why) => {
          if (!this.#isUnsaved)
            run.events.push(`Checkpoints cannot be kept since step ${step}: ${why}. Remove runs to make room.`);
          this.#isUnsaved = true;
          changes.changed();
        },
        onCheckpoint: (step, bytes) => {
          this.#isUnsaved = false;
          this.#checkpointed({ step, bytes });
          if (this.#sparingly.isDue) void this.#keep();
        },
        onRecovered: ({ why, step, info }) => {
          run.events.push(
            `The GPU was lost (${why}). Training went on from step ${step} on ${info.type === "gpu" ? "a new GPU device" : "the CPU"}.`,
          );
          run.changedDevice ||= info.type !== run.info?.type;
          run.info = info;
          goBack(run, step);
          run.loading = undefined;
          changes.changed(true);
        },
        onRestarted: (why) => {
          run.events.push(`The worker broke (${why}) and was replaced.`);
          changes.changed();
        },
      },
    );
  }

  #checkpointed({ step, bytes }: { step: number; bytes: number }): void {
    const { run } = this;
    run.checkpoint = step;
    // There are two files, which are written in turn.
    run.space.checkpoints = Math.min(run.space.checkpoints + bytes, 2 * bytes);
  }

  #noted(note: Note): void {
    const { run } = this;
    switch (note.kind) {
      case "loading":
        run.loading = { label: note.label, part: note.part };
        return;
      case "set":
        run.set = note;
        run.fingerprint = note.fingerprint;
        run.steps = run.settings.epochs * Math.ceil(note.train / run.settings.batch);
        if (run.settings.steps > 0) run.steps = Math.min(run.steps, run.settings.steps);
        run.loading = { label: "First step: the kernels are being compiled", part: undefined };
        if (!this.#isPaused && run.state === "loading") run.state = "running";
        return;
      case "resumed":
        goBack(run, note.step);
        if (note.step % LOG_EVERY > 0 && !run.seams.includes(note.step)) run.seams.push(note.step);
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
  async #look(): Promise<void> {
    const { run } = this;
    try {
      run.inspection = await this.#worker.ask("inspect");
      await keepModel(await this.weights());
    } catch (error) {
      run.events.push(messageOf(error));
    }
    this.changes.changed(true);
  }

  pause(): void {
    this.#worker.pause();
  }

  resume(): void {
    this.run.state = "running";
    this.#rested();
    this.#worker.resume();
    this.changes.changed(true);
  }

  step(count: number): void {
    this.#rested();
    this.#worker.step(count);
  }

  /** What has passed until now was a pause, and no time of a step. What hinders it ends the run, which tells it. */
  #rested(): void {
    this.#worker.ask("rested").catch(() => undefined);
  }

  /** Ends the run after the present step, or the look at the test set that follows the last. */
  stop(): void {
    if (this.run.state === "ending") this.#worker.terminate();
    else this.#worker.stop();
  }

  /** Another rate from the next step on: which one that is the worker says, as the link needs it. */
  async setLearningRate(lr: number): Promise<void> {
    const { run } = this;
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
    this.#worker.loseDevice();
  }

  /** The weights as they are now; those of a run whose worker has ended are the last. */
  async weights(): Promise<Uint8Array> {
    this.run.weights = await this.#worker.ask("export");
    return this.run.weights;
  }

  /** Ends the worker at once. */
  terminate(): void {
    this.#worker.terminate();
  }
}
