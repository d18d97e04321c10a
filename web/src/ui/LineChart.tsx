/** Live curves: uPlot in the theme's colours, drawn at most once per frame. */

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useTheme } from "../app/theme.js";

/** A curve. */
export interface Series {
  name: string;
  /** A colour of the theme, 1 to 6. */
  colour: number;
  dashed?: boolean;
  /** Shows points where there are few of them. */
  points?: boolean;
  x: readonly number[];
  y: readonly (number | null)[];
}

interface LineChartProps {
  /** What a screen reader says of it. */
  label: string;
  series: readonly Series[];
  xName?: string;
  /** How values of the vertical axis are written. */
  write?: (value: number) => string;
  /** The vertical range; undefined ends follow the data. */
  range?: readonly [number | undefined, number | undefined];
  height?: number;
  logarithmic?: boolean;
}

const cssColour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function aligned(series: readonly Series[]): uPlot.AlignedData {
  const tables = series.map(({ x, y }) => [x, y] as unknown as uPlot.AlignedData);
  const [first] = tables;
  if (first === undefined) return [[]];
  return tables.length === 1 ? first : uPlot.join(tables);
}

export function LineChart({ label, series, xName = "step", write, range, height = 220, logarithmic = false }: LineChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const latest = useRef(series);
  latest.current = series;
  const theme = useTheme();
  const shape = JSON.stringify([
    series.map(({ name, colour, dashed, points }) => [name, colour, dashed, points]),
    range,
    logarithmic,
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
      font: "12px system-ui, sans-serif",
    };
    const [low, high] = range ?? [undefined, undefined];
    const made = new uPlot(
      {
        width: Math.max(element.clientWidth, 120),
        height,
        scales: {
          x: { time: false },
          y: logarithmic ? { distr: 3 } : { range: (_, min, max) => bounds(min, max, low, high) },
        },
        cursor: { drag: { x: true, y: false } },
        series: [
          { label: xName, value: (_, value: number | null) => (value === null ? "–" : String(value)) },
          ...latest.current.map(
            ({ name, colour, dashed, points }): uPlot.Series => ({
              label: name,
              stroke: cssColour(`--series-${colour}`),
              width: 2,
              spanGaps: true,
              points: { show: points ?? false, size: 5 },
              ...(dashed === true && { dash: [6, 4] }),
              value: (_, value: number | null) => (value === null ? "–" : (write ?? defaultWrite)(value)),
            }),
          ),
        ],
        axes: [axis, { ...axis, size: 60, ...(write !== undefined && { values: (_, ticks) => ticks.map(write) }) }],
      },
      aligned(latest.current),
      element,
    );
    chart.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: Math.max(element.clientWidth, 120), height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
      chart.current = undefined;
    };
  }, [theme, shape, height, xName]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the frame draws whatever series is the latest by then.
  useEffect(() => {
    const waiting = requestAnimationFrame(() => chart.current?.setData(aligned(latest.current)));
    return () => cancelAnimationFrame(waiting);
  }, [series]);

  return <div className="chart" ref={frame} role="img" aria-label={label} />;
}

const defaultWrite = (value: number) => value.toPrecision(4);

/** The data's range with a little air, within what is fixed. */
function bounds(min: number | null, max: number | null, low?: number, high?: number): [number, number] {
  const [from, to] = [low ?? min ?? 0, high ?? max ?? 1];
  const air = (to - from || 1) * 0.04;
  return [low ?? from - air, high ?? to + air];
}
