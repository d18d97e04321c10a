/** The self-test: every op on this device against the CPU, and what came out. */

import { useMemo, useState } from "react";
import { Button, Check, Notice, Panel, Progress, Table, write, type Column } from "../../ui/index.js";
import type { OpReport } from "./suite/check.js";
import type { TestState } from "./useDeviceWorker.js";

interface SelfTestProps {
  test: TestState;
  cpu: boolean;
  ready: boolean;
  onStart: () => void;
  onStop: () => void;
}

const error = (value: number, count: number) => (count === 0 ? "–" : value === 0 ? "0" : value.toExponential(1));

const columns: readonly Column<OpReport>[] = [
  {
    name: "Op",
    cell: ({ op, failures }) => (
      <>
        <code>{op}</code>
        {failures.length > 0 && <div className="field-problem">{failures.join("; ")}</div>}
      </>
    ),
  },
  { name: "Family", cell: ({ group }) => group },
  { name: "Values", end: true, cell: ({ values }) => write.count(values) },
  { name: "Largest error", end: true, cell: ({ valueError, values }) => error(valueError, values) },
  { name: "Derivatives", end: true, cell: ({ gradients }) => (gradients === 0 ? "–" : write.count(gradients)) },
  { name: "Largest error of derivatives", end: true, cell: ({ gradientError, gradients }) => error(gradientError, gradients) },
  {
    name: "Result",
    cell: ({ failures }) => (
      <span className={failures.length === 0 ? "passed" : "failed"}>{failures.length === 0 ? "passed" : "failed"}</span>
    ),
  },
];

interface Family {
  name: string;
  ops: number;
  passed: number;
  values: number;
  error: number;
}

function families(reports: readonly OpReport[]): Family[] {
  const found = new Map<string, Family>();
  for (const report of reports) {
    const family = found.get(report.group) ?? { name: report.group, ops: 0, passed: 0, values: 0, error: 0 };
    family.ops += 1;
    family.passed += report.failures.length === 0 ? 1 : 0;
    family.values += report.values + report.gradients;
    family.error = Math.max(family.error, report.valueError, report.gradientError);
    found.set(report.group, family);
  }
  return [...found.values()];
}

const familyColumns: readonly Column<Family>[] = [
  { name: "Family", cell: ({ name }) => name },
  { name: "Ops", end: true, cell: ({ ops }) => ops },
  { name: "Numbers compared", end: true, cell: ({ values }) => write.count(values) },
  { name: "Largest error", end: true, cell: ({ error: value, values }) => error(value, values) },
  {
    name: "Passed",
    end: true,
    cell: ({ ops, passed }) => <span className={passed === ops ? "passed" : "failed"}>{`${passed} of ${ops}`}</span>,
  },
];

function Outcome({ test }: { test: TestState }) {
  if (test.ended === undefined) return null;
  const { reports, ended } = test;
  const failed = reports.filter(({ failures }) => failures.length > 0).length;
  const compared = reports.reduce((sum, { values, gradients }) => sum + values + gradients, 0);
  const title = failed === 0 ? `All ${reports.length} ops passed` : `${failed} of ${reports.length} ops failed`;
  return (
    <Notice kind={failed === 0 ? "good" : "error"} title={ended.stopped ? `Stopped. ${title}` : title}>
      <p>
        {write.count(compared)} numbers were compared in {write.seconds(ended.seconds)}.{" "}
        {ended.uncovered.length === 0 ? "Every op of the package has a test." : `Without a test: ${ended.uncovered.join(", ")}.`}
      </p>
    </Notice>
  );
}

export function SelfTest({ test, cpu, ready, onStart, onStop }: SelfTestProps) {
  const [onlyFailed, setOnlyFailed] = useState(false);
  const { reports, running, done, total } = test;
  const shown = useMemo(
    () => (onlyFailed ? reports.filter(({ failures }) => failures.length > 0) : reports),
    [reports, onlyFailed],
  );
  const summary = useMemo(() => families(reports), [reports]);
  return (
    <Panel title="Self-test" className="results">
      <p>
        {cpu
          ? "Runs every op and its derivative on the CPU. With a GPU, each number is compared with the CPU's; here there is nothing to compare with."
          : "Runs every op and its derivative on this GPU and on the CPU, and compares each number: floats may differ by 10⁻⁵ plus 10⁻⁴ of the value, whole numbers not at all."}
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
            label={total === 0 ? "Opening the CPU" : `${done} of ${total} ops`}
            part={total === 0 ? undefined : done / total}
          />
        )}
        <Outcome test={test} />
        {summary.length > 0 && (
          <Table caption="Results by family" columns={familyColumns} rows={summary} keyOf={({ name }) => name} />
        )}
        {reports.length > 0 && (
          <details>
            <summary>Op by op</summary>
            <div className="ops">
              <Table caption="Results op by op" columns={columns} rows={shown} keyOf={({ op }) => op} />
            </div>
          </details>
        )}
      </div>
    </Panel>
  );
}
