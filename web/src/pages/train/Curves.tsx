/** The curves of all shown runs: loss and accuracy, in training and on items that are not trained with, and the gradients' norm. */

import { useMemo, useState } from "react";
import { Button, LineChart, Panel, saveFile, Segments, Slider, write, type View } from "../../ui/index.js";
import { messageOf } from "../../work/errors.js";
import { runs } from "../../work/runs.js";
import { useChanges } from "../../work/store.js";
import { titleOf } from "./measures.js";
import { extentOf, marksOf, seriesOf, type Axis } from "./series.js";

const AXES: readonly (readonly [Axis, string])[] = [
  ["steps", "Steps"],
  ["epochs", "Epochs"],
  ["time", "Time"],
];
const SCALES = [
  ["linear", "Linear"],
  ["log", "Logarithmic"],
] as const;
const WRITE_X: Record<Axis, (value: number) => string> = {
  steps: (value) => String(Math.round(value)),
  epochs: (value) => String(Number(value.toFixed(2))),
  time: (value) => write.seconds(value),
};
const writeShare = (value: number) => `${(100 * value).toFixed(value > 0.9 && value < 1 ? 1 : 0)} %`;

export function Curves() {
  const version = useChanges(runs.changes);
  const [scale, setScale] = useState<"linear" | "log">("linear");
  const [axis, setAxis] = useState<Axis>("steps");
  const [smoothing, setSmoothing] = useState(0);
  const [view, setView] = useState<View>();
  const [problem, setProblem] = useState("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the curves of a run grow in place, and the version says that they have.
  const { shown, loss, accuracy, gradient, marks, extent } = useMemo(() => {
    const shown = runs.list.filter((run) => run.shown);
    const drawing = { axis, smoothing, view };
    return {
      shown,
      loss: seriesOf(shown, "loss", drawing),
      accuracy: seriesOf(shown, "accuracy", drawing),
      gradient: seriesOf(shown, "gradient", drawing),
      marks: marksOf(shown, axis),
      extent: extentOf(shown, axis),
    };
  }, [version, axis, smoothing, view]);
  if (shown.length === 0) {
    return (
      <Panel title="Curves">
        <p className="empty">The loss and the accuracy appear here as soon as training begins.</p>
      </Panel>
    );
  }
  const zoomIn = () => {
    const [from, to] = view ?? extent;
    setView([(from + to) / 2, to]);
  };
  const exportAs = async (kind: "csv" | "svg" | "tensorboard") => {
    setProblem("");
    try {
      const { csvOf, svgOf, eventsOf } = await import("./curveFiles.js");
      const drawn = { axis, logarithmic: scale === "log", view: view ?? extent };
      if (kind === "csv") saveFile("curves.csv", csvOf(shown), "text/csv");
      else if (kind === "svg")
        saveFile("curves.svg", svgOf({ loss, accuracy, gradient }, { ...drawn, measure }), "image/svg+xml");
      else
        for (const run of shown) saveFile(`events.out.tfevents.${Math.round(run.date / 1000)}.run-${run.number}`, eventsOf(run));
    } catch (error) {
      setProblem(`The curves cannot be exported: ${messageOf(error)}`);
    }
  };
  const measure = titleOf(shown);
  const both = { view, onView: setView, marks, sync: "curves", xName: axis, writeX: WRITE_X[axis] };
  return (
    <Panel
      title="Curves"
      note={<Segments label="Scale of loss and gradient" value={scale} options={SCALES} onChange={setScale} />}
    >
      <div className="stack">
        <div className="buttons curve-tools">
          <Segments
            label="Horizontal axis"
            value={axis}
            options={AXES}
            onChange={(chosen) => {
              setAxis(chosen);
              setView(undefined);
            }}
          />
          <Slider
            label="Smoothing"
            value={smoothing}
            min={0}
            max={0.98}
            step={0.02}
            onChange={setSmoothing}
            write={(value) => (value === 0 ? "off" : value.toFixed(2))}
          />
          <span className="spacer" />
          <Button kind="quiet" small onClick={zoomIn} title="The later half of what is shown; or drag over a part of a chart">
            Zoom in
          </Button>
          <Button kind="quiet" small resting={view === undefined} onClick={() => setView(undefined)}>
            Show all
          </Button>
          <Button kind="quiet" small onClick={() => void exportAs("csv")}>
            Export CSV
          </Button>
          <Button kind="quiet" small onClick={() => void exportAs("svg")}>
            Export SVG
          </Button>
          <Button kind="quiet" small onClick={() => void exportAs("tensorboard")} title="An event file for each ticked run">
            TensorBoard
          </Button>
        </div>
        {problem !== "" && (
          <p className="field-problem" role="alert">
            {problem}
          </p>
        )}
        <div className="curves">
          <div>
            <h3>Loss</h3>
            <LineChart
              {...both}
              label={`Loss by ${axis}`}
              series={loss}
              logarithmic={scale === "log"}
              {...(scale === "linear" && { range: [0, undefined] })}
            />
          </div>
          <div>
            <h3>{measure}</h3>
            <LineChart {...both} label={`${measure} by ${axis}`} series={accuracy} range={[undefined, 1]} write={writeShare} />
          </div>
          <div>
            <h3 title="The length of all gradients together, as one vector: how far the loss would have the weights go">
              Gradient norm
            </h3>
            <LineChart
              {...both}
              label={`Gradient norm by ${axis}`}
              series={gradient}
              logarithmic={scale === "log"}
              {...(scale === "linear" && { range: [0, undefined] })}
            />
          </div>
        </div>
      </div>
    </Panel>
  );
}
