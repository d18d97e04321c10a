/** Live curves: uPlot in the theme's colours, drawn at most once per frame. */

import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useScale } from "../app/size.js";
import { useTheme } from "../app/theme.js";

/** A curve. */
export interface Series {
  name: string;
  /** A colour of the theme, 1 to 6. */
  colour: number;
  dashed?: boolean;
  /** Behind the others, hardly seen. */
  faint?: boolean;
  /** The edge of a band: nothing is drawn of it but the band, from each high edge to the low one after it. */
  edge?: "low" | "high";
  /** Shows points where there are few of them. */
  points?: boolean;
  x: readonly number[];
  y: readonly (number | null)[];
}

/** A part of the horizontal axis. */
export type View = readonly [number, number];

/** Something that happened at a place of the horizontal axis. */
export interface Mark {
  x: number;
  text: string;
  colour: number;
}

interface LineChartProps {
  /** What a screen reader says of it. */
  label: string;
  series: readonly Series[];
  xName?: string;
  /** How values of the vertical axis are written. */
  write?: (value: number) => string;
  /** How values of the horizontal axis are written. */
  writeX?: (value: number) => string;
  /** The vertical range; undefined ends follow the data. */
  range?: readonly [number | undefined, number | undefined];
  height?: number;
  logarithmic?: boolean;
  /** The part that is shown; the whole without one. It stays when data arrive. Without `onView` the chart has its own. */
  view?: View | undefined;
  /** The reader has chosen another part by dragging, or the whole by a double click. */
  onView?: (view: View | undefined) => void;
  marks?: readonly Mark[];
  /** Charts with the same name show the same place under the pointer. */
  sync?: string;
}

const cssColour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function aligned(series: readonly Series[]): uPlot.AlignedData {
  const tables = series.map(({ x, y }) => [x, y] as unknown as uPlot.AlignedData);
  const [first] = tables;
  if (first === undefined) return [[]];
  return tables.length === 1 ? first : uPlot.join(tables);
}

/** The dashed lines of what happened, with their words beside them. */
function drawMarks(chart: uPlot, marks: readonly Mark[], scale: number): void {
  const { ctx, bbox } = chart;
  const pixel = window.devicePixelRatio * scale;
  ctx.save();
  ctx.font = `${11 * pixel}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.setLineDash([2 * pixel, 3 * pixel]);
  for (const { x, text, colour } of marks) {
    const place = chart.valToPos(x, "x", true);
    if (place < bbox.left || place > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ctx.fillStyle = cssColour(`--series-${colour}`);
    ctx.beginPath();
    ctx.moveTo(place, bbox.top);
    ctx.lineTo(place, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(text, place + 3 * pixel, bbox.top + 11 * pixel);
  }
  ctx.restore();
}

/** The bands between edges. The first series of the chart is the axis; the theme's colours are six digits, which two more make thin. */
function bandsOf(series: readonly Series[]): uPlot.Band[] {
  return series.flatMap(({ edge, colour }, place) =>
    edge === "high" ? [{ series: [place + 1, place + 2], fill: `${cssColour(`--series-${colour}`)}33` }] : [],
  );
}

/** Gives the chart its data and its part of the axis, which new data do not change. */
function show(chart: uPlot, series: readonly Series[], view: View | undefined): void {
  const data = aligned(series);
  const [x] = data;
  const [min, max] = view ?? [x[0] ?? 0, x.at(-1) ?? 1];
  chart.batch(() => {
    chart.setData(data, false);
    // One point alone has no range.
    chart.setScale("x", { min, max: max > min ? max : min + 1 });
  });
  // What a frame costs grows with it: tests watch it.
  chart.root.dataset["points"] = String(series.reduce((sum, each) => sum + each.x.length, 0));
}

export function LineChart(props: LineChartProps) {
  const { label, series, xName = "step", write, writeX, range, logarithmic = false, marks, sync } = props;
  const scale = useScale();
  const height = Math.round((props.height ?? 220) * scale);
  const [ownView, setOwnView] = useState<View>();
  const { view, onView } =
    props.onView === undefined ? { view: ownView, onView: setOwnView } : { view: props.view, onView: props.onView };
  const frame = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const latest = useRef({ series, view, onView, marks });
  latest.current = { series, view, onView, marks };
  const theme = useTheme();
  const shape = JSON.stringify([
    series.map(({ name, colour, dashed, points, faint, edge }) => [name, colour, dashed, points, faint, edge]),
    range,
    logarithmic,
    sync,
  ]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` says when lines or ranges change; a new `write` alone draws nothing anew.
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const [ink, line] = [cssColour("--soft"), cssColour("--line")];
    const axis: uPlot.Axis = {
      stroke: ink,
      grid: { stroke: line, width: 1 },
      ticks: { stroke: line, width: 1 },
      font: `${12 * scale}px system-ui, sans-serif`,
    };
    const [low, high] = range ?? [undefined, undefined];
    const xWritten = (value: number) => (writeX ?? String)(value);
    const made = new uPlot(
      {
        width: Math.max(element.clientWidth, 120),
        height,
        scales: {
          x: { time: false },
          y: logarithmic ? { distr: 3 } : { range: (_, min, max) => bounds(min, max, low, high) },
        },
        cursor: {
          // What is dragged over becomes the view, and nothing else does.
          drag: { x: true, y: false, setScale: false },
          bind: {
            dblclick: () => () => {
              latest.current.onView(undefined);
              return null;
            },
          },
          ...(sync !== undefined && { sync: { key: sync, setSeries: false } }),
        },
        hooks: {
          draw: [(drawn) => drawMarks(drawn, latest.current.marks ?? [], scale)],
          setSelect: [
            (selected) => {
              const { left, width } = selected.select;
              if (width === 0) return;
              latest.current.onView([selected.posToVal(left, "x"), selected.posToVal(left + width, "x")]);
              selected.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
        },
        series: [
          { label: xName, value: (_, value: number | null) => (value === null ? "–" : xWritten(value)) },
          ...latest.current.series.map(
            ({ name, colour, dashed, points, faint, edge }): uPlot.Series => ({
              label: name,
              ...(edge !== undefined && { class: "chart-edge" }),
              stroke: edge === undefined ? cssColour(`--series-${colour}`) : "transparent",
              width: scale * (faint === true ? 1 : 2),
              alpha: faint === true ? 0.3 : 1,
              spanGaps: true,
              points: { show: points ?? false, size: 5 * scale },
              ...(dashed === true && { dash: [6, 4] }),
              value: (_, value: number | null) => (value === null ? "–" : (write ?? defaultWrite)(value)),
            }),
          ),
        ],
        bands: bandsOf(latest.current.series),
        axes: [
          { ...axis, size: 50 * scale, ...(writeX !== undefined && { values: (_, ticks) => ticks.map(writeX) }) },
          { ...axis, size: 60 * scale, ...(write !== undefined && { values: (_, ticks) => ticks.map(write) }) },
        ],
      },
      aligned(latest.current.series),
      element,
    );
    chart.current = made;
    show(made, latest.current.series, latest.current.view);
    const resized = new ResizeObserver(() => made.setSize({ width: Math.max(element.clientWidth, 120), height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
      chart.current = undefined;
    };
  }, [theme, shape, height, scale, xName]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the frame draws whatever series is the latest by then.
  useEffect(() => {
    const waiting = requestAnimationFrame(
      () => chart.current !== undefined && show(chart.current, latest.current.series, latest.current.view),
    );
    return () => cancelAnimationFrame(waiting);
  }, [series, view, marks]);

  return <div className="chart" ref={frame} role="img" aria-label={label} />;
}

const defaultWrite = (value: number) => value.toPrecision(4);

/** The data's range with a little air, within what is fixed. */
function bounds(min: number | null, max: number | null, low?: number, high?: number): [number, number] {
  const [from, to] = [low ?? min ?? 0, high ?? max ?? 1];
  const air = (to - from || 1) * 0.04;
  return [low ?? from - air, high ?? to + air];
}
