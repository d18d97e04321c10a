/** A sweep: two lists of values, and a table that fills while it trains. Every cell is a run like any other. */

import { useEffect, useId, useRef, useState } from "react";
import { useDevice } from "../../app/device.js";
import { Button, Field, saveFile, Select, write } from "../../ui/index.js";
import { SWEPT, type SweepGroup, type SweptName } from "../../work/groups.js";
import type { DataSource } from "../../work/messages.js";
import { isLive, newId } from "../../work/run.js";
import { runs, type Run, type StartRequest } from "../../work/runs.js";
import type { TrainSettings } from "../../work/settings.js";
import { useChanges } from "../../work/store.js";
import { type Cell, cellsOf, hindranceOf, readValues, reasonOf, settingsAt, sweepCsv } from "../../work/sweep.js";
import { own } from "../../work/own.js";
import { measuresOf } from "./measures.js";
import { needsOf } from "./useContinue.js";
import "./sweep.css";

export interface SweepProps {
  settings: TrainSettings;
  source: DataSource | undefined;
  /** Why nothing can be started. */
  problem: string | undefined;
  weights: StartRequest["weights"];
  onMisfit: () => void;
  /** It was asked for just now: the keyboard's focus goes on in it. */
  isAsked: boolean;
}

const SETTINGS = Object.entries(SWEPT) as [SweptName, string][];

interface Typed {
  setting: SweptName;
  text: string;
}

/** What stands in the fields, also after another page. */
let remembered: [Typed, Typed] = [
  { setting: "lr", text: "0.01, 0.001, 0.0001" },
  { setting: "batch", text: "32, 128" },
];

/** The sweeps of this browser, the newest first. */
function sweepsOf(list: readonly Run[]): SweepGroup[] {
  const found = new Map<string, SweepGroup>();
  for (const { group } of list) if (group?.kind === "sweep") found.set(group.id, group);
  return [...found.values()].reverse();
}

export default function Sweep({ settings, source, problem, weights, onMisfit, isAsked }: SweepProps) {
  useChanges(runs.changes);
  const { used, offer } = useDevice();
  const [typed, setTyped] = useState(remembered);
  const [chosen, setChosen] = useState("");
  const whyId = useId();
  const all = useRef<HTMLDivElement>(null);
  // Whoever starts it may want to stop it; the button that was pressed rests or goes.
  const stop = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isAsked) all.current?.querySelector("select")?.focus();
  }, [isAsked]);
  const [down, across] = typed.map(({ setting, text }) => ({ setting, ...readValues(setting, text) }));
  const sweeps = sweepsOf(runs.list);
  const shown = sweeps.find(({ id }) => id === chosen) ?? sweeps[0];
  const busy = runs.isBusy;
  const wrong = down?.problem ?? across?.problem;
  const group =
    down?.problem === undefined && across?.problem === undefined && down !== undefined && across !== undefined
      ? ({ kind: "sweep", id: "", down, across } satisfies SweepGroup)
      : undefined;
  const why =
    wrong ??
    (group && hindranceOf(group.down, group.across)) ??
    problem ??
    (offer.state === "looking" ? "Looking for a GPU" : busy ? "Another run is being trained" : undefined);
  const count = group === undefined ? 0 : group.down.values.length * group.across.values.length;
  const change = (place: 0 | 1, next: Partial<Typed>) => {
    remembered = typed.map((each, index) => (index === place ? { ...each, ...next } : each)) as [Typed, Typed];
    setTyped(remembered);
  };
  const start = () => {
    if (group === undefined || source === undefined) return;
    const begun = { ...group, id: newId() };
    setChosen(begun.id);
    stop.current?.focus();
    runs.start(
      ...begun.down.values.flatMap((row) =>
        begun.across.values.map((column) => ({
          ...{ settings: settingsAt(settings, begun, row, column), name: nameAt(begun, row, column), device: used },
          ...{ source, weights, onMisfit, group: begun },
        })),
      ),
    );
  };
  return (
    <div className="stack" ref={all}>
      <div className="sweep-lists">
        {([0, 1] as const).map((place) => {
          const { setting, text } = typed[place];
          const side = place === 0 ? "down" : "across";
          const said = place === 0 ? down : across;
          return (
            <div key={side} className="fields">
              <Select
                label={`Setting ${side}`}
                value={setting}
                options={SETTINGS}
                onChange={(next) => change(place, { setting: next })}
              />
              <Field label={`Values ${side}`} problem={said?.problem} hint="Divided by commas">
                {(id) => (
                  <input
                    id={id}
                    className="input"
                    value={text}
                    aria-invalid={said?.problem !== undefined}
                    onChange={({ target }) => change(place, { text: target.value })}
                  />
                )}
              </Field>
            </div>
          );
        })}
      </div>
      <div className="buttons">
        <Button kind="primary" disabled={why !== undefined} aria-describedby={whyId} onClick={start}>
          Train {write.counted(count, "run")}
        </Button>
        <Button ref={stop} resting={!busy} onClick={() => runs.stop()}>
          Stop the sweep
        </Button>
        <span className="panel-note" id={whyId}>
          {why ?? "All other settings are those of the panels."}
        </span>
      </div>
      {sweeps.length > 1 && shown !== undefined && (
        <Select label="Sweep" value={shown.id} options={sweeps.map((each) => [each.id, nameOf(each)])} onChange={setChosen} />
      )}
      {shown !== undefined && <Results group={shown} onStart={() => stop.current?.focus()} />}
    </div>
  );
}

const nameOf = ({ down, across }: SweepGroup) =>
  `${SWEPT[down.setting]} × ${SWEPT[across.setting].toLowerCase()}, ${down.values.length} × ${across.values.length}`;

/** What a cell stands for; its run is called so. */
const nameAt = ({ down, across }: SweepGroup, row: string, column: string) =>
  `${SWEPT[down.setting]} ${row}, ${SWEPT[across.setting].toLowerCase()} ${column}`;

function Results({ group, onStart }: { group: SweepGroup; onStart: () => void }) {
  const { used } = useDevice();
  const { down, across } = group;
  const cells = cellsOf(group, runs.list, runs.waiting);
  const all = cells.flat();
  const results = all.flatMap(({ run }) => run?.result?.accuracy ?? []);
  const [worst, best] = [Math.min(...results), Math.max(...results)];
  const missing = all.filter(({ run, waits }) => run === undefined && !waits);
  const member = all.find(({ run }) => run !== undefined)?.run;
  const train = () => {
    const source = member && own.source(member.settings.data);
    if (member === undefined || source === undefined) return;
    onStart();
    runs.start(
      ...missing.map(({ row, column }) => ({
        ...{ settings: settingsAt(member.settings, group, row, column), name: nameAt(group, row, column), device: used },
        ...{ source, group },
      })),
    );
  };
  const needs = member && needsOf(member);
  return (
    <>
      <p className="panel-note">
        {SWEPT[down.setting]} down, {SWEPT[across.setting].toLowerCase()} across: test{" "}
        {measuresOf(all.flatMap(({ run }) => run ?? []))}. A cell opens its run.
      </p>
      <div className="table-frame" tabIndex={0} role="region" aria-label="Results of the sweep">
        <table className="table sweep-table">
          <caption className="visually-hidden">{nameOf(group)}</caption>
          <thead>
            <tr>
              <td />
              {across.values.map((value) => (
                <th key={value} scope="col" className="end">
                  {value}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {cells.map((row, place) => (
              <tr key={down.values[place]}>
                <th scope="row">{down.values[place]}</th>
                {row.map((cell) => (
                  <Place key={cell.column} cell={cell} group={group} worst={worst} best={best} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <ul className="sweep-reasons" aria-label="Cells without a result that is kept">
        {all.map((cell) => {
          const reason = reasonOf(cell);
          return (
            reason !== undefined && (
              <li key={`${cell.row} ${cell.column}`} className="panel-note">
                {nameAt(group, cell.row, cell.column)}: {reason}
              </li>
            )
          );
        })}
      </ul>
      <div className="buttons">
        <Button kind="quiet" small onClick={() => saveFile("sweep.csv", sweepCsv(group, cells), "text/csv")}>
          Export the table
        </Button>
        {missing.length > 0 && !runs.isBusy && (
          <Button kind="quiet" small disabled={needs !== undefined} title={needs} onClick={train}>
            Train the {write.counted(missing.length, "missing run")}
          </Button>
        )}
      </div>
    </>
  );
}

/** Opens a run's details, and puts the focus beside them. */
function openRun(run: Run): void {
  runs.choose(run);
  document.querySelector<HTMLElement>(`.runs [aria-label="Details of run ${run.number}"]`)?.focus();
}

function Place({ cell, group, worst, best }: { cell: Cell; group: SweepGroup; worst: number; best: number }) {
  const { row, column, run, waits } = cell;
  if (run === undefined) return <td className="end">{waits ? "waiting" : "not run"}</td>;
  const { result, state, step, steps } = run;
  const accuracy = result?.accuracy;
  const words = [
    accuracy === undefined ? (state === "failed" ? "failed" : "") : write.percent(accuracy),
    isLive(run) ? `step ${write.count(step)} of ${write.count(steps)}` : state === "done" || state === "failed" ? "" : state,
  ].filter((word) => word !== "");
  const depth = accuracy === undefined ? 0 : Math.round(8 + (30 * (accuracy - worst)) / (best - worst || 1));
  return (
    <td className="end" style={{ background: `color-mix(in srgb, var(--good) ${depth}%, var(--card))` }}>
      <button
        type="button"
        className={`sweep-cell ${accuracy === best && state === "done" ? "best" : ""}`}
        aria-label={`${nameAt(group, row, column)}: ${words.join(", ")}. Open run ${run.number}`}
        onClick={() => openRun(run)}
      >
        {words.join(", ")}
      </button>
    </td>
  );
}
