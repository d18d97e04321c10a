/** What was measured: a table, bars for each task, and a curve where there are several sizes. */

import { useMemo } from "react";
import { Bars, LineChart, Panel, Table, write, type Column, type Series } from "../../ui/index.js";
import { contenderNames, type Row } from "./messages.js";
import { NAMES, rateOf } from "./report.js";
import { describe, workOf, type Task } from "./tasks.js";

const time = (milliseconds: number) =>
  milliseconds < 1
    ? `${(1000 * milliseconds).toFixed(0)} µs`
    : milliseconds < 1000
      ? `${milliseconds.toPrecision(3)} ms`
      : write.seconds(milliseconds / 1000);
const rate = (value: number, unit: string) => `${value >= 1000 ? write.count(value) : value.toPrecision(3)} ${unit}`;
const taskKey = ({ kind, size }: Task) => `${kind} ${size}`;

function Check({ row }: { row: Row }) {
  if (row.problem !== undefined) return <span className="failed">failed: {row.problem}</span>;
  if (row.contender === "cpu") return <span className="panel-note">the reference</span>;
  return <span className={row.correct ? "passed" : "failed"}>{row.correct ? "correct" : "wrong"}</span>;
}

const figure = (row: Row, text: () => string) => (row.problem === undefined ? text() : "–");

const columns = (cpu: ReadonlyMap<string, number>): readonly Column<Row>[] => [
  { name: "Task", cell: ({ task }) => describe(task) },
  { name: "By", cell: ({ contender }) => <span className="nowrap">{NAMES[contender]}</span> },
  { name: "Median", end: true, cell: (row) => figure(row, () => time(row.median)) },
  { name: "Speed", end: true, cell: (row) => figure(row, () => rate(rateOf(row), workOf(row.task).unit)) },
  {
    name: "Against the CPU",
    end: true,
    cell: (row) => {
      const base = cpu.get(taskKey(row.task));
      return base === undefined || row.contender === "cpu" ? "–" : figure(row, () => `${(base / row.median).toPrecision(2)} ×`);
    },
  },
  {
    name: "GPU busy",
    end: true,
    cell: ({ busy }) => (busy === undefined ? "–" : `${(100 * busy).toFixed(0)} %`),
  },
  { name: "First run", end: true, cell: (row) => figure(row, () => time(row.first)) },
  { name: "Runs", end: true, cell: (row) => figure(row, () => `${row.rounds} × ${row.runsPerRound}`) },
  { name: "Compared", end: true, cell: (row) => figure(row, () => write.count(row.compared)) },
  {
    name: "Max error",
    end: true,
    cell: (row) => figure(row, () => (row.contender === "cpu" ? "–" : row.maxError === 0 ? "0" : row.maxError.toExponential(1))),
  },
  { name: "Result", cell: (row) => <Check row={row} /> },
];

function TaskBars({ task, rows }: { task: Task; rows: readonly Row[] }) {
  const bars = rows
    .filter(({ problem }) => problem === undefined)
    .map((row) => ({ name: NAMES[row.contender], value: rateOf(row) }));
  if (bars.length === 0) return null;
  const { unit } = workOf(task);
  return (
    <div className="task-bars">
      <h3>{describe(task)}</h3>
      <Bars bars={bars} full={Math.max(...bars.map(({ value }) => value))} write={(value) => rate(value, unit)} />
    </div>
  );
}

function Sweep({ rows }: { rows: readonly Row[] }) {
  const series = useMemo(() => {
    const products = rows.filter(({ task, problem }) => task.kind === "matmul" && problem === undefined);
    return contenderNames.flatMap((name, index): Series[] => {
      const own = products.filter(({ contender }) => contender === name).sort((a, b) => a.task.size - b.task.size);
      if (own.length < 2) return [];
      return [{ name: NAMES[name], colour: index + 1, points: true, x: own.map(({ task }) => task.size), y: own.map(rateOf) }];
    });
  }, [rows]);
  if (series.length === 0) return null;
  return (
    <Panel title="Matrix product by size" note="GFLOP/s, more is better">
      <LineChart label="Speed of the matrix product over its size" series={series} xName="size" range={[0, undefined]} />
    </Panel>
  );
}

export function Results({ rows }: { rows: readonly Row[] }) {
  const cpu = useMemo(
    () =>
      new Map(
        rows
          .filter(({ contender, problem }) => contender === "cpu" && problem === undefined)
          .map(({ task, median }) => [taskKey(task), median]),
      ),
    [rows],
  );
  const tasks = useMemo(() => [...new Map(rows.map(({ task }) => [taskKey(task), task])).values()], [rows]);
  if (rows.length === 0) return null;
  return (
    <>
      <Panel title="Results">
        <Table
          caption="Results, one line each"
          columns={columns(cpu)}
          rows={rows}
          keyOf={({ task, contender }) => `${taskKey(task)} ${contender}`}
        />
      </Panel>
      <Panel title="Speed" note="longer is faster">
        <div className="all-bars">
          {tasks.map((task) => (
            <TaskBars key={taskKey(task)} task={task} rows={rows.filter((row) => taskKey(row.task) === taskKey(task))} />
          ))}
        </div>
      </Panel>
      <Sweep rows={rows} />
    </>
  );
}
