/** What is being trained, as the shell sees it: the store of runs is fetched with the first page that uses it, not before. */

import type { Run } from "./run.js";
import { Changes } from "./store.js";

/** What the store of runs says. */
interface Trained {
  readonly active: Run | undefined;
  readonly isBusy: boolean;
}

class Activity implements Trained {
  readonly changes = new Changes();
  #store: Trained | undefined;

  /** The store is here, and tells its changes by ours. */
  follow(store: Trained): void {
    this.#store = store;
  }

  get active(): Run | undefined {
    return this.#store?.active;
  }

  get isBusy(): boolean {
    return this.#store?.isBusy ?? false;
  }
}

export const activity = new Activity();
