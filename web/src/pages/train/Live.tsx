/** Learning at a glance, on the first screen: the curves, some test items with the answers of now, and what is taken for what. */

import { memo } from "react";
import { Panel, PixelCanvas, write } from "../../ui/index.js";
import { spaced } from "../../work/decimate.js";
import type { Assessment, Sample } from "../../work/messages.js";
import { runs, type Run } from "../../work/runs.js";
import { useChanges } from "../../work/store.js";
import { measureOf } from "./measures.js";
import { Scatter } from "./Scatter.js";
import "./live.css";

/** More points than a small picture has pixels are not drawn. */
const MOST_POINTS = 160;
const [WIDTH, HEIGHT] = [160, 72];

interface SparkProps {
  name: string;
  now: string;
  values: readonly number[];
  /** The top of the scale; the largest value where there is none. */
  top?: number;
}

/** A small curve over the steps so far. */
function Spark({ name, now, values, top }: SparkProps) {
  const shown = spaced(values, MOST_POINTS);
  const high = top ?? shown.reduce((most, value) => Math.max(most, value), 1e-9);
  const points = shown.map((value, place) => {
    const x = (WIDTH * place) / Math.max(shown.length - 1, 1);
    return `${x.toFixed(1)},${(HEIGHT - 2 - (HEIGHT - 4) * Math.min(Math.max(value / high, 0), 1)).toFixed(1)}`;
  });
  return (
    <figure className="spark">
      <figcaption>
        <span>{name}</span>
        <span className="number">{now}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name} over the steps so far: ${now}`}
      >
        <polyline points={points.join(" ")} vectorEffect="non-scaling-stroke" />
      </svg>
    </figure>
  );
}

const EMPTY = Array.from({ length: 9 }, () => undefined);

const Answers = memo(function Answers({ samples, run }: { samples: readonly (Sample | undefined)[]; run: Run | undefined }) {
  const { classes = [], shape = [1, 28, 28], number } = run?.set ?? {};
  const [, height = 0, width = 0] = shape;
  const named = (value: number) => (number === undefined ? (classes[value] ?? "") : Number(value.toPrecision(3)).toString());
  return (
    <ul className="answers">
      {samples.slice(0, EMPTY.length).map((sample, index) => {
        const isRight = sample !== undefined && number === undefined && sample.label === sample.answer;
        return (
          <li key={index}>
            {height > 0 && (
              <PixelCanvas
                label={`Test picture ${index + 1}`}
                width={width}
                height={height}
                values={sample?.pixels ?? new Float32Array(width * height)}
                scale={36 / Math.max(width, height)}
              />
            )}
            {sample === undefined ? (
              <span>–</span>
            ) : (
              <span className={number !== undefined ? undefined : isRight ? "passed" : "failed"}>
                {named(sample.answer)}
                {!isRight && (
                  <small>
                    {" "}
                    {number === undefined ? "not" : "is"} {named(sample.label)}
                  </small>
                )}
              </span>
            )}
          </li>
        );
      })}
    </ul>
  );
});

const Confusions = memo(function Confusions({ assessment, run }: { assessment: Assessment | undefined; run: Run | undefined }) {
  const number = run?.set?.number;
  if (number !== undefined && assessment?.pairs !== undefined) return <Scatter name={number.name} pairs={assessment.pairs} />;
  const rows = assessment?.confusion ?? [];
  const count = Math.max(rows.length, 1);
  const shares = rows.flatMap((row) => {
    const total = row.reduce((sum, value) => sum + value, 0);
    return row.map((value) => Math.sqrt(value / Math.max(total, 1)));
  });
  return (
    <PixelCanvas
      label={rows.length === 0 ? "The confusion matrix, still empty" : `Confusion matrix: ${count} classes down, answers across`}
      width={count}
      height={count}
      values={shares.length === 0 ? [0] : shares}
      palette="heat"
      scale={166 / count}
    />
  );
});

export function Live() {
  useChanges(runs.changes);
  const run = runs.active;
  const { curve, assessment } = run ?? {};
  const [loss, accuracy] = [curve?.loss.at(-1), curve?.accuracy.at(-1)];
  const measure = run === undefined ? "accuracy" : measureOf(run);
  return (
    <Panel className="live" title="Learning, live">
      <div className="live-parts">
        <div className="live-curves">
          <Spark name="Loss" now={loss?.toFixed(3) ?? "–"} values={curve?.loss ?? []} />
          <Spark
            name={measure === "accuracy" ? "Accuracy" : measure}
            now={accuracy === undefined ? "–" : write.percent(accuracy)}
            values={curve?.accuracy ?? []}
            top={1}
          />
        </div>
        <div className="live-answers">
          <h3>Its answers now</h3>
          <Answers samples={assessment?.samples ?? EMPTY} run={run} />
        </div>
        <div className="live-confusion">
          <h3 title="The confusion matrix: labels down, answers across; a good model has a bright diagonal">
            {measure === "accuracy" ? "What is taken for what" : "Said against is"}
          </h3>
          <Confusions assessment={assessment} run={run} />
          <p className="panel-note">{measure === "accuracy" ? "Confusion matrix" : "Predictions"}</p>
        </div>
      </div>
    </Panel>
  );
}
