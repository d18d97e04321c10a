/** One's own data: read in a worker, kept for the runs of this visit. */

import { type Asked, WorkerClient } from "flambeau/worker";
import { messageOf } from "./errors.js";
import type { DataSet, DataSource, ReadNote, ReadQuestions } from "./messages.js";
import type { DataName } from "./settings.js";
import { Changes } from "./store.js";

export const FASHION = ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Boot"];

class OwnData {
  readonly changes = new Changes();
  set: DataSet | undefined;
  /** Which of the settings' data sets it is. */
  kind: DataName | undefined;
  reading: { label: string; part: number | undefined } | undefined;
  error: string | undefined;

  /** Reads files; what was read before stays until they are whole. */
  async read<K extends keyof ReadQuestions>(kind: DataName, how: K, files: ReadQuestions[K]["ask"]): Promise<void> {
    const tell = (reading: OwnData["reading"]) => {
      this.reading = reading;
      this.changes.changed(true);
    };
    const worker = new WorkerClient<ReadQuestions, ReadNote>(
      new Worker(new URL("./read.worker.ts", import.meta.url), { type: "module", name: "reading" }),
      { onNote: tell },
    );
    this.error = undefined;
    tell({ label: "Reading the files", part: undefined });
    try {
      this.set = await worker.ask(how, ...([files] as Asked<ReadQuestions[K]["ask"]>));
      this.kind = kind;
    } catch (error) {
      this.error = messageOf(error);
    }
    worker.end();
    tell(undefined);
  }

  /** Where a run with these data gets them; undefined while there are none. */
  source(kind: DataName): DataSource | undefined {
    if (kind === "mnist") return { kind: "mnist", folder: new URL("mnist/", document.baseURI).href };
    return this.set !== undefined && this.kind === kind ? { kind: "given", set: this.set } : undefined;
  }
}

export const own = new OwnData();
