/** The curves of all shown runs: loss and accuracy, in training and on test items. */

import { useMemo, useState } from "react";
import { LineChart, Panel, Segments, type Series } from "../../ui/index.js";
import { runs } from "../../work/runs.js";
import { useChanges } from "../../work/store.js";

type What = "loss" | "accuracy";

function seriesOf(what: What): Series[] {
  const shown = runs.list.filter((run) => run.shown);
  return shown.flatMap(({ number, colour, curve }): Series[] => {
    const named = (name: string) => (shown.length > 1 ? `${number} ${name}` : name);
    const [own, test] = what === "loss" ? [curve.loss, curve.testLoss] : [curve.accuracy, curve.testAccuracy];
    return [
      { name: named("training"), colour, x: curve.step, y: own },
      { name: named("test"), colour: shown.length > 1 ? colour : 2, dashed: true, points: true, x: curve.testStep, y: test },
    ];
  });
}

export function Curves() {
  const version = useChanges(runs.changes);
  const [scale, setScale] = useState<"linear" | "log">("linear");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the curves of a run grow in place, and the version says that they have.
  const [loss, accuracy] = useMemo(() => [seriesOf("loss"), seriesOf("accuracy")], [version]);
  if (loss.length === 0) {
    return (
      <Panel title="Curves">
        <p className="empty">The loss and the accuracy appear here as soon as training begins.</p>
      </Panel>
    );
  }
  return (
    <Panel
      title="Curves"
      note={
        <Segments
          label="Scale of the loss"
          value={scale}
          options={[
            ["linear", "Linear"],
            ["log", "Logarithmic"],
          ]}
          onChange={setScale}
        />
      }
    >
      <div className="curves">
        <div>
          <h3>Loss</h3>
          <LineChart
            label="Loss by step"
            series={loss}
            logarithmic={scale === "log"}
            {...(scale === "linear" && { range: [0, undefined] })}
          />
        </div>
        <div>
          <h3>Accuracy</h3>
          <LineChart
            label="Accuracy by step"
            series={accuracy}
            range={[undefined, 1]}
            write={(value) => `${(100 * value).toFixed(value > 0.9 && value < 1 ? 1 : 0)} %`}
          />
        </div>
      </div>
    </Panel>
  );
}
