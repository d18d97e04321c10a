/** A run as one file: its record, curves, looks inside, weights and latest checkpoint, and back. */

import { messageOf } from "./errors.js";
import { pack, unpack } from "./pack.js";
import {
  giveCheckpoint,
  isRecord,
  keepRun,
  latestCheckpoint,
  openRun,
  packState,
  recordOf,
  runOf,
  takeState,
} from "./records.js";
import type { RunRecord } from "./records.js";
import { newRun, type Run } from "./run.js";
import { readHead } from "./safetensors.js";

const FORMAT = "flambeau run 1";

interface RunFile {
  format: typeof FORMAT;
  record: RunRecord;
  /** Curves and looks, as `packState` writes them. */
  state: Uint8Array;
  weights?: Uint8Array | undefined;
  checkpoint?: Uint8Array | undefined;
}

/** The bytes of the file. */
export function writeRunFile(run: Run, checkpoint: Uint8Array | undefined): Uint8Array<ArrayBuffer> {
  const { weights } = run;
  return pack({ format: FORMAT, record: recordOf(run), state: packState(run), weights, checkpoint } satisfies RunFile);
}

/** The run of a file, under a name that is new in this browser, and its checkpoint. An error says what is wrong. */
export function readRunFile(bytes: Uint8Array, number: number): { run: Run; checkpoint: Uint8Array | undefined } {
  const file = unpack(bytes) as Partial<RunFile>;
  if (file.format !== FORMAT || !isRecord(file.record) || !(file.state instanceof Uint8Array))
    throw new Error("this is no run, or one of a later version of this page");
  const { record, state, weights, checkpoint } = file;
  const run = { ...runOf(record), id: newRun(0, runOf(record).settings, record.device).id, number, opened: true, shown: true };
  takeState(run, state);
  for (const [name, part] of [
    ["weights", weights],
    ["checkpoint", checkpoint],
  ] as const) {
    try {
      if (part !== undefined) readHead(part);
    } catch (error) {
      throw new Error(`its ${name} cannot be read: ${messageOf(error)}`);
    }
  }
  run.weights = weights;
  // Without its checkpoint it can be looked at, but not go on.
  if (checkpoint === undefined) run.checkpoint = undefined;
  if (run.state === "interrupted") run.state = "stopped";
  run.space = { checkpoints: 0, weights: 0, state: 0 };
  return { run, checkpoint };
}

/** The file of a run that is kept in this browser. */
export async function exportRun(run: Run): Promise<Uint8Array<ArrayBuffer>> {
  await openRun(run);
  return writeRunFile(run, await latestCheckpoint(run.id));
}

/** Keeps the run of a file in this browser. */
export async function importRun(bytes: Uint8Array, number: number): Promise<Run> {
  const { run, checkpoint } = readRunFile(bytes, number);
  if (checkpoint !== undefined) await giveCheckpoint(run, checkpoint);
  await keepRun(run, run.weights);
  return run;
}
