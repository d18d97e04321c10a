/** All that is known of one run, and what can be done with it. */

import { useEffect, useState } from "react";
import { Loaded } from "../../app/Loaded.js";
import { Button, Field, Figures, fileName, NumberField, saveFile, write } from "../../ui/index.js";
import { messageOf } from "../../work/errors.js";
import { shortPrint } from "../../work/needs.js";
import { bytesOf, canContinue, isLive } from "../../work/run.js";
import { runs, type Run } from "../../work/runs.js";
import { trainSchema } from "../../work/settings.js";
import { writeQuery } from "../../app/url.js";
import { testMeasure, writeResult } from "./measures.js";
import { Shared, useShare } from "./Share.js";
import { needsOf, useContinue, type GoingOn } from "./useContinue.js";

export default function RunDetails({ run, ...going }: { run: Run } & GoingOn) {
  const { shareRun, ...shared } = useShare();
  const { hindrance, goOn } = useContinue(going);
  const [problem, setProblem] = useState("");
  const [why, needs] = [hindrance(run), needsOf(run)];
  const isOurs = !run.elsewhere;
  const exportFile = async () => {
    setProblem("");
    try {
      const { exportRun } = await import("../../work/runfile.js");
      saveFile(fileName(run.name, "flambeau"), await exportRun(run));
    } catch (error) {
      setProblem(`The run cannot be exported: ${messageOf(error)}`);
    }
  };
  return (
    <section className="run-details stack" aria-label={`Run ${run.number}`}>
      <div className="run-words">
        <Words
          label="Name"
          value={run.name}
          disabled={!isOurs}
          onChange={(name) => name !== "" && runs.describe(run, { name })}
        />
        <Words label="Notes" value={run.notes} disabled={!isOurs} onChange={(notes) => runs.describe(run, { notes })} long />
      </div>
      <Facts run={run} />
      <div className="buttons">
        {canContinue(run) && (
          <Button disabled={why !== undefined} title={why} onClick={() => goOn(run)}>
            Continue from step {run.checkpoint}
          </Button>
        )}
        <Button onClick={() => going.onSettings(run.settings)}>Use its settings</Button>
        <Button onClick={() => shareRun(run)} aria-label={`Share run ${run.number}`}>
          Share
        </Button>
        <Button disabled={isLive(run)} onClick={() => void exportFile()} aria-label={`Export run ${run.number}`}>
          Export
        </Button>
        <Button
          disabled={isLive(run) || !isOurs}
          aria-label={`Remove run ${run.number}`}
          onClick={() => {
            void runs.remove(run);
            going.next.current?.focus();
          }}
        >
          Remove
        </Button>
      </div>
      {canContinue(run) && needs !== undefined && <p className="panel-note">{needs}.</p>}
      <Shared {...shared} />
      {problem !== "" && (
        <p className="field-problem" role="alert">
          {problem}
        </p>
      )}
      {run.result !== undefined && !isLive(run) && <Card run={run} />}
      {run.checkpoint !== undefined && !isLive(run) && isOurs && <Branch key={run.id} run={run} {...going} />}
    </section>
  );
}

const loadCard = () => import("./ResultCard.js");

/** The result as a picture, made when it is asked for. */
function Card({ run }: { run: Run }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Result card: the run as a picture, to copy or save</summary>
      {isOpen && <Loaded name="card" load={loadCard} props={{ run }} />}
    </details>
  );
}

interface WordsProps {
  label: string;
  value: string;
  disabled: boolean;
  long?: boolean;
  onChange: (words: string) => void;
}

/** Words of the reader's own. */
function Words({ label, value, disabled, long = false, onChange }: WordsProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const props = {
    className: "input",
    value: typed,
    disabled,
    onChange: ({ target }: { target: { value: string } }) => {
      setTyped(target.value);
      onChange(target.value.trim());
    },
    // An empty name is none: what was there comes back.
    onBlur: () => setTyped(value),
  };
  return <Field label={label}>{(id) => (long ? <textarea id={id} rows={2} {...props} /> : <input id={id} {...props} />)}</Field>;
}

const DEVICES = { cpu: "CPU", gpu: "GPU", software: "Software GPU" } as const;

function Facts({ run }: { run: Run }) {
  const others = [...writeQuery(trainSchema, run.settings)].filter(([name]) => name !== "rates");
  return (
    <>
      <Figures
        figures={[
          ["Date", new Date(run.date).toLocaleString()],
          ["Device", DEVICES[run.device]],
          [testMeasure(run), writeResult(run)],
          ["Training time", write.seconds(run.seconds)],
          ["Data", run.fingerprint === undefined ? run.settings.data : `${run.settings.data}, ${shortPrint(run.fingerprint)}`],
          ["Space", bytesOf(run) === 0 ? "not kept yet" : write.bytes(bytesOf(run))],
        ]}
      />
      <p className="panel-note">
        {run.branchOf !== undefined && `It goes on from step ${run.branchOf.step} of “${run.branchOf.name}”. `}
        {run.begunWith !== undefined && `It began with the weights of ${run.begunWith}. `}
        {run.settings.rates.length > 0 &&
          `Its rate was ${run.settings.rates.map(({ step, lr }) => `${lr} from step ${step}`).join(", ")}. `}
        {others.length > 0
          ? `Settings other than those to begin with: ${others.map(([name, value]) => `${name} ${value}`).join(", ")}.`
          : "All settings are those to begin with."}
      </p>
      {run.error !== undefined && <p className="field-problem">{run.error}</p>}
    </>
  );
}

/** Another run from the same checkpoint. */
function Branch({ run, ...going }: { run: Run } & GoingOn) {
  const { hindrance, branch } = useContinue(going);
  const [change, setChange] = useState({ lr: run.lr, epochs: run.settings.epochs, steps: run.settings.steps });
  const { checkpoint = 0 } = run;
  const epoch = run.set === undefined ? Number.POSITIVE_INFINITY : Math.ceil(run.set.train / run.settings.batch);
  const steps = Math.min(change.epochs * epoch, change.steps > 0 ? change.steps : Number.POSITIVE_INFINITY);
  const why =
    hindrance(run) ??
    (steps <= checkpoint ? `That is ${write.counted(steps, "step")}, and ${checkpoint} are done: set more of them` : undefined);
  return (
    <details>
      <summary>Branch from step {checkpoint}: a new run at another rate, or for longer</summary>
      <div className="stack">
        <div className="fields">
          <NumberField
            label="Rate from there on"
            value={change.lr}
            min={0}
            max={100}
            onChange={(lr) => setChange({ ...change, lr })}
          />
          <NumberField
            label="Epochs in all"
            whole
            value={change.epochs}
            min={1}
            max={1000}
            onChange={(epochs) => setChange({ ...change, epochs })}
          />
          <NumberField
            label="Most steps in all"
            whole
            value={change.steps}
            min={0}
            onChange={(steps) => setChange({ ...change, steps })}
            hint="0: all epochs"
          />
        </div>
        <div className="buttons">
          <Button
            disabled={why !== undefined}
            aria-describedby={`branch-${run.id}`}
            onClick={() => branch(run, change)}
            aria-label={`Branch from run ${run.number}`}
          >
            Branch
          </Button>
          <span className="panel-note" id={`branch-${run.id}`}>
            {why ?? "Network, data, batch and seed stay as they are."}
          </span>
        </div>
      </div>
    </details>
  );
}
