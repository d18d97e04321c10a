/** The runs of this browser side by side: shown, compared, opened, taken from files. */

import { useState } from "react";
import { Loaded } from "../../app/Loaded.js";
import { Button, FileDrop, Notice, Panel, Table, write } from "../../ui/index.js";
import { messageOf } from "../../work/errors.js";
import { bytesOf } from "../../work/run.js";
import { runs, type Run } from "../../work/runs.js";
import { useChanges } from "../../work/store.js";
import { measuresOf, writeResult } from "./measures.js";
import type { GoingOn } from "./useContinue.js";
import "./runs.css";

const loadDetails = () => import("./RunDetails.js");

export function RunsPanel(going: GoingOn) {
  useChanges(runs.changes);
  const [problem, setProblem] = useState("");
  const { list, chosen } = runs;
  const takeFile = async ([file]: File[]) => {
    if (file === undefined) return;
    setProblem("");
    try {
      await runs.take(new Uint8Array(await file.arrayBuffer()));
    } catch (error) {
      setProblem(`${file.name}: ${messageOf(error)}`);
    }
  };
  const space = list.reduce((sum, run) => sum + bytesOf(run), 0);
  return (
    <Panel
      className="runs"
      title="Runs"
      note={list.length > 0 && `${write.counted(list.length, "run")} in this browser, ${write.bytes(space)}, until removed`}
    >
      <div className="stack">
        {list.length > 0 && <Table<Run> caption="Runs" rows={list} keyOf={({ id }) => id} columns={columnsFor(list)} />}
        {chosen !== undefined && <Loaded key={chosen.id} name="run" load={loadDetails} props={{ run: chosen, ...going }} />}
        <FileDrop label="Import a run" accept=".flambeau" onFiles={(files) => void takeFile(files)}>
          or drop a file that was exported here. Curves of ticked runs are drawn over each other.
        </FileDrop>
        {problem !== "" && (
          <Notice kind="error" title="The file cannot be used" onClose={() => setProblem("")}>
            {problem}
          </Notice>
        )}
      </div>
    </Panel>
  );
}

const columnsFor = (list: readonly Run[]) => [
  {
    name: "Run",
    cell: (run: Run) => (
      <label className="check run-name">
        <input type="checkbox" checked={run.shown} onChange={({ target }) => runs.show(run, target.checked)} />
        <span className="run-colour" style={{ background: `var(--series-${run.colour})` }} aria-hidden="true" />
        <span>
          {run.number}. {run.name}
        </span>
      </label>
    ),
  },
  { name: "State", cell: ({ state, elsewhere }: Run) => (elsewhere ? "in another tab" : STATES[state]) },
  { name: "Steps", end: true, cell: ({ step }: Run) => write.count(step) },
  {
    name: `Test ${measuresOf(list)}`,
    end: true,
    cell: (run: Run) => `${writeResult(run)}${run.result?.part === "validation" ? " (validation)" : ""}`,
  },
  { name: "Test loss", end: true, cell: ({ result }: Run) => result?.loss.toFixed(4) ?? "–" },
  {
    name: "Samples / s",
    end: true,
    cell: ({ stats }: Run) => (stats === undefined ? "–" : write.count(stats.samplesPerSecond)),
  },
  {
    name: "More",
    cell: (run: Run) => (
      <Button
        small
        kind="quiet"
        aria-expanded={run === runs.chosen}
        aria-label={`Details of run ${run.number}`}
        onClick={() => runs.choose(run === runs.chosen ? undefined : run)}
      >
        Details
      </Button>
    ),
  },
];

const STATES: Record<Run["state"], string> = {
  loading: "loading",
  running: "running",
  paused: "paused",
  ending: "ending",
  done: "done",
  stopped: "stopped",
  failed: "failed",
  interrupted: "cut off",
};
