/** A sign in the head while something trains on another page: how far it is, and the way there. */

import { count } from "../ui/write.js";
import { activity } from "../work/activity.js";
import { useChanges } from "../work/store.js";

export function TrainingSign({ address }: { address: string }) {
  useChanges(activity.changes);
  const run = activity.active;
  if (!activity.isBusy || run === undefined) return null;
  const share = Math.floor((100 * run.step) / Math.max(run.steps, 1));
  const doing = run.state === "paused" ? "Paused" : "Training";
  return (
    <a
      className="training-sign"
      href={address}
      title="To the page Train"
      aria-label={`${doing} at ${share} %, step ${count(run.step)}: to the page Train`}
    >
      <i aria-hidden="true" />
      <span>
        <span className="wide">{doing} at </span>
        {share} %<span className="wide">, step {count(run.step)}</span>
      </span>
    </a>
  );
}
