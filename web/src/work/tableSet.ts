/** How a table of one's own becomes a data set: which column is learnt, which are learnt from, what happens to missing cells. */

import { counted } from "../ui/write.js";
import { divide, type Division, type Shares } from "./divide.js";
import type { DataSet, Part } from "./messages.js";
import { faultOf, isMissing, numberOf, type Preparation, prepared, spread } from "./prepare.js";
import { describeColumns, hasDecimalComma, type ColumnAbout, type TextTable } from "./table.js";

/** Labels are bytes. */
export const MOST_CLASSES = 256;
/** The fewest sides of a picture in a table. */
const SMALLEST_SIDE = 8;

export type Missing = "refuse" | "drop" | "fill";

/** What the reader decides. */
export interface TableChoices extends Shares {
  target: string;
  task: "classes" | "number";
  /** Columns that are not learnt from. */
  leftOut: string[];
  missing: Missing;
}

/** A number with many values is predicted; words, and numbers of few kinds, are classes. */
export function guessTask({ kind, distinct }: ColumnAbout, rows: number): TableChoices["task"] {
  return kind === "numbers" && distinct > Math.max(20, Math.sqrt(rows)) ? "number" : "classes";
}

/** The column to learn: one that is called so, else the last. */
export function guessTarget(names: readonly string[]): string {
  const called = ["label", "class", "target", "y"].map((word) => names.find((name) => name.toLowerCase() === word));
  return called.find((name) => name !== undefined) ?? names.at(-1) ?? "";
}

/** What one begins with: words are left out, as nothing can be computed with them. */
export function guessChoices(table: TextTable, shares: Shares): TableChoices {
  const columns = describeColumns(table);
  const target = guessTarget(table.names);
  const about = columns.find(({ name }) => name === target);
  return {
    target,
    task: about === undefined ? "classes" : guessTask(about, table.rows.length),
    leftOut: columns.filter(({ kind, name }) => kind === "words" && name !== target).map(({ name }) => name),
    missing: "refuse",
    ...shares,
  };
}

/** The rows that are used, and how many were left out. */
function usedRows({ names, rows, places, delimiter }: TextTable, columns: readonly string[], choices: TableChoices): number[] {
  const comma = hasDecimalComma(delimiter);
  const at = new Map(names.map((name, column) => [name, column]));
  const numbers = choices.task === "number" ? [...columns, choices.target] : columns;
  const used: number[] = [];
  for (const [row, cells] of rows.entries()) {
    const cellOf = (name: string) => cells[at.get(name) ?? -1] ?? "";
    const hasNoTarget = isMissing(cellOf(choices.target)) && (choices.task === "number" || cellOf(choices.target).trim() === "");
    const lacking = hasNoTarget ? choices.target : columns.find((name) => isMissing(cellOf(name)));
    if (lacking !== undefined) {
      if (choices.missing === "refuse")
        throw new Error(`row ${places[row]}, column “${lacking}” ${faultOf(cellOf(lacking), comma) ?? "is empty"}`);
      // What is to be learnt cannot be filled in.
      if (choices.missing === "drop" || hasNoTarget) continue;
    }
    for (const name of numbers) {
      const cell = cellOf(name);
      const fault = isMissing(cell) ? undefined : faultOf(cell, comma);
      if (fault !== undefined) throw new Error(`row ${places[row]}, column “${name}” ${fault}`);
    }
    used.push(row);
  }
  return used;
}

/** The set of a table. Means, deviations and what fills gaps are those of the rows to train with: the others are news to the network. */
export function tableSet(name: string, table: TextTable, choices: TableChoices): DataSet {
  const { target, task, leftOut } = choices;
  const columns = table.names.filter((each) => each !== target && !leftOut.includes(each));
  if (!table.names.includes(target)) throw new Error(`there is no column “${target}”`);
  if (columns.length === 0) throw new Error("the table needs a column to learn and columns of numbers to learn it from");
  const used = usedRows(table, columns, choices);
  const comma = hasDecimalComma(table.delimiter);
  const column = (wanted: string) => {
    const place = table.names.indexOf(wanted);
    return used.map((row) => (table.rows[row]?.[place] ?? "").trim());
  };
  const goal = column(target);
  const classes = task === "classes" ? classesOf(goal, target) : [];
  const labels = task === "classes" ? goal.map((cell) => classes.indexOf(cell)) : goal.map((cell) => numberOf(cell, comma));
  const division = divide(task === "classes" ? labels : goal.map(() => 0), choices);
  const values = columns.map((each) => Float64Array.from(column(each), (cell) => numberOf(cell, comma)));
  const dropped = table.rows.length - used.length;
  const notes = [
    ...(leftOut.length > 0 ? [`not learnt from: ${leftOut.join(", ")}`] : []),
    ...(dropped > 0 ? [`${counted(dropped, "row")} with missing cells left out`] : []),
  ];
  const inputs = pictureOf(values) ?? standardised(columns, values, division, choices.missing === "fill", comma);
  const pick = (places: Uint32Array, answers: ArrayLike<number>): Part => {
    const items = new Float32Array(places.length * columns.length);
    for (const [item, place] of places.entries())
      for (let each = 0; each < columns.length; each += 1) items[item * columns.length + each] = inputs.value(each, place);
    const labels = Array.from(places, (place) => answers[place] ?? 0);
    return { items, labels: task === "classes" ? Uint8Array.from(labels) : Float32Array.from(labels) };
  };
  const goalSpread =
    task === "number" ? { name: target, ...spread(Array.from(division.train, (place) => labels[place] ?? 0)) } : undefined;
  const answers = goalSpread === undefined ? labels : labels.map((value) => prepared(value, goalSpread));
  return {
    name,
    shape: inputs.shape,
    classes,
    preparation: inputs.preparation,
    ...(goalSpread !== undefined && { number: goalSpread }),
    train: pick(division.train, answers),
    ...(division.validation.length > 0 && { validation: pick(division.validation, answers) }),
    test: pick(division.test, answers),
    notes,
  };
}

function classesOf(cells: readonly string[], target: string): string[] {
  const names = [...new Set(cells)];
  if (names.length > MOST_CLASSES)
    throw new Error(`the column “${target}” has ${names.length} different labels; at most ${MOST_CLASSES} are classes`);
  // 2 comes before 10.
  return names.sort((a, b) => Number(a) - Number(b) || (a < b ? -1 : 1));
}

interface Inputs {
  shape: number[];
  preparation: Preparation;
  value(column: number, row: number): number;
}

/** As many columns of bytes or shares as a square has pixels are a picture. */
function pictureOf(values: readonly Float64Array[]): Inputs | undefined {
  const side = Math.sqrt(values.length);
  if (!Number.isInteger(side) || side < SMALLEST_SIDE) return undefined;
  let most = 0;
  for (const column of values)
    for (const value of column) {
      if (!(value >= 0 && value <= 255)) return undefined;
      most = Math.max(most, value);
    }
  const scale = most > 1.5 ? 255 : 1;
  return {
    shape: [1, side, side],
    preparation: { kind: "picture" },
    value: (column, row) => (values[column]?.[row] ?? 0) / scale,
  };
}

function standardised(
  names: readonly string[],
  values: readonly Float64Array[],
  { train }: Division,
  fill: boolean,
  decimalComma: boolean,
): Inputs {
  const columns = names.map((name, column) => ({
    name,
    ...spread(Array.from(train, (place) => values[column]?.[place] ?? Number.NaN)),
  }));
  return {
    shape: [names.length],
    preparation: { kind: "table", columns, fill, decimalComma },
    value: (column, row) => prepared(values[column]?.[row] ?? Number.NaN, columns[column] ?? { mean: 0, deviation: 1 }),
  };
}
