/** The worker that reads one's own data: idx files, a table, a folder of pictures. */

import { data, init } from "flambeau";
import { answerQuestions } from "flambeau/worker";
import { counted } from "../ui/write.js";
import type { Shares } from "./divide.js";
import { messageOf } from "./errors.js";
import { fingerprint } from "./fingerprint.js";
import type { DataSet, ReadNote, ReadQuestions, TableAnswer, TableQuestion } from "./messages.js";
import { pictureReader } from "./prepare.js";
import { dividePictures, type IdxFile, idxSet, picturesOf } from "./reading.js";
import { describeColumns, readTable } from "./table.js";
import { guessChoices, tableSet } from "./tableSet.js";

const FIRST_ROWS = 6;

const printed = (set: DataSet): DataSet => ({ ...set, fingerprint: fingerprint(set) });

async function readIdx(file: File): Promise<IdxFile> {
  const read = await data.readIdx(file).catch((error: unknown) => {
    throw new Error(`${file.name} is no idx file: ${messageOf(error)}`);
  });
  if (!(read.data instanceof Uint8Array)) throw new Error(`${file.name} holds ${read.dtype} values; bytes are expected`);
  return { name: file.name, values: read.data, shape: read.shape };
}

async function readFolder(files: File[], size: number, channels: 1 | 3, shares: Shares): Promise<DataSet> {
  const { pictures, classes, labels } = picturesOf(files);
  const each = channels * size * size;
  const items = new Uint8Array(pictures.length * each);
  const read = pictureReader(size, size, channels);
  for (const [index, file] of pictures.entries()) {
    const picture = await createImageBitmap(file).catch(() => {
      throw new Error(`${file.webkitRelativePath || file.name} cannot be read as a picture`);
    });
    read(picture, items.subarray(index * each, (index + 1) * each));
    picture.close();
    if (index % 16 === 0) tell({ label: `Reading ${counted(pictures.length, "picture")}`, part: index / pictures.length });
  }
  const parts = dividePictures({ items, labels }, each, shares);
  return { name: "Pictures", shape: [channels, size, size], classes, preparation: { kind: "picture" }, ...parts };
}

/** The text of a file: UTF-8, or what spreadsheets of Western Europe write. */
async function textOf(file: File): Promise<string> {
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

async function openTable({
  file,
  delimiter,
  header,
  choices: told,
  missing = "refuse",
  shares,
}: TableQuestion): Promise<TableAnswer> {
  const table = readTable(await textOf(file), {
    ...(delimiter !== undefined && { delimiter }),
    ...(header !== undefined && { header }),
  });
  const choices = told ?? { ...guessChoices(table, shares), missing };
  const about = {
    delimiter: table.delimiter,
    header: table.header,
    columns: describeColumns(table),
    rows: table.rows.length,
    first: table.rows.slice(0, FIRST_ROWS).map((cells, row) => ({ place: table.places[row] ?? 0, cells })),
    choices,
  };
  try {
    return { ...about, set: printed(tableSet(file.name, table, choices)), problem: undefined };
  } catch (error) {
    return { ...about, set: undefined, problem: messageOf(error) };
  }
}

const tell: (note: ReadNote) => void = answerQuestions<ReadQuestions, ReadNote>({
  async idx({ files, names, shares }) {
    await init({ device: "cpu" });
    const read: IdxFile[] = [];
    for (const file of files) read.push(await readIdx(file));
    return printed(idxSet(read, shares, names));
  },
  table: openTable,
  folder: async ({ files, size, channels, shares }) => printed(await readFolder(files, size, channels, shares)),
});
