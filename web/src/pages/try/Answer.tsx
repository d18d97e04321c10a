/** What the model says: classes with their probabilities, or a number. */

import { Bars, Panel, write } from "../../ui/index.js";
import type { ModelAbout } from "../../work/about.js";
import { restored } from "../../work/prepare.js";

/** The classes that are shown; of many, the likeliest. */
const MOST = 12;

interface Props {
  about: ModelAbout;
  answer: Float32Array | undefined;
  fault: string;
}

export function Answer({ about: { classes, number }, answer, fault }: Props) {
  const probable = classes.map((name, index) => ({ name, value: answer?.[index] ?? 0 }));
  const ranked = [...probable].sort((a, b) => b.value - a.value);
  const [best] = ranked;
  const said =
    answer === undefined
      ? undefined
      : number === undefined
        ? best?.name
        : String(Number(restored(answer[0] ?? Number.NaN, number).toPrecision(4)));
  return (
    <Panel title="The answer">
      <div className="try-answer" aria-live="polite">
        <output className={said === undefined ? "try-said nothing" : "try-said"}>{said ?? "?"}</output>
        <span className="panel-note">
          {said === undefined
            ? "nothing to read yet"
            : number === undefined
              ? `${write.percent(best?.value ?? 0)} sure`
              : `is what it says of “${number.name}”`}
        </span>
      </div>
      {fault !== "" && (
        <p className="field-problem" role="alert">
          {fault}
        </p>
      )}
      {number === undefined && (
        <>
          <Bars bars={classes.length > MOST ? ranked.slice(0, MOST) : probable} />
          {classes.length > MOST && (
            <p className="panel-note">
              the likeliest {MOST} of {classes.length} classes
            </p>
          )}
        </>
      )}
    </Panel>
  );
}
