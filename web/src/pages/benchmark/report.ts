/** The results as files. */

import type { ContenderName, Row } from "./messages.js";
import { describe, workOf } from "./tasks.js";

export const NAMES: Record<ContenderName, string> = {
  cpu: "Flambeau, CPU",
  gpu: "Flambeau, WebGPU",
  tfjs: "TensorFlow.js 4.22, WebGPU",
  jax: "jax-js 0.1.25, WebGPU",
};

/** How much a contender does in a second. */
export function rateOf({ task, median }: Row): number {
  return median > 0 ? workOf(task).amount / (median / 1000) : 0;
}

export interface Circumstances {
  device: string;
  date: string;
  browser: string;
}

/** Everything, for programs. */
export function asJson(rows: readonly Row[], circumstances: Circumstances): string {
  const results = rows.map((row) => {
    const { task, contender, ...figures } = row;
    return {
      task: task.kind,
      ...(task.size > 0 && { size: task.size }),
      description: describe(task),
      contender: NAMES[contender],
      rate: rateOf(row),
      unit: workOf(task).unit,
      ...figures,
    };
  });
  return JSON.stringify({ ...circumstances, milliseconds: ["median", "best", "worst", "first"], results }, null, 2);
}

const COLUMNS = [
  "task",
  "size",
  "contender",
  "median ms",
  "best ms",
  "worst ms",
  "first ms",
  "rounds",
  "runs per round",
  "rate",
  "unit",
  "elements compared",
  "max error",
  "correct",
  "GPU busy",
  "problem",
];

/** A table, for spreadsheets. */
export function asCsv(rows: readonly Row[]): string {
  const quoted = (cell: string | number | boolean) =>
    typeof cell === "string" ? `"${cell.replaceAll('"', '""')}"` : String(cell);
  const lines = rows.map((row) =>
    [
      row.task.kind,
      row.task.size,
      NAMES[row.contender],
      row.median,
      row.best,
      row.worst,
      row.first,
      row.rounds,
      row.runsPerRound,
      rateOf(row),
      workOf(row.task).unit,
      row.compared,
      row.maxError,
      row.correct,
      row.busy ?? "",
      row.problem ?? "",
    ]
      .map(quoted)
      .join(","),
  );
  return `${[COLUMNS.map(quoted).join(","), ...lines].join("\n")}\n`;
}
