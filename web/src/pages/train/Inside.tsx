/** A look inside the model: confusion, classes, mistakes, filters, histograms, and the network drawn. */

import { memo, useState } from "react";
import { Loaded } from "../../app/Loaded.js";
import { Bars, Panel, PixelCanvas, Segments, write } from "../../ui/index.js";
import type { Assessment, Histogram, Inspection } from "../../work/messages.js";
import { runs, type Run } from "../../work/runs.js";
import { useChanges } from "../../work/store.js";
import type { NetworkProps } from "./Network.js";
import { Scatter } from "./Scatter.js";

type View = "confusion" | "mistakes" | "filters" | "weights" | "network";
const VIEWS: readonly (readonly [View, string])[] = [
  ["confusion", "Classes"],
  ["mistakes", "Mistakes"],
  ["filters", "Filters"],
  ["weights", "Weights and gradients"],
  ["network", "Network"],
];

const NO_CLASSES: readonly string[] = [];
const NO_SHAPE: readonly number[] = [];

const loadNetwork = () => import("./Network.js");

/** `network`: what the panels say, which is drawn while there is no run. */
export function Inside({ network }: { network: NetworkProps }) {
  useChanges(runs.changes);
  const [view, setView] = useState<View>("confusion");
  const looked = runs.list.filter(({ assessment, inspection }) => assessment !== undefined || inspection !== undefined);
  const run = runs.chosen ?? looked.find((each) => each === runs.active) ?? looked.at(-1);
  return (
    <Panel title="Inside" note={<Segments label="What to look at" value={view} options={VIEWS} onChange={setView} />}>
      {run === undefined && view === "network" ? (
        <Loaded name="network" load={loadNetwork} props={network} />
      ) : run === undefined ? (
        <p className="empty">
          Which digits are confused, what the first layer looks for, how weights and gradients spread: all of it appears while the
          network learns.
        </p>
      ) : (
        <>
          {runs.chosen !== undefined && (
            <p className="panel-note">
              Run {run.number}, {run.name}
            </p>
          )}
          {view === "network" ? (
            <Loaded
              name="network"
              load={loadNetwork}
              props={run.set === undefined ? { ...network, layers: run.settings.layers } : drawnOf(run.settings.layers, run.set)}
            />
          ) : (
            <Look run={run} view={view} />
          )}
        </>
      )}
    </Panel>
  );
}

/** The network of a run. */
const drawnOf = (layers: string, { shape, classes, number }: NonNullable<Run["set"]>): NetworkProps => ({
  layers,
  input: shape,
  outputs: number === undefined ? classes.length : 1,
});

function Look({ run, view }: { run: Run; view: Exclude<View, "network"> }) {
  const { assessment, inspection } = run;
  const classes = run.set?.classes ?? NO_CLASSES;
  const shape = run.set?.shape ?? NO_SHAPE;
  const number = run.set?.number;
  if (number !== undefined && (view === "confusion" || view === "mistakes"))
    return assessment?.pairs === undefined ? <Later /> : <Scatter name={number.name} pairs={assessment.pairs} />;
  switch (view) {
    case "confusion":
      return assessment === undefined ? <Later /> : <Confusion assessment={assessment} classes={classes} />;
    case "mistakes":
      return assessment === undefined ? <Later /> : <Mistakes assessment={assessment} classes={classes} shape={shape} />;
    case "filters":
      return inspection === undefined ? <Later /> : <Filters inspection={inspection} />;
    case "weights":
      return inspection === undefined ? <Later /> : <Weights inspection={inspection} />;
  }
}

const Later = () => <p className="empty">This appears after the first look at items that are not trained with.</p>;

const Confusion = memo(function Confusion({ assessment, classes }: { assessment: Assessment; classes: readonly string[] }) {
  const { confusion, count, part } = assessment;
  const totals = confusion.map((row) => row.reduce((sum, value) => sum + value, 0));
  const accuracies = classes.map((name, index) => ({
    name,
    value: (confusion[index]?.[index] ?? 0) / Math.max(totals[index] ?? 0, 1),
  }));
  return (
    <div className="confusion-view">
      <div className="table-frame" tabIndex={0} role="region" aria-label="Confusion matrix">
        <table className="confusion">
          <caption>Labels down, answers across; {write.counted(count, `${part} item`)}</caption>
          <thead>
            <tr>
              <td />
              {classes.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {confusion.map((row, label) => (
              <tr key={label}>
                <th scope="row">{classes[label]}</th>
                {row.map((value, answer) => {
                  const share = value / Math.max(totals[label] ?? 0, 1);
                  const depth = value === 0 ? 0 : Math.round(label === answer ? 8 + 36 * share : 8 + 36 * Math.min(4 * share, 1));
                  return (
                    <td
                      key={answer}
                      className={label === answer ? "right" : "wrong"}
                      style={{
                        background: `color-mix(in srgb, var(--${label === answer ? "good" : "bad"}) ${depth}%, var(--card))`,
                      }}
                    >
                      {value === 0 ? "" : value}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div>
        <h3>Accuracy by class</h3>
        <Bars bars={accuracies} showTop={false} />
      </div>
    </div>
  );
});

const Mistakes = memo(function Mistakes({
  assessment,
  classes,
  shape,
}: {
  assessment: Assessment;
  classes: readonly string[];
  shape: readonly number[];
}) {
  const [, height = 0, width = 0] = shape;
  const { mistakes } = assessment;
  if (mistakes.length === 0)
    return <p className="empty">Not one of {write.counted(assessment.count, `${assessment.part} item`)} was read wrongly.</p>;
  return (
    <ul className="gallery">
      {mistakes.map(({ index, pixels, label, answer, sure }) => (
        <li key={index}>
          {height > 0 && (
            <PixelCanvas
              label={`Test picture ${index}`}
              width={width}
              height={height}
              values={pixels}
              scale={56 / Math.max(width, height)}
            />
          )}
          <span>
            <b>{classes[answer]}</b>, not {classes[label]}
          </span>
          <span className="panel-note">{write.percent(sure)} sure</span>
        </li>
      ))}
    </ul>
  );
});

const Filters = memo(function Filters({ inspection }: { inspection: Inspection }) {
  const { filters } = inspection;
  if (filters === undefined) return <p className="empty">The first layer of this model cannot be shown as pictures.</p>;
  const scale = Math.max(56 / Math.max(filters.width, filters.height), 1);
  return (
    <>
      <p className="panel-note">What the first layer looks for: warm colours excite, cold ones inhibit.</p>
      <ul className="gallery filters">
        {filters.pictures.map((values, index) => (
          <li key={index}>
            <PixelCanvas
              label={`Filter ${index + 1}`}
              width={filters.width}
              height={filters.height}
              values={values}
              palette="signed"
              scale={scale}
            />
          </li>
        ))}
      </ul>
    </>
  );
});

const Weights = memo(function Weights({ inspection }: { inspection: Inspection }) {
  return (
    <div className="histograms">
      {inspection.layers.map(({ name, weights, gradients }) => (
        <div key={name} className="histogram-row">
          <h3>
            <code>{name}</code>
          </h3>
          <HistogramView label={`Weights of ${name}`} title="weights" histogram={weights} colour={1} />
          <HistogramView label={`Gradients of ${name}`} title="gradients" histogram={gradients} colour={2} />
        </div>
      ))}
    </div>
  );
});

function HistogramView({
  label,
  title,
  histogram,
  colour,
}: {
  label: string;
  title: string;
  histogram: Histogram;
  colour: number;
}) {
  const { counts, low, high, mean, deviation } = histogram;
  const most = Math.max(...counts, 1);
  const text = `mean ${mean.toPrecision(2)}, deviation ${deviation.toPrecision(2)}`;
  return (
    <figure className="histogram">
      <svg
        viewBox={`0 0 ${counts.length} 24`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: from ${low.toPrecision(2)} to ${high.toPrecision(2)}, ${text}`}
      >
        {counts.map((count, bin) => {
          // Square roots, so that the tails are seen.
          const height = 24 * Math.sqrt(count / most);
          return <rect key={bin} x={bin + 0.06} width={0.88} y={24 - height} height={height} fill={`var(--series-${colour})`} />;
        })}
      </svg>
      <figcaption>
        <span>{low.toPrecision(2)}</span>
        <span>
          {title}: {text}
        </span>
        <span>{high.toPrecision(2)}</span>
      </figcaption>
    </figure>
  );
}
