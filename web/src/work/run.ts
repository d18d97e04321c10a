/** A run and all that is known of it, as the pages see it. */

import type { DeviceInfo, Progress } from "flambeau";
import type { Used } from "../app/device.js";
import type { Group } from "./groups.js";
import { nameOf } from "./layers.js";
import type { Assessment, Inspection, Note } from "./messages.js";
import { rateAt, withChange } from "./rates.js";
import type { TrainSettings } from "./settings.js";

/** `ending`: the last step is done, and the whole test set is being read. `interrupted`: the page ended before the run. */
export type RunState = "loading" | "running" | "paused" | "ending" | "done" | "stopped" | "failed" | "interrupted";

export interface RunStats {
  stepMs: number;
  samplesPerSecond: number;
  memory: number;
  peak: number;
  kernels: number;
  submissions: number;
}

/** The curves of a run: training by step, and looks at other items where there were some: those for validation, or else for tests. */
export interface Curve {
  step: number[];
  loss: number[];
  accuracy: number[];
  /** The norm of all gradients together at that step; NaN in runs of before it was measured. */
  gradient: number[];
  /** Seconds of training until then, without pauses. */
  seconds: number[];
  testStep: number[];
  testLoss: number[];
  testAccuracy: number[];
}

/** What the last look at items that are not trained with came to. */
export interface Result extends Pick<Assessment, "part" | "accuracy" | "loss"> {
  /** Of a number: the root of the mean squared error, in the number's own units. Its `accuracy` is R². */
  error?: number;
}

/** The bytes that it takes in the browser's storage. */
export interface Space {
  checkpoints: number;
  weights: number;
  state: number;
}

export interface Run {
  /** What its files are kept under, in this browser and no other. */
  id: string;
  /** Counted in this browser, for the reader. */
  number: number;
  name: string;
  notes: string;
  /** What decides it; a rate that is changed while it runs is added to them. */
  settings: TrainSettings;
  device: Used;
  /** The file whose weights it began with. */
  begunWith: string | undefined;
  /** It lost its device and went on on one of another kind. */
  changedDevice: boolean;
  /** The runs that it was started with. */
  group: Group | undefined;
  /** The run that it goes on from, and the steps that they share. */
  branchOf: { name: string; step: number } | undefined;
  /** Steps between two reports at which it went on from a checkpoint: the next point of its curves is of fewer steps. */
  seams: number[];
  /** Of the data that it is trained with. */
  fingerprint: string | undefined;
  date: number;
  /** The colour of its curves, 1 to 6. */
  colour: number;
  state: RunState;
  /** Another tab trains it. */
  elsewhere: boolean;
  shown: boolean;
  /** Is what is kept in files (curves, looks, weights) here? */
  opened: boolean;
  loading: { label: string; part: number | undefined } | undefined;
  info: DeviceInfo | undefined;
  set: Extract<Note, { kind: "set" }> | undefined;
  step: number;
  steps: number;
  /** The step of the latest checkpoint. */
  checkpoint: number | undefined;
  lr: number;
  curve: Curve;
  stats: RunStats | undefined;
  seconds: number;
  assessment: Assessment | undefined;
  inspection: Inspection | undefined;
  /** Known also while the rest is not here. */
  result: Result | undefined;
  weights: Uint8Array | undefined;
  space: Space;
  /** What happened on the way, such as a lost device. */
  events: string[];
  error: string | undefined;
}

const COLOURS = 6;
const DEVICES: Record<Used, string> = { gpu: "GPU", cpu: "CPU", software: "software GPU" };
const MODEL_NAMES = { mlp: "MLP", cnn: "CNN", resnet: "ResNet" } as const;

/** The states of a run that has its worker. */
export const isLive = ({ state }: Run) => state === "loading" || state === "running" || state === "paused" || state === "ending";

/** Can it go on from its latest checkpoint? */
export const canContinue = (run: Run) =>
  !isLive(run) && !run.elsewhere && run.checkpoint !== undefined && run.checkpoint < run.steps;

/** The bytes that it takes. */
export const bytesOf = ({ space }: Run) => space.checkpoints + space.weights + space.state;

export const emptyCurve = (): Curve => ({
  step: [],
  loss: [],
  accuracy: [],
  gradient: [],
  seconds: [],
  testStep: [],
  testLoss: [],
  testAccuracy: [],
});

function nameFor(settings: TrainSettings, device: Used): string {
  const model = nameOf(settings.layers);
  return `${model === undefined ? "Own" : MODEL_NAMES[model]}, ${settings.optimizer} ${settings.lr}, seed ${settings.seed}, ${DEVICES[device]}`;
}

/** A name for files that no other tab chooses. Pages over plain http have no `randomUUID`. */
export function newId(): string {
  const [chance = 0] = crypto.getRandomValues(new Uint32Array(1));
  return `${Date.now().toString(36)}-${chance.toString(36)}`;
}

/** A run before its first step. */
export function newRun(number: number, settings: TrainSettings, device: Used, name = nameFor(settings, device)): Run {
  return {
    id: newId(),
    number,
    name,
    notes: "",
    settings: { ...settings },
    device,
    begunWith: undefined,
    changedDevice: false,
    group: undefined,
    branchOf: undefined,
    seams: [],
    fingerprint: undefined,
    date: Date.now(),
    colour: ((number - 1) % COLOURS) + 1,
    state: "loading",
    elsewhere: false,
    shown: true,
    opened: true,
    loading: undefined,
    info: undefined,
    set: undefined,
    step: 0,
    steps: 0,
    checkpoint: undefined,
    lr: rateAt(settings.lr, settings.rates, 0),
    curve: emptyCurve(),
    stats: undefined,
    seconds: 0,
    assessment: undefined,
    inspection: undefined,
    result: undefined,
    weights: undefined,
    space: { checkpoints: 0, weights: 0, state: 0 },
    events: [],
    error: undefined,
  };
}

/** Takes back what came after a step. */
export function cutCurve(curve: Curve, step: number): void {
  const cut = (steps: number[], ...others: number[][]) => {
    const kept = steps.filter((each) => each <= step).length;
    for (const list of [steps, ...others]) list.length = kept;
  };
  cut(curve.step, curve.loss, curve.accuracy, curve.gradient, curve.seconds);
  cut(curve.testStep, curve.testLoss, curve.testAccuracy);
}

/** Goes back to a step, from which training goes on. */
export function goBack(run: Run, step: number): void {
  cutCurve(run.curve, step);
  run.step = step;
  run.seconds = run.curve.seconds.at(-1) ?? 0;
  run.lr = rateAt(run.settings.lr, run.settings.rates, step);
}

/** Takes a report of the training up. */
export function addProgress(run: Run, { step, steps, metrics, lr }: Progress): void {
  const { curve } = run;
  run.loading = undefined;
  run.step = step;
  run.steps = steps;
  run.lr = lr;
  curve.step.push(step);
  curve.loss.push(metrics["loss"] ?? Number.NaN);
  curve.accuracy.push(metrics["accuracy"] ?? Number.NaN);
  curve.gradient.push(metrics["gradNorm"] ?? Number.NaN);
  curve.seconds.push(run.seconds);
}

/** The items that the curve of looks is of. */
export const lookedAt = ({ set }: Pick<Run, "set">): Assessment["part"] => ((set?.validation ?? 0) > 0 ? "validation" : "test");

/** Takes a look at items up; one of the same step takes the place of the last. */
export function addAssessment(run: Run, assessment: Assessment): void {
  const { curve, set } = run;
  const { step, part, loss, accuracy } = assessment;
  run.assessment = assessment;
  run.result = { part, accuracy, loss, ...(set?.number !== undefined && { error: Math.sqrt(loss) * set.number.deviation }) };
  // The test at the end is no point of a curve of the items for validation.
  if (part !== lookedAt(run)) return;
  if (curve.testStep.at(-1) === step) for (const list of [curve.testStep, curve.testLoss, curve.testAccuracy]) list.pop();
  curve.testStep.push(step);
  curve.testLoss.push(loss);
  curve.testAccuracy.push(accuracy);
}

/** What may be other in a branch: all else decided the steps that it shares. */
export type BranchChange = Pick<TrainSettings, "lr" | "epochs" | "steps">;

/** A run that goes on from the latest checkpoint of another, at another rate or for longer. */
export function branchRun(from: Run, number: number, { lr, ...length }: BranchChange, device: Used): Run {
  const { settings, checkpoint: step } = from;
  if (step === undefined) throw new Error("the run has no checkpoint");
  const before = settings.rates.filter((change) => change.step <= step);
  const rates = rateAt(settings.lr, before, step) === lr ? before : withChange(before, { step, lr });
  const run: Run = {
    ...newRun(number, { ...settings, ...length, rates }, device, `${from.name}, from step ${step}`),
    begunWith: from.begunWith,
    changedDevice: from.changedDevice || from.device !== device,
    branchOf: { name: from.name, step },
    seams: [...from.seams],
    fingerprint: from.fingerprint,
    checkpoint: step,
    curve: structuredClone(from.curve),
  };
  goBack(run, step);
  return run;
}
