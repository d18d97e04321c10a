/** Offers to go on with the run that the end of the page cut off. */

import type { RefObject } from "react";
import { canUse, useDevice } from "../../app/device.js";
import { Button, Notice } from "../../ui/index.js";
import { own } from "../../work/own.js";
import { runs, type Run } from "../../work/runs.js";
import type { TrainSettings } from "../../work/settings.js";
import { useChanges } from "../../work/store.js";

interface Props {
  /** The panels show what is trained. */
  onSettings: (settings: TrainSettings) => void;
  /** Where the keyboard's focus goes when the offer disappears. */
  next: RefObject<HTMLButtonElement | null>;
}

export function ResumeOffer({ onSettings, next }: Props) {
  useChanges(runs.changes);
  useChanges(own.changes);
  const { used, offer } = useDevice();
  const hasData = ({ settings }: Run) => own.source(settings.data) !== undefined;
  const run = runs.interrupted.find(hasData) ?? runs.interrupted[0];
  if (run === undefined || runs.isBusy || runs.active !== undefined) return null;
  const source = own.source(run.settings.data);
  const { checkpoint = 0, steps } = run;
  const percent = Math.round((100 * checkpoint) / Math.max(steps, 1));
  return (
    <Notice kind="note" title="Resume the last session?">
      <p>
        “{run.name}” of {new Date(run.date).toLocaleString()} was cut off. Its weights and curves until step {checkpoint} of{" "}
        {steps} ({percent} %) are kept in this browser.
        {source === undefined && " Choose the files that it was trained with first."}
      </p>
      <div className="buttons">
        <Button
          kind="primary"
          small
          disabled={source === undefined || offer.state === "looking"}
          onClick={() => {
            if (source === undefined) return;
            onSettings(run.settings);
            void runs.continue(run, source, canUse(run.device, offer) ? run.device : used);
            next.current?.focus();
          }}
        >
          Resume the session
        </Button>
        <Button
          small
          onClick={() => {
            runs.settle(run);
            next.current?.focus();
          }}
        >
          Not now
        </Button>
      </div>
    </Notice>
  );
}
