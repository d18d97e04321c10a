/** Sweeps: the values that are typed, the settings of each run, and the table that the runs fill. */

import { writeCsv } from "./csv.js";
import { SWEPT, type SweepGroup, type Swept, type SweptName } from "./groups.js";
import { readRecord } from "./records.js";
import { isLive, type Run } from "./run.js";
import { type TrainSettings, trainSchema } from "./settings.js";

/** The most runs of one sweep. */
export const MOST_RUNS = 64;

/** The values of a list as it is typed, in the order they stand in, each once; or what is wrong with it. */
export function readValues(setting: SweptName, typed: string): { values: string[]; problem?: undefined } | { problem: string } {
  const { read, write } = trainSchema[setting] as { read(text: string): unknown; write(value: unknown): string };
  const values: string[] = [];
  for (const word of typed.split(/[,;\s]+/).filter((word) => word !== "")) {
    const value = read(word);
    if (value === undefined) return { problem: `${SWEPT[setting]}: “${word}” cannot be used` };
    if (!values.includes(write(value))) values.push(write(value));
  }
  return values.length === 0 ? { problem: `${SWEPT[setting]}: give at least one value` } : { values };
}

/** Why these two cannot be swept together. */
export function hindranceOf(down: Swept, across: Swept): string | undefined {
  if (down.setting === across.setting) return "Choose two different settings";
  const count = down.values.length * across.values.length;
  return count > MOST_RUNS ? `${count} runs are too many: ${MOST_RUNS} at most` : undefined;
}

const readFrom = (setting: SweptName, text: string) => trainSchema[setting].read(text);
const textOf = (settings: TrainSettings, setting: SweptName) =>
  (trainSchema[setting] as { write(value: unknown): string }).write(settings[setting]);

/** The settings of the run of a cell. */
export function settingsAt(base: TrainSettings, { down, across }: SweepGroup, row: string, column: string): TrainSettings {
  const swept = { [down.setting]: readFrom(down.setting, row), [across.setting]: readFrom(across.setting, column) };
  // A rate that is tried stays as it is.
  return { ...base, ...swept, ...("lr" in swept && { rates: [] }) };
}

/** A place of the table. */
export interface Cell {
  row: string;
  column: string;
  run: Run | undefined;
  /** Its turn is still to come. */
  waits: boolean;
}

/** The table, row by row. Of several runs for one place the newest counts. */
export function cellsOf(
  { id, down, across }: SweepGroup,
  list: readonly Run[],
  waiting: readonly { settings: TrainSettings; group?: { id: string } | undefined }[],
): Cell[][] {
  const own = <T extends { settings: TrainSettings; group?: { id: string } | undefined }>(all: readonly T[]) =>
    all.filter(({ group }) => group?.id === id);
  const isAt = ({ settings }: { settings: TrainSettings }, row: string, column: string) =>
    textOf(settings, down.setting) === row && textOf(settings, across.setting) === column;
  const [runs, requests] = [own(list), own(waiting)];
  return down.values.map((row) =>
    across.values.map((column) => ({
      row,
      column,
      run: runs.filter((run) => isAt(run, row, column)).at(-1),
      waits: requests.some((request) => isAt(request, row, column)),
    })),
  );
}

/** Why a cell has no result that lasts; nothing where it has one, or will. */
export function reasonOf({ run, waits }: Cell): string | undefined {
  if (waits) return undefined;
  if (run === undefined) return "not run: the sweep was stopped, or the run was removed";
  if (isLive(run) || run.elsewhere) return undefined;
  if (run.error !== undefined) return run.error;
  if (run.state === "interrupted") return "cut off: the page was closed before its end";
  if (run.state === "stopped") return `stopped after ${run.step} of ${run.steps} steps`;
  return readRecord(run.id) === undefined ? "not kept: the browser's storage had no room for it" : undefined;
}

/** The table as a file: one cell in a row. */
export function sweepCsv({ down, across }: SweepGroup, cells: readonly (readonly Cell[])[]): string {
  const head = [down.setting, across.setting, "run", "state", "part", "accuracy", "loss", "steps", "seconds", "why"];
  const rows = cells.flat().map((cell) => {
    const { row, column, run, waits } = cell;
    const { number = "", state = waits ? "waiting" : "none", result, step = "", seconds = "" } = run ?? {};
    const figures = [result?.part ?? "", result?.accuracy ?? "", result?.loss ?? "", step, seconds];
    return [row, column, number, state, ...figures, reasonOf(cell) ?? ""];
  });
  return writeCsv([head, ...rows]);
}
