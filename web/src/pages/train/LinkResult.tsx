/** What the run of the link came to, as the link says it, for as long as the settings are the link's. */

import { useSettings } from "../../app/route.js";
import { Notice, write } from "../../ui/index.js";
import { isLive } from "../../work/run.js";
import { printOf, type Reached, reachedSchema } from "../../work/reached.js";
import { runs } from "../../work/runs.js";
import type { TrainSettings } from "../../work/settings.js";
import { useChanges } from "../../work/store.js";
import { testMeasure, writeResult } from "./measures.js";

const [WIDTH, HEIGHT] = [150, 40];

export function LinkResult({ settings }: { settings: TrainSettings }) {
  useChanges(runs.changes);
  const [{ reached }] = useSettings(reachedSchema);
  if (reached === undefined || reached.of !== printOf(settings)) return null;
  const theirs = { result: reached, set: undefined };
  const own = runs.list
    .filter((run) => !isLive(run) && run.result?.part === reached.part && printOf(run.settings) === reached.of)
    .at(-1);
  return (
    <Notice kind="note" title={`This link's run reached ${writeResult(theirs)}`}>
      <div className="link-result">
        <Curve reached={reached} />
        <p>
          {testMeasure(theirs)} {writeResult(theirs)}, loss {reached.loss.toFixed(4)}, after{" "}
          {write.counted(reached.steps, "step")}, says the link.{" "}
          {own === undefined ? (
            "Press Start to repeat it."
          ) : (
            <b>
              Yours reached {writeResult(own)}, loss {own.result?.loss.toFixed(4)}.
            </b>
          )}
        </p>
      </div>
    </Notice>
  );
}

function Curve({ reached: { curve } }: { reached: Reached }) {
  if (curve.length < 2) return null;
  const points = curve.map((value, place) => {
    const x = (WIDTH * place) / (curve.length - 1);
    return `${x.toFixed(1)},${(HEIGHT - 2 - (HEIGHT - 4) * value).toFixed(1)}`;
  });
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label="Its curve in training, from 0 to 100 %">
      <polyline points={points.join(" ")} />
    </svg>
  );
}
