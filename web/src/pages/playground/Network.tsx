/** The network: what every neuron makes of the plane, the weights between them, and how many there are. */

import { useEffect, useMemo, useRef, type PointerEvent } from "react";
import { useTheme } from "../../app/theme.js";
import { Button, colourOf, useWidth, write } from "../../ui/index.js";
import { MOST_LAYERS, MOST_NEURONS, type Config, type Feature } from "./config.js";
import { gridPoints, inputsOf } from "./datasets.js";
import { SIDE, type Snapshot } from "./messages.js";
import { drawGrid, fitted, paintColumn, type Theme } from "./paint.js";
import type { Neuron } from "./Plane.js";

interface NetworkProps {
  config: Config;
  classes: number;
  snapshot: Snapshot | undefined;
  onLayers: (layers: readonly number[]) => void;
  onLook: (neuron: Neuron | undefined) => void;
}

const TILE = 34;
const GAP = 8;
/** The width of a column: as much as the page has, within bounds. */
const COLUMN = { least: 84, most: 150 };
const NAMES: Record<Feature, string> = { x: "x", y: "y", x2: "x²", y2: "y²", xy: "xy", sinx: "sin x", siny: "sin y" };

/** Where things are drawn. */
class Layout {
  readonly column: number;
  readonly width: number;
  readonly height: number;

  constructor(
    readonly sizes: readonly number[],
    room: number,
  ) {
    this.column = Math.floor(Math.min(COLUMN.most, Math.max(COLUMN.least, room / sizes.length)));
    this.width = sizes.length * this.column;
    this.height = Math.max(...sizes) * (TILE + GAP) + GAP;
  }

  /** The left upper corner of a neuron's tile. */
  corner(column: number, index: number): [number, number] {
    const own = (this.sizes[column] ?? 1) * (TILE + GAP);
    return [column * this.column + (this.column - TILE) / 2, (this.height - own) / 2 + GAP / 2 + index * (TILE + GAP)];
  }

  /** The hidden neuron at a place. */
  at(x: number, y: number): Neuron | undefined {
    const column = Math.floor(x / this.column);
    for (let index = 0; index < (this.sizes[column] ?? 0); index += 1) {
      const [left, top] = this.corner(column, index);
      const inside = x >= left && x <= left + TILE && y >= top && y <= top + TILE;
      if (inside && column > 0 && column < this.sizes.length - 1) return { layer: column - 1, index };
    }
    return undefined;
  }
}

function drawLinks(context: CanvasRenderingContext2D, layout: Layout, weights: readonly Float32Array[], theme: Theme): void {
  for (const [layer, table] of weights.entries()) {
    const inputs = layout.sizes[layer] ?? 1;
    for (let place = 0; place < table.length; place += 1) {
      const weight = table[place] ?? 0;
      const [fromX, fromY] = layout.corner(layer, place % inputs);
      const [toX, toY] = layout.corner(layer + 1, Math.floor(place / inputs));
      const strength = Math.min(1, Math.abs(weight) / 2);
      const middle = (fromX + TILE + toX) / 2;
      context.strokeStyle = `rgb(${colourOf(Math.sign(weight), "signed", theme).join(" ")} / ${0.12 + 0.75 * strength})`;
      context.lineWidth = 0.6 + 3.4 * strength;
      context.beginPath();
      context.moveTo(fromX + TILE, fromY + TILE / 2);
      context.bezierCurveTo(middle, fromY + TILE / 2, middle, toY + TILE / 2, toX, toY + TILE / 2);
      context.stroke();
    }
  }
}

function drawTiles(context: CanvasRenderingContext2D, layout: Layout, tables: readonly Float32Array[], theme: Theme): void {
  for (const [column, table] of tables.entries()) {
    for (let index = 0; index < (layout.sizes[column] ?? 0); index += 1) {
      const [x, y] = layout.corner(column, index);
      context.save();
      context.beginPath();
      context.roundRect(x, y, TILE, TILE, 6);
      context.clip();
      drawGrid(context, (target) => paintColumn(target, table, index, theme), [x, y, TILE]);
      context.restore();
      context.strokeStyle = theme === "dark" ? "rgb(255 255 255 / 25%)" : "rgb(60 40 20 / 30%)";
      context.lineWidth = 1;
      context.beginPath();
      context.roundRect(x + 0.5, y + 0.5, TILE - 1, TILE - 1, 6);
      context.stroke();
    }
  }
}

/** Probabilities about their mean, so that a tile shows where its class is likelier. */
function centred(probabilities: Float32Array): Float32Array {
  const even = (SIDE * SIDE) / probabilities.length;
  return probabilities.map((part) => part - even);
}

export function Network({ config, classes, snapshot, onLayers, onLook }: NetworkProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const { features, layers } = config;
  const frame = useRef<HTMLDivElement>(null);
  const room = useWidth(frame, 600);
  const layout = useMemo(() => new Layout([features.length, ...layers, classes], room), [features, layers, classes, room]);
  const inputs = useMemo(() => inputsOf(gridPoints(SIDE), features), [features]);
  const fits = snapshot?.weights.every(
    (table, layer) => table.length === (layout.sizes[layer] ?? 0) * (layout.sizes[layer + 1] ?? 0),
  );
  const shown = fits === true ? snapshot : undefined;

  useEffect(() => {
    const context = canvas.current === null ? null : fitted(canvas.current, layout.width, layout.height);
    if (context === null) return;
    context.clearRect(0, 0, layout.width, layout.height);
    if (shown !== undefined) drawLinks(context, layout, shown.weights, theme);
    drawTiles(context, layout, shown === undefined ? [inputs] : [inputs, ...shown.layers, centred(shown.probabilities)], theme);
  }, [layout, inputs, shown, theme]);

  const look = (event: PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    onLook(layout.at(event.clientX - box.left, event.clientY - box.top));
  };
  const resized = (layer: number, neurons: number) => onLayers(layers.map((size, index) => (index === layer ? neurons : size)));

  return (
    <div className="network">
      <div className="buttons">
        <Button small disabled={layers.length >= MOST_LAYERS} onClick={() => onLayers([...layers, layers.at(-1) ?? 4])}>
          Add a layer
        </Button>
        <Button small disabled={layers.length === 0} onClick={() => onLayers(layers.slice(0, -1))}>
          Remove a layer
        </Button>
        <span className="panel-note">Warm is positive, cold is negative. Point at a neuron to see it large.</span>
      </div>
      <div className="network-frame" ref={frame} tabIndex={0} role="region" aria-label="The network">
        <div className="network-heads" style={{ gridTemplateColumns: `repeat(${layout.sizes.length}, ${layout.column}px)` }}>
          <span>{features.map((feature) => NAMES[feature]).join(", ")}</span>
          {layers.map((size, layer) => (
            <span key={layer} className="stepper">
              <button
                type="button"
                aria-label={`One neuron fewer in hidden layer ${layer + 1}`}
                disabled={size <= 1}
                onClick={() => resized(layer, size - 1)}
              >
                −
              </button>
              <span className="number" aria-label={`${write.counted(size, "neuron")} in hidden layer ${layer + 1}`} role="img">
                {size}
              </span>
              <button
                type="button"
                aria-label={`One neuron more in hidden layer ${layer + 1}`}
                disabled={size >= MOST_NEURONS}
                onClick={() => resized(layer, size + 1)}
              >
                +
              </button>
            </span>
          ))}
          <span>classes</span>
        </div>
        <canvas
          ref={canvas}
          style={{ width: layout.width, height: layout.height }}
          role="img"
          aria-label={`The network: ${layout.sizes.join(", ")} neurons a layer; every neuron shows its output over the plane`}
          onPointerMove={look}
          onPointerLeave={() => onLook(undefined)}
        />
      </div>
    </div>
  );
}
