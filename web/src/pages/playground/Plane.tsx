/** The plane: the points, and what the network makes of every place; clicks add points of one's own. */

import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { useTheme } from "../../app/theme.js";
import { useWidth } from "../../ui/index.js";
import { EXTENT, snap, type Point } from "./config.js";
import type { Split } from "./datasets.js";
import type { Snapshot } from "./messages.js";
import { classColour, drawGrid, fitted, markPath, paintColumn, paintPlane } from "./paint.js";

/** A hidden neuron that is looked at. */
export interface Neuron {
  layer: number;
  index: number;
}

interface PlaneProps {
  points: Split;
  snapshot: Snapshot | undefined;
  neuron: Neuron | undefined;
  showTest: boolean;
  /** Adds a point; without it the plane cannot be clicked. */
  onAdd: ((place: Omit<Point, "label">) => void) | undefined;
}

const ARROWS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-0.1, 0],
  ArrowRight: [0.1, 0],
  ArrowUp: [0, 0.1],
  ArrowDown: [0, -0.1],
};

export function Plane({ points, snapshot, neuron, showTest, onAdd }: PlaneProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const frame = useRef<HTMLDivElement>(null);
  const size = Math.max(200, useWidth(frame, 400));
  const [cursor, setCursor] = useState<{ x: number; y: number }>();

  useEffect(() => {
    const context = canvas.current === null ? null : fitted(canvas.current, size, size);
    if (context === null) return;
    context.clearRect(0, 0, size, size);
    const layer = neuron === undefined ? undefined : snapshot?.layers[neuron.layer];
    if (layer !== undefined && neuron !== undefined) {
      drawGrid(context, (target) => paintColumn(target, layer, neuron.index, theme), [0, 0, size]);
    } else if (snapshot !== undefined) {
      drawGrid(context, (target) => paintPlane(target, snapshot.probabilities, theme), [0, 0, size]);
    }
    const place = (value: number) => ((value + EXTENT) / (2 * EXTENT)) * size;
    const draw = ({ x, y, label }: Point, test: boolean) => {
      const path = markPath(label, place(x), size - place(y), test ? 3.2 : 3.8);
      context.fillStyle = test ? (theme === "dark" ? "#221d1a" : "#ffffff") : classColour(label, theme);
      context.strokeStyle = test ? classColour(label, theme) : theme === "dark" ? "#191513" : "#ffffff";
      context.lineWidth = test ? 1.6 : 1;
      context.fill(path);
      context.stroke(path);
    };
    if (showTest) for (const point of points.test) draw(point, true);
    for (const point of points.train) draw(point, false);
    if (cursor !== undefined && onAdd !== undefined) {
      const [x, y] = [place(cursor.x), size - place(cursor.y)];
      context.strokeStyle = theme === "dark" ? "#ffffff" : "#000000";
      context.lineWidth = 1.5;
      context.strokeRect(x - 6, y - 6, 12, 12);
    }
  }, [points, snapshot, neuron, showTest, theme, size, cursor, onAdd]);

  const click = (event: PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = (position: number, length: number) => snap(((2 * position) / length - 1) * EXTENT);
    setCursor(undefined);
    onAdd?.({ x: at(event.clientX - box.left, box.width), y: -at(event.clientY - box.top, box.height) });
  };
  const type = (event: KeyboardEvent<HTMLCanvasElement>) => {
    const here = cursor ?? { x: 0, y: 0 };
    const arrow = ARROWS[event.key];
    if (arrow !== undefined) setCursor({ x: snap(here.x + arrow[0]), y: snap(here.y + arrow[1]) });
    else if (event.key === "Enter" || event.key === " ") onAdd?.({ x: snap(here.x), y: snap(here.y) });
    else return;
    event.preventDefault();
  };

  const label =
    snapshot === undefined
      ? "The plane with the points of the set"
      : `The plane at step ${snapshot.step}: the points, coloured by what the network says of every place`;
  const editable =
    onAdd === undefined
      ? { role: "img", "aria-label": label }
      : {
          role: "application",
          "aria-label": `${label}. Click to add a point, or move the frame with the arrow keys and press Enter.`,
          tabIndex: 0,
          onPointerDown: click,
          onKeyDown: type,
        };
  return (
    <div className="plane" ref={frame}>
      <canvas
        ref={canvas}
        className={onAdd === undefined ? undefined : "clickable"}
        style={{ width: size, height: size }}
        {...editable}
      />
    </div>
  );
}
