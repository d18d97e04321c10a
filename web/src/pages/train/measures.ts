/** What a run's quality is called and how it is written: classes are right or wrong, a number is explained in part. */

import { percent } from "../../ui/write.js";
import { meanAndDeviation } from "../../work/groups.js";
import type { Run } from "../../work/runs.js";

type Measured = Pick<Run, "set" | "result">;

/** Runs whose files are not open say it by their result. */
export const measureOf = ({ set, result }: Measured) =>
  set?.number === undefined && result?.error === undefined ? "accuracy" : "R²";

export const testMeasure = (run: Measured) => `${run.result?.part === "validation" ? "Validation" : "Test"} ${measureOf(run)}`;

/** The measures of several runs. */
export function measuresOf(runs: readonly Measured[]): string {
  const measures = new Set(runs.map(measureOf));
  return measures.size === 1 ? [...measures].join() : measures.size === 0 ? "accuracy" : "accuracy or R²";
}

/** The same as a title. */
export const titleOf = (runs: readonly Measured[]) => measuresOf(runs).replace(/^a/, "A");

/** What several runs came to: the mean and the deviation of those that were tested. */
export function writeSpread(runs: readonly Measured[]): { measure: string; loss: string; count: number } {
  const results = runs.flatMap(({ result }) => (result?.part === "test" ? [result] : []));
  if (results.length === 0) return { measure: "–", loss: "–", count: 0 };
  const accuracy = meanAndDeviation(results.map((each) => each.accuracy));
  const loss = meanAndDeviation(results.map((each) => each.loss));
  const share = `${percent(accuracy.mean)} ± ${(100 * accuracy.deviation).toFixed(1)}`;
  return {
    measure: results.some(({ error }) => error !== undefined) ? `R² ${share}` : share,
    loss: `${loss.mean.toFixed(4)} ± ${loss.deviation.toFixed(4)}`,
    count: results.length,
  };
}

/** What a run came to, in a word or two. */
export function writeResult({ result }: Measured): string {
  if (result === undefined) return "–";
  const share = percent(result.accuracy);
  return result.error === undefined ? share : `R² ${share}, error ${Number(result.error.toPrecision(3))}`;
}
