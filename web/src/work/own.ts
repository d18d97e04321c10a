/** One's own data: read in a worker, kept for the runs of this visit. */

import type { DataSet, DataSource, ReadReport, ReadTask } from "./messages.js";
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
  read(kind: DataName, task: ReadTask): void {
    const worker = new Worker(new URL("./read.worker.ts", import.meta.url), { type: "module", name: "reading" });
    this.reading = { label: "Reading the files", part: undefined };
    this.error = undefined;
    const end = () => {
      worker.terminate();
      this.reading = undefined;
    };
    worker.onerror = ({ message }) => {
      end();
      this.error = message;
      this.changes.changed(true);
    };
    worker.onmessage = ({ data: report }: MessageEvent<ReadReport>) => {
      switch (report.type) {
        case "progress":
          this.reading = { label: report.label, part: report.part };
          break;
        case "set":
          end();
          this.set = report.set;
          this.kind = kind;
          break;
        case "failed":
          end();
          this.error = report.message;
      }
      this.changes.changed(true);
    };
    worker.postMessage(task);
    this.changes.changed(true);
  }

  /** Where a run with these data gets them; undefined while there are none. */
  source(kind: DataName): DataSource | undefined {
    if (kind === "mnist") return { kind: "mnist", folder: new URL("mnist/", document.baseURI).href };
    return this.set !== undefined && this.kind === kind ? { kind: "given", set: this.set } : undefined;
  }
}

export const own = new OwnData();
