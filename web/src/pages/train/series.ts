/** The curves of runs as the charts draw them: the axis, smoothing, and as few points as a screen can show. */

import type { Mark, Series, View } from "../../ui/index.js";
import { decimated, pyramidOf } from "../../work/decimate.js";
import { isLive, lookedAt, type Run } from "../../work/run.js";
import { smoothed } from "../../work/smooth.js";
import { spreadOf, type Line } from "../../work/spread.js";

export type What = "loss" | "accuracy" | "gradient";
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

/** The lists of a run's curve that a chart is drawn from. */
function linesOf({ curve }: Run, what: What): { own: Line; looks: Line | undefined } {
  const [own, looks] = {
    loss: [curve.loss, curve.testLoss],
    accuracy: [curve.accuracy, curve.testAccuracy],
    gradient: [curve.gradient, undefined],
  }[what] as [number[], number[] | undefined];
  return {
    own: { steps: curve.step, values: own },
    looks: looks === undefined ? undefined : { steps: curve.testStep, values: looks },
  };
}

/** What is drawn together: a run, or the runs of a group that have ended, as their mean and the band around it. */
type Drawn = readonly [Run, ...Run[]];

/** Runs with several seeds that have ended are one; all others stand for themselves. */
export function joined(runs: readonly Run[]): Drawn[] {
  const bands = new Map<string, [Run, ...Run[]]>();
  return runs.flatMap((run): Drawn[] => {
    if (run.group?.kind !== "seeds" || isLive(run)) return [[run]];
    const band = bands.get(run.group.id);
    if (band !== undefined) {
      band.push(run);
      return [];
    }
    const begun: [Run, ...Run[]] = [run];
    bands.set(run.group.id, begun);
    return [begun];
  });
}

/** The lines of one chart. */
export function seriesOf(runs: readonly Run[], what: What, { axis, smoothing, view }: Drawing): Series[] {
  const part: View = view ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const drawn = joined(runs);
  return drawn.flatMap((members): Series[] => {
    const [first] = members;
    const { colour } = first;
    const number = members.length > 1 ? `${first.number}–${members.at(-1)?.number}` : String(first.number);
    const named = (name: string) => [drawn.length > 1 ? `${number} ` : "", name, members.length > 1 ? ", mean" : ""].join("");
    // Where a step stands for several runs is the mean of where each has it.
    const place = (step: number) => members.reduce((sum, run) => sum + placeOf(run, step, axis), 0) / members.length;
    const line = (values: readonly number[], steps: readonly number[], side?: "least" | "greatest") => {
      const { x, y } = decimated(pyramidOf(values), (index) => place(steps[index] ?? 0), part, MOST_POINTS, side);
      return { x, y: y.map((value) => (Number.isNaN(value) ? null : value)) };
    };
    const lists = members.map((run) => linesOf(run, what));
    /** A line, with a band around it where it is a mean. */
    const curves = (lines: Line[], name: string, look: Look, weight: number): Series[] => {
      const { steps, mean, least, greatest } = lines.length === 1 ? alone(lines) : spreadOf(lines);
      const made = { ...look, name: named(name) };
      const edge = (edge: "low" | "high", values: readonly number[]): Series => ({
        ...{ name: `${made.name}, ${edge === "low" ? "smallest" : "largest"}`, colour: look.colour, edge },
        ...line(smoothed(values, weight), steps, edge === "low" ? "least" : "greatest"),
      });
      return [
        { ...made, ...line(smoothed(mean, weight), steps) },
        ...(lines.length > 1 ? [edge("high", greatest), edge("low", least)] : []),
        ...(weight > 0 ? [{ name: named("as it was"), colour: look.colour, faint: true, ...line(mean, steps) }] : []),
      ];
    };
    const looks = lists.flatMap((each) => each.looks ?? []);
    const own = lists.map((each) => each.own);
    const look = { colour: drawn.length > 1 ? colour : 2, dashed: true, points: true };
    return [
      ...curves(own, "training", { colour }, smoothing),
      ...(looks.length > 0 ? curves(looks, lookedAt(first), look, 0) : []),
    ];
  });
}

type Look = Pick<Series, "colour" | "dashed" | "points">;

/** One line as if it were the mean of several. */
const alone = ([line]: readonly Line[]) => {
  const { steps = [], values = [] } = line ?? {};
  return { steps, mean: values, least: values, greatest: values };
};

/** Where the rates of runs changed. */
export function marksOf(runs: readonly Run[], axis: Axis): Mark[] {
  return joined(runs).flatMap((members) => {
    // Runs with several seeds have the same rates, unless one was changed on the way.
    const marked = new Map<string, Mark>();
    for (const run of members)
      for (const { step, lr } of run.settings.rates.filter((change) => change.step <= run.step)) {
        const key = `${step} ${lr}`;
        if (!marked.has(key)) marked.set(key, { x: placeOf(run, step, axis), text: `rate ${lr}`, colour: run.colour });
      }
    return [...marked.values()];
  });
}

/** The ends of the axis. */
export function extentOf(runs: readonly Run[], axis: Axis): View {
  const ends = runs.map((run) => placeOf(run, Math.max(run.curve.step.at(-1) ?? 0, run.curve.testStep.at(-1) ?? 0), axis));
  return [0, Math.max(...ends, 0)];
}
