/** Curves as files: all points as a table or for TensorBoard, or what the charts show as a drawing. */

import type { Series, View } from "../../ui/index.js";
import { writeCsv } from "../../work/csv.js";
import { rateAt } from "../../work/rates.js";
import { lookedAt, type Run } from "../../work/run.js";
import { eventFile, type Scalar } from "../../work/tensorboard.js";
import { measureOf, measuresOf } from "./measures.js";
import { placeOf, type Axis, type What } from "./series.js";

/** Every point of the runs, one in a row. */
export function csvOf(runs: readonly Run[]): string {
  const rows = runs.flatMap((run) => {
    const { curve, settings, number, name } = run;
    const row = (part: string, step: number, loss = Number.NaN, accuracy = Number.NaN, gradient = Number.NaN) => [
      number,
      name,
      part,
      step,
      placeOf(run, step, "epochs"),
      placeOf(run, step, "time"),
      loss,
      accuracy,
      // Of the steps that led there.
      rateAt(settings.lr, settings.rates, Math.max(step - 1, 0)),
      // Only training has gradients.
      Number.isNaN(gradient) ? "" : gradient,
    ];
    return [
      ...curve.step.map((step, place) => row("training", step, curve.loss[place], curve.accuracy[place], curve.gradient[place])),
      ...curve.testStep.map((step, place) => row(lookedAt(run), step, curve.testLoss[place], curve.testAccuracy[place])),
    ];
  });
  const head = ["run", "name", "part", "step", "epoch", "seconds", "loss", measuresOf(runs), "rate", "gradient norm"];
  return writeCsv([head, ...rows]);
}

/** Every point of a run for TensorBoard; its times are those of the training, without pauses. */
export function eventsOf(run: Run): Uint8Array<ArrayBuffer> {
  const { curve, settings } = run;
  const begun = run.date / 1000;
  const [part, measure] = [lookedAt(run), measureOf(run) === "accuracy" ? "accuracy" : "r2"];
  const scalars = (tag: string, steps: readonly number[], values: readonly number[]): Scalar[] =>
    steps.map((step, place) => ({ tag, step, value: values[place] ?? Number.NaN, time: begun + placeOf(run, step, "time") }));
  const rates = curve.step.map((step) => rateAt(settings.lr, settings.rates, Math.max(step - 1, 0)));
  return eventFile(
    [
      ...scalars("loss/training", curve.step, curve.loss),
      ...scalars(`loss/${part}`, curve.testStep, curve.testLoss),
      ...scalars(`${measure}/training`, curve.step, curve.accuracy),
      ...scalars(`${measure}/${part}`, curve.testStep, curve.testAccuracy),
      ...scalars("rate", curve.step, rates),
      ...scalars("gradient_norm", curve.step, curve.gradient).filter(({ value }) => !Number.isNaN(value)),
    ],
    begun,
  );
}

const [WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM] = [560, 300, 60, 34, 16, 40];
const COLOURS = ["#c2410c", "#1d4ed8", "#15803d", "#7e22ce", "#b45309", "#0e7490"];
const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
const short = (value: number) => String(Number(value.toPrecision(3)));

interface Drawn {
  axis: Axis;
  logarithmic: boolean;
  view: View;
  /** The title of what is not the loss. */
  measure: string;
}

/** One chart: a frame, ticks, a line for each curve, and their names. */
function chart(title: What, series: readonly Series[], { axis, view, logarithmic, measure }: Drawn, top: number): string {
  const isLog = logarithmic && title !== "accuracy";
  const height = (value: number) => (isLog ? Math.log10(value) : value);
  const isShown = (x: number, y: number | null): y is number =>
    x >= view[0] && x <= view[1] && y !== null && Number.isFinite(height(y));
  const values = series.flatMap(({ x, y }) => y.filter((value, place) => isShown(x[place] ?? Number.NaN, value)));
  const [low, high] = [0, 1].map((end) => {
    const own = values.map((value) => height(value ?? 0));
    return end === 0 ? own.reduce((a, b) => Math.min(a, b), Infinity) : own.reduce((a, b) => Math.max(a, b), -Infinity);
  }) as [number, number];
  if (values.length === 0) return "";
  const across = (x: number) => LEFT + ((x - view[0]) / (view[1] - view[0] || 1)) * (WIDTH - LEFT - RIGHT);
  const up = (y: number) => top + HEIGHT - BOTTOM - ((height(y) - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM);
  const text = (x: number, y: number, words: string, more = "") =>
    `<text x="${short(x)}" y="${short(y)}" ${more}>${escaped(words)}</text>`;
  const ticks = [0, 0.25, 0.5, 0.75, 1].flatMap((part) => {
    const x = view[0] + part * (view[1] - view[0]);
    const raised = low + part * (high - low);
    const y = isLog ? 10 ** raised : raised;
    return [
      text(across(x), top + HEIGHT - BOTTOM + 16, short(x), 'text-anchor="middle"'),
      text(LEFT - 6, up(y) + 4, short(y), 'text-anchor="end"'),
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${short(up(y))}" y2="${short(up(y))}" stroke="#ddd"/>`,
    ];
  });
  const placesOf = ({ x, y }: Series) =>
    x.flatMap((each, place) => {
      const value = y[place] ?? null;
      return isShown(each, value) ? [`${across(each).toFixed(2)},${up(value).toFixed(2)}`] : [];
    });
  const bands = series.flatMap((high, place) => {
    const low = series[place + 1];
    if (high.edge !== "high" || low === undefined) return [];
    const around = [...placesOf(high), ...placesOf(low).reverse()].join(" ");
    return [`<polygon fill="${COLOURS[high.colour - 1] ?? "#000"}" opacity="0.2" points="${around}"/>`];
  });
  const drawn = series.filter(({ edge }) => edge === undefined);
  const lines = drawn.map((each) => {
    const { name, colour, dashed, faint } = each;
    const places = placesOf(each);
    const look = `${dashed === true ? ' stroke-dasharray="6 4"' : ""}${faint === true ? ' opacity="0.3"' : ""}`;
    const stroke = COLOURS[colour - 1] ?? "#000";
    return `<polyline fill="none" stroke="${stroke}" stroke-width="1.5"${look} points="${places.join(" ")}"><title>${escaped(name)}</title></polyline>`;
  });
  const legend = drawn
    .filter(({ faint }) => faint !== true)
    .map(({ name, colour }, place) =>
      text(WIDTH - RIGHT, top + 46 + 15 * place, name, `text-anchor="end" fill="${COLOURS[colour - 1]}"`),
    );
  return [
    text(LEFT, top + 20, { loss: "Loss", accuracy: measure, gradient: "Gradient norm" }[title], 'font-weight="bold"'),
    ...ticks,
    ...bands,
    ...lines,
    ...legend,
    text((LEFT + WIDTH - RIGHT) / 2, top + HEIGHT - 6, axis === "time" ? "seconds" : axis, 'text-anchor="middle"'),
  ].join("\n");
}

/** The charts as they are shown, on white. */
export function svgOf(series: Record<What, readonly Series[]>, drawn: Drawn): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${3 * HEIGHT}" font-family="system-ui, sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
${chart("loss", series.loss, drawn, 0)}
${chart("accuracy", series.accuracy, drawn, HEIGHT)}
${chart("gradient", series.gradient, drawn, 2 * HEIGHT)}
</svg>
`;
}
