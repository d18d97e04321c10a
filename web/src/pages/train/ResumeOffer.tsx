/** Offers to go on with the run that the end of the page cut off. */

import { Button, Notice } from "../../ui/index.js";
import { own } from "../../work/own.js";
import { runs } from "../../work/runs.js";
import { useChanges } from "../../work/store.js";
import { needsOf, useContinue, type GoingOn } from "./useContinue.js";

export function ResumeOffer(going: GoingOn) {
  useChanges(runs.changes);
  useChanges(own.changes);
  const { hindrance, goOn } = useContinue(going);
  const run = runs.interrupted.find((each) => needsOf(each) === undefined) ?? runs.interrupted[0];
  if (run === undefined || runs.isBusy || runs.active !== undefined) return null;
  const { checkpoint = 0, steps } = run;
  const needs = needsOf(run);
  const percent = Math.round((100 * checkpoint) / Math.max(steps, 1));
  return (
    <Notice kind="note" title="Resume the last session?">
      <p>
        “{run.name}” of {new Date(run.date).toLocaleString()} was cut off. Its weights and curves until step {checkpoint} of{" "}
        {steps} ({percent} %) are kept in this browser.
        {needs !== undefined && ` ${needs}.`}
      </p>
      <div className="buttons">
        <Button kind="primary" small disabled={hindrance(run) !== undefined} onClick={() => goOn(run)}>
          Resume the session
        </Button>
        <Button
          small
          onClick={() => {
            runs.settle(run);
            going.next.current?.focus();
          }}
        >
          Not now
        </Button>
      </div>
    </Notice>
  );
}
