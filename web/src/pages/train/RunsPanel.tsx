/** All runs of this visit side by side. */

import { Button, Panel, Table, write } from "../../ui/index.js";
import { isLive } from "../../work/run.js";
import { runs, type Run } from "../../work/runs.js";
import type { TrainSettings } from "../../work/settings.js";
import { useChanges } from "../../work/store.js";
import { Shared, useShare } from "./Share.js";

export function RunsPanel({ onSettings }: { onSettings: (settings: TrainSettings) => void }) {
  useChanges(runs.changes);
  const { shareRun, copied, sentences } = useShare();
  if (runs.list.length === 0) return null;
  return (
    <Panel className="runs" title="Runs" note="Curves of the ticked runs are drawn over each other">
      <Table<Run>
        caption="Runs"
        rows={runs.list}
        keyOf={({ id }) => id}
        columns={[
          {
            name: "Run",
            cell: (run) => (
              <label className="check run-name">
                <input type="checkbox" checked={run.shown} onChange={({ target }) => runs.show(run, target.checked)} />
                <span className="run-colour" style={{ background: `var(--series-${run.colour})` }} aria-hidden="true" />
                <span>
                  {run.number}. {run.name}
                </span>
              </label>
            ),
          },
          { name: "State", cell: ({ state, elsewhere }) => (elsewhere ? "in another tab" : state) },
          { name: "Steps", end: true, cell: ({ step }) => write.count(step) },
          {
            name: "Test accuracy",
            end: true,
            cell: ({ result }) => (result === undefined ? "–" : write.percent(result.accuracy)),
          },
          { name: "Test loss", end: true, cell: ({ result }) => result?.loss.toFixed(4) ?? "–" },
          {
            name: "Samples / s",
            end: true,
            cell: ({ stats }) => (stats === undefined ? "–" : write.count(stats.samplesPerSecond)),
          },
          {
            name: "Actions",
            cell: (run) => (
              <span className="buttons">
                <Button
                  small
                  kind="quiet"
                  onClick={() => onSettings(run.settings)}
                  aria-label={`Use the settings of run ${run.number}`}
                >
                  Settings
                </Button>
                <Button small kind="quiet" onClick={() => shareRun(run)} aria-label={`Share run ${run.number}`}>
                  Share
                </Button>
                <Button
                  small
                  kind="quiet"
                  disabled={isLive(run) || run.elsewhere}
                  onClick={() => void runs.remove(run)}
                  aria-label={`Remove run ${run.number}`}
                >
                  Remove
                </Button>
              </span>
            ),
          },
        ]}
      />
      <Shared copied={copied} sentences={sentences} />
    </Panel>
  );
}
