/** Pictures of numbers: digits, filters, heat maps. */

import { useEffect, useRef } from "react";
import { useTheme } from "../app/theme.js";
import { colourOf, type Palette } from "./colour.js";

interface PixelCanvasProps {
  label: string;
  width: number;
  height: number;
  /** Row by row: `height` × `width` values; three times as many are red, green and blue, plane by plane. */
  values: ArrayLike<number>;
  palette?: Palette;
  /** How large a pixel is on the page. */
  scale?: number;
}

export function PixelCanvas({ label, width, height, values, palette = "ink", scale = 2 }: PixelCanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined) return;
    const picture = context.createImageData(width, height);
    const area = width * height;
    const coloured = values.length >= 3 * area;
    for (let place = 0; place < area; place += 1) {
      const [red, green, blue] = coloured
        ? [255 * (values[place] ?? 0), 255 * (values[place + area] ?? 0), 255 * (values[place + 2 * area] ?? 0)]
        : colourOf(values[place] ?? 0, palette, theme);
      picture.data.set([red, green, blue, 255], place * 4);
    }
    context.putImageData(picture, 0, 0);
  }, [width, height, values, palette, theme]);
  return (
    <canvas
      ref={canvas}
      className="pixels"
      width={width}
      height={height}
      style={{ width: `${(width * scale) / 16}rem`, height: `${(height * scale) / 16}rem` }}
      role="img"
      aria-label={label}
    />
  );
}
