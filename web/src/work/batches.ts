/** Batches that know how many of them were used. */

import { DataLoader, type data } from "flambeau";

/**
 * A loader whose state is that of the steps taken. When training stops, a batch has been drawn that no step has used; a run
 * that goes on from there must draw it again, or it would be another run.
 */
export class Batches extends DataLoader {
  constructor(
    parts: readonly data.HostArray[],
    options: { batchSize: number; shuffle: number },
    readonly steps: () => number,
  ) {
    super(parts, options);
  }

  override state(): ReturnType<DataLoader["state"]> {
    const state = super.state();
    return { ...state, position: this.steps() - state.epoch * this.length };
  }
}
