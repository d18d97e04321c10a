/** Going on with a run that has a checkpoint: on its own kind of device where this browser has it. */

import type { RefObject } from "react";
import { canUse, useDevice } from "../../app/device.js";
import { whatItNeeds } from "../../work/needs.js";
import { own } from "../../work/own.js";
import { runs, type Run } from "../../work/runs.js";
import type { BranchChange } from "../../work/run.js";
import type { TrainSettings } from "../../work/settings.js";

/** What the parts of the page that go on with runs are given. */
export interface GoingOn {
  /** The panels show what is trained. */
  onSettings: (settings: TrainSettings) => void;
  /** Where the keyboard's focus goes when the button that was pressed disappears. */
  next: RefObject<HTMLButtonElement | null>;
}

/** The data that a run needs and that are not chosen, in words. */
export const needsOf = (run: Run) => whatItNeeds(run, own.source(run.settings.data));

export function useContinue({ onSettings, next }: GoingOn) {
  const { used, offer } = useDevice();
  const begin = (run: Run, go: (source: NonNullable<ReturnType<typeof own.source>>, device: typeof used) => void) => {
    const source = own.source(run.settings.data);
    if (source === undefined) return;
    onSettings(run.settings);
    go(source, canUse(run.device, offer) ? run.device : used);
    next.current?.focus();
  };
  return {
    /** Why a run cannot go on now. */
    hindrance: (run: Run): string | undefined => {
      if (offer.state === "looking") return "Looking for a GPU";
      return needsOf(run) ?? (runs.isBusy ? "Another run is being trained" : undefined);
    },
    goOn: (run: Run) => begin(run, (source, device) => void runs.continue(run, source, device)),
    branch: (run: Run, change: BranchChange) => begin(run, (source, device) => void runs.branch(run, change, source, device)),
  };
}
