/** Tables of text: cells from delimited files, with the rows' places as a spreadsheet counts them, and what the columns hold. */

import { isMissing, numberOf } from "./prepare.js";

export const DELIMITERS = [",", ";", "\t", "|"] as const;
export type Delimiter = (typeof DELIMITERS)[number];

/** A table that has been read. */
export interface TextTable {
  names: string[];
  rows: string[][];
  /** Where each row stands: from 1, the header and blank lines counted. */
  places: number[];
  delimiter: Delimiter;
  header: boolean;
}

/** A row as the file has it. */
export interface TextRecord {
  cells: string[];
  place: number;
}

const [QUOTE, LINE_FEED, RETURN] = ['"', "\n", "\r"].map((sign) => sign.charCodeAt(0)) as [number, number, number];
/** Cells of so few signs are kept once for all: pixels are of 256 kinds. */
const SHORT = 3;

/**
 * The rows of a text, at most so many; blank lines are counted and left out. Quotes hold delimiters, line ends and, doubled, quotes.
 */
export function readRecords(text: string, delimiter: Delimiter, most = Infinity): TextRecord[] {
  const records: TextRecord[] = [];
  const divides = delimiter.charCodeAt(0);
  const known = new Map<string, string>();
  const kept = (cell: string) => {
    if (cell.length > SHORT) return cell;
    const same = known.get(cell);
    if (same === undefined) known.set(cell, cell);
    return same ?? cell;
  };
  let at = text.startsWith("\ufeff") ? 1 : 0;
  for (let place = 1; at < text.length && records.length < most; place += 1) {
    const cells: string[] = [];
    for (;;) {
      let cell = "";
      const quoted = text.charCodeAt(at) === QUOTE;
      if (quoted) {
        at += 1;
        for (;;) {
          const end = text.indexOf('"', at);
          if (end < 0) throw new Error(`row ${place} has a quotation mark that is never closed`);
          cell += text.slice(at, end);
          at = end + 1;
          if (text.charCodeAt(at) !== QUOTE) break;
          cell += '"';
          at += 1;
        }
      }
      const start = at;
      let sign = text.charCodeAt(at);
      while (at < text.length && sign !== divides && sign !== LINE_FEED && sign !== RETURN) {
        at += 1;
        sign = text.charCodeAt(at);
      }
      cells.push(kept(cell + text.slice(start, at)));
      if (sign !== divides) break;
      at += 1;
    }
    at += text.charCodeAt(at) === RETURN && text.charCodeAt(at + 1) === LINE_FEED ? 2 : 1;
    if (cells.length > 1 || (cells[0] ?? "").trim() !== "") records.push({ cells, place });
  }
  return records;
}

const SAMPLE = 50;

/** The delimiter that gives the same number of cells, more than one, in most of the first rows. */
export function guessDelimiter(text: string): Delimiter {
  const head = text.slice(0, 20_000);
  const score = (delimiter: Delimiter) => {
    let counts: number[];
    try {
      counts = readRecords(head, delimiter, SAMPLE).map(({ cells }) => cells.length);
    } catch {
      return 0;
    }
    const [first = 1] = counts;
    return first < 2 ? 0 : counts.filter((count) => count === first).length / counts.length + first / 1e6;
  };
  return DELIMITERS.reduce((best, each) => (score(each) > score(best) ? each : best));
}

/** Is a comma the decimal point? Only where it does not divide the cells. */
export const hasDecimalComma = (delimiter: Delimiter) => delimiter !== ",";

/** Do the first cells name the columns? They do if none of them is a number, or a column of numbers begins with a word. */
export function guessHeader(rows: readonly string[][], decimalComma: boolean): boolean {
  const [first = [], ...rest] = rows;
  const isNumber = (cell = "") => !Number.isNaN(numberOf(cell, decimalComma));
  if (first.some((cell) => isNumber(cell)) || rest.length === 0) return false;
  return rest.some((cells) => cells.some(isNumber));
}

/** Reads a table; what is not told is guessed. An error names the row. */
export function readTable(text: string, told: { delimiter?: Delimiter; header?: boolean } = {}): TextTable {
  const delimiter = told.delimiter ?? guessDelimiter(text);
  const records = readRecords(text, delimiter);
  const header =
    told.header ??
    guessHeader(
      records.slice(0, SAMPLE).map(({ cells }) => cells),
      hasDecimalComma(delimiter),
    );
  const [first] = records;
  if (first === undefined) throw new Error("the file is empty");
  const names = header ? named(first.cells) : first.cells.map((_, column) => `column ${column + 1}`);
  const kept = header ? records.slice(1) : records;
  if (kept.length === 0) throw new Error("the table has a header and no rows");
  const ragged = kept.find(({ cells }) => cells.length !== names.length);
  if (ragged !== undefined) {
    const { cells, place } = ragged;
    throw new Error(
      `row ${place} has ${cells.length} cells, and ${header ? "the header" : `row ${first.place}`} has ${names.length}`,
    );
  }
  return { names, rows: kept.map(({ cells }) => cells), places: kept.map(({ place }) => place), delimiter, header };
}

/** Names of columns: none is empty, and none is there twice. */
function named(cells: readonly string[]): string[] {
  const taken = new Set<string>();
  return cells.map((cell, column) => {
    const wanted = cell.trim() || `column ${column + 1}`;
    let name = wanted;
    for (let time = 2; taken.has(name); time += 1) name = `${wanted} (${time})`;
    taken.add(name);
    return name;
  });
}

/** What a column holds. */
export interface ColumnAbout {
  name: string;
  /** `words`: not one cell is a number. */
  kind: "numbers" | "words";
  missing: number;
  /** Different cells, up to a limit. */
  distinct: number;
}

const MOST_DISTINCT = 1000;

export function describeColumns({ names, rows, delimiter }: TextTable): ColumnAbout[] {
  return names.map((name, column) => {
    let missing = 0;
    let numbers = 0;
    const different = new Set<string>();
    for (const row of rows) {
      const cell = row[column] ?? "";
      if (isMissing(cell)) missing += 1;
      else {
        if (different.size < MOST_DISTINCT) different.add(cell.trim());
        if (!Number.isNaN(numberOf(cell, hasDecimalComma(delimiter)))) numbers += 1;
      }
    }
    return { name, kind: numbers > 0 ? "numbers" : "words", missing, distinct: different.size };
  });
}
