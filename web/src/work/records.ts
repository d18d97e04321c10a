/**
 * Where runs are kept: a short record of each in the local storage, under a key of its own, so that tabs do not write over
 * each other; curves, looks inside, weights and checkpoints in the browser's private files, under the run's name.
 */

import { Checkpoints, openStore, type Store } from "flambeau/worker";
import type { Used } from "../app/device.js";
import { misread, readQuery, writeQuery } from "../app/url.js";
import { isGroup } from "./groups.js";
import { pack, unpack } from "./pack.js";
import { emptyCurve, newRun, type Curve, type Run, type RunState } from "./run.js";
import { rateAt } from "./rates.js";
import { trainSchema } from "./settings.js";

const KEY = "flambeau.run.";

/** What the local storage has of a run. */
export interface RunRecord
  extends Pick<
    Run,
    | "id"
    | "number"
    | "name"
    | "notes"
    | "device"
    | "begunWith"
    | "changedDevice"
    | "group"
    | "branchOf"
    | "seams"
    | "fingerprint"
    | "date"
    | "step"
    | "steps"
    | "seconds"
    | "checkpoint"
    | "result"
    | "space"
    | "error"
  > {
  /** As a link says them. */
  settings: string;
  /** Runs that have not ended are `interrupted`: so they are found when nobody trains them any more. */
  state: Extract<RunState, "done" | "stopped" | "failed" | "interrupted">;
}

/** The name of a run's checkpoints. */
export const checkpointsOf = (id: string) => `run-${id}`;
const stateFile = (id: string) => `run-${id}.state`;
const weightsFile = (id: string) => `run-${id}.weights`;

/** The record of a run as it is now. */
export function recordOf(run: Run): RunRecord {
  const { id, number, name, notes, device, begunWith, changedDevice, group, branchOf, seams, fingerprint, date } = run;
  const { step, steps, seconds, checkpoint, result, space, error, state } = run;
  const ended = state === "done" || state === "stopped" || state === "failed";
  return {
    ...{ id, number, name, notes, device, begunWith, changedDevice, group, branchOf, seams, fingerprint, date },
    ...{ step, steps, seconds, checkpoint, result, space, error },
    settings: writeQuery(trainSchema, run.settings, true).toString(),
    state: ended ? state : "interrupted",
  };
}

/** The run of a record, without what is in files. An error says what cannot be read. */
export function runOf(record: RunRecord): Run {
  const query = new URLSearchParams(record.settings);
  const wrong = misread(trainSchema, query);
  if (wrong.length > 0) throw new Error(`its settings cannot be read: ${wrong.join(", ")}`);
  const settings = readQuery(trainSchema, query);
  return {
    ...newRun(record.number, settings, record.device, record.name),
    ...record,
    group: isGroup(record.group) ? record.group : undefined,
    settings,
    shown: false,
    opened: false,
    lr: rateAt(settings.lr, settings.rates, record.step),
  };
}

const DEVICES: readonly string[] = ["gpu", "cpu", "software"] satisfies Used[];
const STATES: readonly string[] = ["done", "stopped", "failed", "interrupted"] satisfies RunRecord["state"][];

/** Is it a record? What is written by hand or by another version may not be. */
export function isRecord(value: unknown): value is RunRecord {
  const { id, number, name, notes, settings, device, state, step, steps, seconds, space, date } = (value ?? {}) as RunRecord;
  return (
    [id, name, notes, settings].every((each) => typeof each === "string") &&
    [number, step, steps, seconds, date, space?.checkpoints, space?.weights, space?.state].every(Number.isFinite) &&
    DEVICES.includes(device) &&
    STATES.includes(state)
  );
}

/** All records, the oldest first; what cannot be read is left where it is. */
export function records(): RunRecord[] {
  const keys = Array.from({ length: localStorage.length }, (_, place) => localStorage.key(place) ?? "");
  const found = keys.filter((key) => key.startsWith(KEY)).flatMap((key) => readRecord(key.slice(KEY.length)) ?? []);
  return found.sort((a, b) => a.number - b.number || a.date - b.date);
}

export function readRecord(id: string): RunRecord | undefined {
  try {
    const record: unknown = JSON.parse(localStorage.getItem(KEY + id) ?? "null");
    return isRecord(record) && record.id === id ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the record of a run; an error where there is no room. */
export function writeRecord(run: Run): void {
  localStorage.setItem(KEY + run.id, JSON.stringify(recordOf(run)));
}

/** The run of a key of the local storage, if it is one of ours. */
export const idOfKey = (key: string | null) => (key?.startsWith(KEY) === true ? key.slice(KEY.length) : undefined);

/** What a run has in files beside weights and checkpoints. */
interface SavedState extends Pick<Run, "assessment" | "inspection" | "set"> {
  curve: { [K in keyof Curve]: Float64Array };
}

const eachList = <A, B>(curve: { [K in keyof Curve]: A }, change: (list: A) => B) =>
  Object.fromEntries(Object.entries(curve).map(([name, list]) => [name, change(list as A)])) as { [K in keyof Curve]: B };

/** Curves and looks as bytes. */
export function packState({ curve, assessment, inspection, set }: Run): Uint8Array {
  return pack({ curve: eachList(curve, (list) => Float64Array.from(list)), assessment, inspection, set } satisfies SavedState);
}

/** Gives a run the curves and looks of bytes. */
export function takeState(run: Run, bytes: Uint8Array): void {
  const { curve, assessment, inspection, set } = unpack(bytes) as SavedState;
  // Runs of before the gradients' norm was measured have none.
  const { gradient = new Float64Array(curve.step.length).fill(Number.NaN) } = curve as Partial<typeof curve>;
  run.curve = { ...emptyCurve(), ...eachList({ ...curve, gradient }, (list) => Array.from(list)) };
  Object.assign(run, { assessment, inspection, set } satisfies Pick<Run, "assessment" | "inspection" | "set">);
}

/**
 * Keeps curves and looks, weights if they are new, and the record last: what it speaks of is there. Gives the milliseconds that it has
 * kept the thread busy, which grow with the curves.
 */
export async function keepRun(run: Run, weights?: Uint8Array): Promise<number> {
  const store = await openStore();
  const start = performance.now();
  const state = packState(run);
  const took = performance.now() - start;
  await store.write(stateFile(run.id), state);
  run.space.state = state.length;
  if (weights !== undefined) {
    await store.write(weightsFile(run.id), weights);
    run.space.weights = weights.length;
  }
  writeRecord(run);
  return took;
}

/** Fetches what a run has in files. */
export async function openRun(run: Run): Promise<void> {
  if (run.opened) return;
  const store = await openStore();
  const [state, weights] = [await store.read(stateFile(run.id)), await store.read(weightsFile(run.id))];
  if (state !== undefined) takeState(run, state);
  run.weights = weights;
  run.opened = true;
}

/** The latest checkpoint of a run. */
export async function latestCheckpoint(id: string, store?: Store): Promise<Uint8Array | undefined> {
  for await (const bytes of new Checkpoints(store ?? (await openStore()), checkpointsOf(id)).latest()) return bytes;
  return undefined;
}

/** Keeps a checkpoint for a run that has none. */
export async function giveCheckpoint(run: Run, bytes: Uint8Array): Promise<void> {
  await new Checkpoints(await openStore(), checkpointsOf(run.id)).save(bytes);
  run.space.checkpoints = bytes.length;
}

/** Removes a run and all its files. The record goes last: if the page ends on the way, no file is left that nobody knows of. */
export async function removeRun(id: string): Promise<void> {
  const store = await openStore();
  await new Checkpoints(store, checkpointsOf(id)).clear();
  for (const file of [stateFile(id), weightsFile(id)]) await store.remove(file);
  localStorage.removeItem(KEY + id);
}
