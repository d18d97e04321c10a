/** The self-test: the library's own suite on this device, and what came out. */

import { useMemo, useState } from "react";
import { Button, Check, Notice, Panel, Progress, Table, write, type Column } from "../../ui/index.js";
import { opOf, sumUp, type Sum } from "./report.js";
import type { TestState } from "./useSelfTest.js";

interface SelfTestProps {
  test: TestState;
  ready: boolean;
  onStart: () => void;
  onStop: () => void;
}

const result = ({ failures, cases }: Sum) => {
  if (failures.length > 0) return <span className="failed">failed</span>;
  return cases === 0 ? <span>not on this device</span> : <span className="passed">passed</span>;
};

const columns: readonly Column<Sum>[] = [
  {
    name: "Op",
    cell: ({ name, failures }) => (
      <>
        <code>{name}</code>
        {failures.length > 0 && <div className="field-problem">{failures.join("; ")}</div>}
      </>
    ),
  },
  { name: "Family", cell: ({ group }) => group },
  { name: "Cases", end: true, cell: ({ cases }) => write.count(cases) },
  { name: "Comparisons", end: true, cell: ({ checks }) => write.count(checks) },
  { name: "Result", cell: result },
];

const familyColumns: readonly Column<Sum>[] = [
  { name: "Family", cell: ({ name }) => name },
  { name: "Cases", end: true, cell: ({ cases }) => write.count(cases) },
  { name: "Comparisons", end: true, cell: ({ checks }) => write.count(checks) },
  { name: "Not on this device", end: true, cell: ({ skipped }) => (skipped === 0 ? "–" : write.count(skipped)) },
  { name: "Result", cell: result },
];

function Outcome({ test, ops }: { test: TestState; ops: readonly Sum[] }) {
  const { ended, stopped, error, reports } = test;
  if (error !== undefined) {
    return (
      <Notice kind="error" title="The self-test broke">
        <p>{error}</p>
      </Notice>
    );
  }
  if (ended === undefined && !stopped) return null;
  const failed = ops.filter(({ failures }) => failures.length > 0).length;
  const checks = ops.reduce((sum, op) => sum + op.checks, 0);
  const title = failed === 0 ? `All ${ops.length} ops passed` : `${failed} of ${ops.length} ops failed`;
  return (
    <Notice kind={failed === 0 ? "good" : "error"} title={stopped ? `Stopped. ${title}` : title}>
      <p>
        {write.counted(checks, "comparison")} in {write.counted(reports.length, "case")}
        {ended !== undefined && ` took ${write.seconds(ended.seconds)}`}.{" "}
        {ended !== undefined &&
          (ended.missing.length === 0
            ? "Every primitive of the library was run."
            : `Primitives that were not run: ${ended.missing.join(", ")}.`)}
      </p>
    </Notice>
  );
}

export function SelfTest({ test, ready, onStart, onStop }: SelfTestProps) {
  const [onlyFailed, setOnlyFailed] = useState(false);
  const { reports, running, total } = test;
  const ops = useMemo(() => sumUp(reports, opOf), [reports]);
  const families = useMemo(() => sumUp(reports, ({ group }) => group), [reports]);
  const shown = onlyFailed ? ops.filter(({ failures }) => failures.length > 0) : ops;
  return (
    <Panel title="Self-test" className="results">
      <p>
        Runs the library's own tests on this device: every primitive in every dtype and its derivatives, compared with an
        interpreter that computes each number alone, in 64 bits.
      </p>
      <div className="stacked">
        <div className="buttons">
          {running ? (
            <Button onClick={onStop}>Stop</Button>
          ) : (
            <Button kind="primary" disabled={!ready} onClick={onStart}>
              Run the self-test
            </Button>
          )}
          {reports.length > 0 && <Check label="only what failed" value={onlyFailed} onChange={setOnlyFailed} />}
        </div>
        {running && (
          <Progress
            label={total === 0 ? "Fetching the tests" : `${write.count(reports.length)} of ${write.counted(total, "case")}`}
            part={total === 0 ? undefined : reports.length / total}
          />
        )}
        <Outcome test={test} ops={ops} />
        {families.length > 0 && (
          <Table caption="Results by family" columns={familyColumns} rows={families} keyOf={({ name }) => name} />
        )}
        {ops.length > 0 && (
          <details>
            <summary>Op by op</summary>
            <div className="ops">
              <Table caption="Results op by op" columns={columns} rows={shown} keyOf={({ name }) => name} />
            </div>
          </details>
        )}
      </div>
    </Panel>
  );
}
