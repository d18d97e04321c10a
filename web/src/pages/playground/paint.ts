/** The Playground's colours: classes, mixtures of them, and the outputs of neurons. */

import { colourOf } from "../../ui/index.js";
import { SIDE } from "./messages.js";

type Colour = readonly [number, number, number];
export type Theme = "light" | "dark";

/** The classes' colours, those of the curves. */
const CLASSES: Record<Theme, readonly Colour[]> = {
  light: [
    [184, 66, 15],
    [31, 111, 139],
    [106, 141, 31],
    [123, 79, 163],
  ],
  dark: [
    [255, 154, 77],
    [95, 186, 216],
    [169, 207, 92],
    [191, 151, 230],
  ],
};
const PAPER: Record<Theme, Colour> = { light: [255, 255, 255], dark: [34, 29, 26] };

/** A class's colour, as style sheets write it. */
export function classColour(label: number, theme: Theme): string {
  return `rgb(${(CLASSES[theme][label] ?? [128, 128, 128]).join(" ")})`;
}

/** The plane coloured by the most likely class, the stronger the surer the network is. */
export function paintPlane(target: ImageData, probabilities: Float32Array, theme: Theme): void {
  const classes = probabilities.length / (SIDE * SIDE);
  const [colours, paper] = [CLASSES[theme], PAPER[theme]];
  const even = 1 / classes;
  for (let cell = 0; cell < SIDE * SIDE; cell += 1) {
    let [red, green, blue, most] = [0, 0, 0, 0];
    for (let label = 0; label < classes; label += 1) {
      const part = probabilities[cell * classes + label] ?? 0;
      const [r, g, b] = colours[label] ?? paper;
      red += part * r;
      green += part * g;
      blue += part * b;
      most = Math.max(most, part);
    }
    const strength = 0.12 + 0.5 * ((most - even) / (1 - even));
    const at = 4 * cell;
    target.data[at] = paper[0] + (red - paper[0]) * strength;
    target.data[at + 1] = paper[1] + (green - paper[1]) * strength;
    target.data[at + 2] = paper[2] + (blue - paper[2]) * strength;
    target.data[at + 3] = 255;
  }
}

/** So many shades lie on either side of zero. */
const SHADES = 127;
const palettes = new Map<Theme, Uint8ClampedArray>();

/** The colours from −1 to 1, red, green and blue one after the other. */
function shades(theme: Theme): Uint8ClampedArray {
  const made = palettes.get(theme) ?? new Uint8ClampedArray(3 * (2 * SHADES + 1));
  if (!palettes.has(theme)) {
    for (let shade = 0; shade <= 2 * SHADES; shade += 1) made.set(colourOf(shade / SHADES - 1, "signed", theme), 3 * shade);
    palettes.set(theme, made);
  }
  return made;
}

/** One column of a table of numbers (a neuron's outputs, a feature) as a picture, by its own largest value. */
export function paintColumn(target: ImageData, table: Float32Array, column: number, theme: Theme): void {
  const width = table.length / (SIDE * SIDE);
  const palette = shades(theme);
  let largest = 1e-6;
  for (let at = column; at < table.length; at += width) largest = Math.max(largest, Math.abs(table[at] ?? 0));
  for (let cell = 0; cell < SIDE * SIDE; cell += 1) {
    const shade = 3 * Math.round(SHADES * (1 + (table[cell * width + column] ?? 0) / largest));
    const at = 4 * cell;
    target.data[at] = palette[shade] ?? 0;
    target.data[at + 1] = palette[shade + 1] ?? 0;
    target.data[at + 2] = palette[shade + 2] ?? 0;
    target.data[at + 3] = 255;
  }
}

const scratch = document.createElement("canvas");
scratch.width = SIDE;
scratch.height = SIDE;
const drawing = scratch.getContext("2d");
const pixels = drawing?.createImageData(SIDE, SIDE);

/** Draws a grid's picture into a part of a canvas. */
export function drawGrid(
  context: CanvasRenderingContext2D,
  paint: (target: ImageData) => void,
  [x, y, size]: readonly [number, number, number],
): void {
  if (drawing === null || pixels === undefined) return;
  paint(pixels);
  drawing.putImageData(pixels, 0, 0);
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = "high";
  context.drawImage(scratch, x, y, size, size);
}

/** A class's mark: it has a shape of its own, for those who do not tell the colours apart. */
export function markPath(label: number, x: number, y: number, radius: number): Path2D {
  const path = new Path2D();
  switch (label) {
    case 0:
      path.arc(x, y, radius, 0, 2 * Math.PI);
      break;
    case 1:
      path.rect(x - 0.85 * radius, y - 0.85 * radius, 1.7 * radius, 1.7 * radius);
      break;
    case 2:
      path.moveTo(x, y - 1.15 * radius);
      path.lineTo(x + 1.1 * radius, y + 0.8 * radius);
      path.lineTo(x - 1.1 * radius, y + 0.8 * radius);
      path.closePath();
      break;
    default:
      path.moveTo(x, y - 1.2 * radius);
      path.lineTo(x + 1.2 * radius, y);
      path.lineTo(x, y + 1.2 * radius);
      path.lineTo(x - 1.2 * radius, y);
      path.closePath();
  }
  return path;
}

/** Fits a canvas's pixels to the screen's, and gives its context in the page's units. */
export function fitted(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const density = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const context = canvas.getContext("2d");
  context?.setTransform(density, 0, 0, density, 0, 0);
  return context;
}
