/** A model file that was imported: it outlives the page Train, as runs do. */

import { Changes } from "./store.js";

/** Weights from a file. */
export interface Imported {
  name: string;
  bytes: Uint8Array;
  /** Do new runs begin with them? */
  use: boolean;
}

class ImportedModel {
  readonly changes = new Changes();
  #model: Imported | undefined;

  get model(): Imported | undefined {
    return this.#model;
  }

  readonly take = (model: Imported | undefined): void => {
    this.#model = model;
    this.changes.changed(true);
  };

  readonly forget = (): void => this.take(undefined);
}

export const imported = new ImportedModel();
