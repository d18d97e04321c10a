/** One's own data: read in a worker, kept for the runs of this visit, with the choices that made them. */

import { WorkerClient } from "flambeau/worker";
import { SHARES, type Shares } from "./divide.js";
import { messageOf } from "./errors.js";
import { FASHION, INCLUDED, isIncluded } from "./included.js";
import type { DataSet, DataSource, ReadNote, ReadQuestions, TableAnswer, TableQuestion } from "./messages.js";
import type { DataName } from "./settings.js";
import { Changes } from "./store.js";

/** How pictures of a folder are read. */
export interface PictureChoices {
  size: 28 | 32 | 64;
  channels: 1 | 3;
}

type Reader = WorkerClient<ReadQuestions, ReadNote>;

class OwnData {
  readonly changes = new Changes();
  set: DataSet | undefined;
  /** Which of the settings' data sets it is. */
  kind: DataName | undefined;
  reading: { label: string; part: number | undefined } | undefined;
  error: string | undefined;
  /** The table that was opened last, and what was chosen for it. */
  table: TableAnswer | undefined;
  pictures: PictureChoices = { size: 28, channels: 1 };
  shares: Shares = SHARES;
  #files: File[] = [];

  /** Reads files of this kind; what was read before stays until they are whole. */
  async take(kind: DataName, files: File[]): Promise<void> {
    this.#files = files;
    this.table = undefined;
    await (kind === "csv" ? this.chooseTable() : this.#read(kind, (reader) => this.#readPictures(kind, reader)));
  }

  #readPictures(kind: DataName, reader: Reader): Promise<DataSet> {
    const [files, { shares }] = [this.#files, this];
    if (kind === "folder") return reader.ask("folder", { files, shares, ...this.pictures });
    return reader.ask("idx", { files, shares, ...(kind === "fashion" && { names: FASHION }) });
  }

  /** Reads the pictures anew with other choices. */
  async choosePictures(kind: DataName, choices: Partial<PictureChoices> = {}, shares: Partial<Shares> = {}): Promise<void> {
    this.pictures = { ...this.pictures, ...choices };
    this.shares = { ...this.shares, ...shares };
    this.changes.changed(true);
    if (this.#files.length > 0 && (this.kind === kind || this.error !== undefined)) await this.take(kind, this.#files);
  }

  /** Opens the table, or opens it anew with other choices; what is not told is guessed. */
  async chooseTable(told: Omit<TableQuestion, "file" | "shares"> = {}): Promise<void> {
    const [file] = this.#files;
    if (file === undefined) return;
    await this.#read("csv", async (reader) => {
      this.table = await reader.ask("table", { file, shares: this.shares, missing: this.table?.choices.missing, ...told });
      const { set, problem, choices } = this.table;
      this.shares = { validation: choices.validation, test: choices.test };
      if (set === undefined) {
        // A table that is shown and cannot be used must not leave another in its place.
        if (this.kind === "csv") this.set = undefined;
        throw new Error(problem);
      }
      return set;
    });
  }

  async #read(kind: DataName, make: (reader: Reader) => Promise<DataSet>): Promise<void> {
    const tell = (reading: OwnData["reading"]) => {
      this.reading = reading;
      this.changes.changed(true);
    };
    const reader: Reader = new WorkerClient<ReadQuestions, ReadNote>(
      new Worker(new URL("./read.worker.ts", import.meta.url), { type: "module", name: "reading" }),
      { onNote: tell },
    );
    this.error = undefined;
    tell({ label: "Reading the files", part: undefined });
    try {
      this.set = await make(reader);
      this.kind = kind;
    } catch (error) {
      this.error = messageOf(error);
    }
    reader.end();
    tell(undefined);
  }

  /** Where a run with these data gets them; undefined while there are none. */
  source(kind: DataName): DataSource | undefined {
    if (isIncluded(kind)) return { kind: "included", name: kind, folder: new URL(INCLUDED[kind].folder, document.baseURI).href };
    return this.set !== undefined && this.kind === kind ? { kind: "given", set: this.set } : undefined;
  }
}

export const own = new OwnData();
