/** The curves of runs as the charts draw them: the axis, smoothing, and as few points as a screen can show. */

import type { Mark, Series, View } from "../../ui/index.js";
import { decimated, pyramidOf } from "../../work/decimate.js";
import { lookedAt, type Run } from "../../work/run.js";
import { smoothed } from "../../work/smooth.js";

export type What = "loss" | "accuracy";
export type Axis = "steps" | "epochs" | "time";

/** How curves are drawn. */
export interface Drawing {
  axis: Axis;
  /** 0 draws them as they are. */
  smoothing: number;
  view: View | undefined;
}

/** The most points of one curve. */
export const MOST_POINTS = 800;

/** The seconds at which a step was reached, between the two reports around it. */
function secondsAt({ curve }: Run, step: number): number {
  let [low, high] = [0, curve.step.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((curve.step[middle] ?? 0) < step) low = middle + 1;
    else high = middle;
  }
  const [x0, x1] = [curve.step[low - 1] ?? 0, curve.step[low] ?? step];
  const [y0, y1] = [curve.seconds[low - 1] ?? 0, curve.seconds[low] ?? curve.seconds.at(-1) ?? 0];
  return x1 > x0 ? y0 + ((y1 - y0) * (Math.min(step, x1) - x0)) / (x1 - x0) : y1;
}

/** Where a step stands on the axis. */
export function placeOf(run: Run, step: number, axis: Axis): number {
  if (axis === "steps") return step;
  if (axis === "time") return secondsAt(run, step);
  return step / Math.max(Math.ceil((run.set?.train ?? 0) / run.settings.batch), 1);
}

/** The lines of one chart. */
export function seriesOf(runs: readonly Run[], what: What, { axis, smoothing, view }: Drawing): Series[] {
  const part: View = view ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  return runs.flatMap((run): Series[] => {
    const { number, colour, curve } = run;
    const named = (name: string) => (runs.length > 1 ? `${number} ${name}` : name);
    const [own, test] = what === "loss" ? [curve.loss, curve.testLoss] : [curve.accuracy, curve.testAccuracy];
    const drawn = (values: readonly number[], steps: readonly number[]) =>
      decimated(pyramidOf(values), (index) => placeOf(run, steps[index] ?? 0, axis), part, MOST_POINTS);
    const training = { name: named("training"), colour };
    return [
      { ...training, ...drawn(smoothed(own, smoothing), curve.step) },
      ...(smoothing > 0 ? [{ name: named("as it was"), colour, faint: true, ...drawn(own, curve.step) }] : []),
      {
        name: named(lookedAt(run)),
        colour: runs.length > 1 ? colour : 2,
        dashed: true,
        points: true,
        ...drawn(test, curve.testStep),
      },
    ];
  });
}

/** Where the rates of runs changed. */
export function marksOf(runs: readonly Run[], axis: Axis): Mark[] {
  return runs.flatMap((run) =>
    run.settings.rates
      .filter(({ step }) => step <= run.step)
      .map(({ step, lr }) => ({ x: placeOf(run, step, axis), text: `rate ${lr}`, colour: run.colour })),
  );
}

/** The ends of the axis. */
export function extentOf(runs: readonly Run[], axis: Axis): View {
  const ends = runs.map((run) => placeOf(run, Math.max(run.curve.step.at(-1) ?? 0, run.curve.testStep.at(-1) ?? 0), axis));
  return [0, Math.max(...ends, 0)];
}
