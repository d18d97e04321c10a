/** The sheet one draws on, with mouse, finger or pen. */

import { useEffect, useImperativeHandle, useRef, type Ref } from "react";
import { useTheme } from "../../app/theme.js";
import type { Ink } from "../../work/centre.js";
import type { Stroke } from "./examples.js";
import { inkOf } from "../../work/paste.js";
import "./pad.css";

/** The sheet's pixels. */
const SHEET = 280;
const PEN = 22;

/** What a page can do with the sheet. */
export interface PadHandle {
  clear(): void;
  undo(): void;
  write(strokes: readonly Stroke[]): void;
  /** Puts a picture on it. */
  paste(picture: ImageBitmap): void;
}

interface Point {
  x: number;
  y: number;
  width: number;
}

interface Sheet {
  strokes: Point[][];
  picture: Float32Array | undefined;
}

interface Props {
  handle: Ref<PadHandle>;
  onInk: (ink: Ink) => void;
}

function trace(context: CanvasRenderingContext2D, points: readonly Point[]): void {
  context.lineCap = "round";
  context.lineJoin = "round";
  points.forEach(({ x, y, width }, index) => {
    const before = points[index - 1] ?? { x, y };
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(before.x, before.y);
    context.lineTo(x, y + (points.length === 1 ? 0.01 : 0));
    context.stroke();
  });
}

export function Pad({ handle, onInk }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const sheet = useRef<Sheet>({ strokes: [], picture: undefined });
  const drawing = useRef(false);
  const theme = useTheme();

  /** Draws the sheet in the theme's colours, and hands its ink on. */
  const draw = useRef((): void => undefined);
  draw.current = () => {
    const context = canvas.current?.getContext("2d", { willReadFrequently: true });
    if (context === null || context === undefined) return;
    const { strokes, picture } = sheet.current;
    context.clearRect(0, 0, SHEET, SHEET);
    context.strokeStyle = theme === "dark" ? "rgb(242 234 227)" : "rgb(42 35 32)";
    for (const stroke of strokes) trace(context, stroke);
    const image = context.getImageData(0, 0, SHEET, SHEET);
    const values = new Float32Array(SHEET * SHEET);
    const tone = theme === "dark" ? [242, 234, 227] : [42, 35, 32];
    for (let place = 0; place < values.length; place += 1) {
      const drawn = (image.data[place * 4 + 3] ?? 0) / 255;
      const pasted = picture?.[place] ?? 0;
      values[place] = Math.max(drawn, pasted);
      if (pasted > drawn) image.data.set([...tone, 255 * pasted], place * 4);
    }
    if (picture !== undefined) context.putImageData(image, 0, 0);
    onInk({ width: SHEET, height: SHEET, values });
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the sheet is drawn anew when the theme's colours change.
  useEffect(() => draw.current(), [theme]);

  useImperativeHandle(handle, () => ({
    clear: () => {
      sheet.current = { strokes: [], picture: undefined };
      draw.current();
    },
    undo: () => {
      const { strokes, picture } = sheet.current;
      sheet.current = strokes.length > 0 ? { strokes: strokes.slice(0, -1), picture } : { strokes, picture: undefined };
      draw.current();
    },
    write: (strokes) => {
      const points = strokes.map((stroke) => stroke.map(([x, y]) => ({ x: x * SHEET, y: y * SHEET, width: PEN })));
      sheet.current = { strokes: points, picture: undefined };
      draw.current();
    },
    paste: (picture) => {
      sheet.current = { strokes: [], picture: inkOf(picture, SHEET) };
      draw.current();
    },
  }));

  const pointOf = (event: { clientX: number; clientY: number; pressure: number; pointerType: string }): Point => {
    const box = canvas.current?.getBoundingClientRect();
    const scale = SHEET / (box?.width ?? SHEET);
    const width = event.pointerType === "pen" && event.pressure > 0 ? PEN * (0.6 + 0.8 * event.pressure) : PEN;
    return { x: (event.clientX - (box?.left ?? 0)) * scale, y: (event.clientY - (box?.top ?? 0)) * scale, width };
  };

  return (
    <canvas
      ref={canvas}
      className="pad"
      width={SHEET}
      height={SHEET}
      role="img"
      aria-label="A sheet to draw on with mouse, finger or pen. The buttons with digits write examples on it."
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        drawing.current = true;
        sheet.current.strokes.push([pointOf(event)]);
        draw.current();
      }}
      onPointerMove={(event) => {
        if (!drawing.current) return;
        const stroke = sheet.current.strokes.at(-1);
        const some = event.nativeEvent.getCoalescedEvents?.() ?? [];
        stroke?.push(...(some.length > 0 ? some : [event.nativeEvent]).map(pointOf));
        draw.current();
      }}
      onPointerUp={() => {
        drawing.current = false;
      }}
      onPointerCancel={() => {
        drawing.current = false;
      }}
    />
  );
}
