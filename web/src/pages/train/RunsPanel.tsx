/** The runs of this browser side by side: shown, compared, opened, taken from files. */

import { useState, type ReactNode } from "react";
import { Loaded } from "../../app/Loaded.js";
import { Button, FileDrop, Notice, Panel, Table, write } from "../../ui/index.js";
import { messageOf } from "../../work/errors.js";
import { bytesOf } from "../../work/run.js";
import { runs, type Run } from "../../work/runs.js";
import { useChanges } from "../../work/store.js";
import { measuresOf, writeResult, writeSpread } from "./measures.js";
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
        {list.length > 0 && <Table<Row> caption="Runs" rows={rowsOf(list)} keyOf={({ id }) => id} columns={columnsFor(list)} />}
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

/** Runs that were started together with several seeds, in a row of their own above them. */
interface Together {
  id: string;
  members: Run[];
}
type Row = Run | Together;
const isTogether = (row: Row): row is Together => "members" in row;

/** The runs, and above the first of each group what the group came to. */
function rowsOf(list: readonly Run[]): Row[] {
  return list.flatMap((run): Row[] => {
    const { group } = run;
    if (group?.kind !== "seeds") return [run];
    const members = list.filter((each) => each.group?.id === group.id);
    return members.length > 1 && members[0] === run ? [{ id: group.id, members }, run] : [run];
  });
}

/** A column whose cells say one thing of a run, and another of several together. */
const column = (name: string, ofRun: (run: Run) => ReactNode, ofGroup: (group: Together) => ReactNode, end = false) => ({
  name,
  end,
  cell: (row: Row) => (isTogether(row) ? ofGroup(row) : ofRun(row)),
});

const columnsFor = (list: readonly Run[]) => [
  column(
    "Run",
    (run) => (
      <label className={`check run-name ${run.group?.kind === "seeds" ? "one-of" : ""}`}>
        <input type="checkbox" checked={run.shown} onChange={({ target }) => runs.show(run, target.checked)} />
        <span className="run-colour" style={{ background: `var(--series-${run.colour})` }} aria-hidden="true" />
        <span>
          {run.number}. {run.name}
        </span>
      </label>
    ),
    ({ members }) => (
      <label className="check group-name">
        <input
          type="checkbox"
          checked={members.every(({ shown }) => shown)}
          onChange={({ target }) => {
            for (const run of members) runs.show(run, target.checked);
          }}
        />
        <span>Seeds {members.map(({ settings }) => settings.seed).join(", ")}</span>
      </label>
    ),
  ),
  column(
    "State",
    ({ state, elsewhere }) => (elsewhere ? "in another tab" : STATES[state]),
    ({ members }) => `${writeSpread(members).count} of ${members.length} tested`,
  ),
  column(
    "Steps",
    ({ step }) => write.count(step),
    ({ members }) => write.count(members.reduce((sum, { step }) => sum + step, 0)),
    true,
  ),
  column(
    `Test ${measuresOf(list)}`,
    (run) => `${writeResult(run)}${run.result?.part === "validation" ? " (validation)" : ""}`,
    ({ members }) => writeSpread(members).measure,
    true,
  ),
  column(
    "Test loss",
    ({ result }) => result?.loss.toFixed(4) ?? "–",
    ({ members }) => writeSpread(members).loss,
    true,
  ),
  column(
    "Samples / s",
    ({ stats }) => (stats === undefined ? "–" : write.count(stats.samplesPerSecond)),
    () => "",
    true,
  ),
  column(
    "More",
    (run) => (
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
    () => "mean ± deviation",
  ),
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
