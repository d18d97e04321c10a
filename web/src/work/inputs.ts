/** Pictures and drawings as a model takes them: prepared as its training data were. */

import type { ModelAbout } from "./about.js";
import { centre, meanOf, type Ink } from "./centre.js";
import { inkOf } from "./paste.js";
import { pictureReader } from "./prepare.js";

/** The side of the sheet that pictures are laid on before their ink is found. */
const SHEET = 280;

/** Height, width and channels of what the model reads. */
export function sizeOf({ shape }: Pick<ModelAbout, "shape">): { channels: 1 | 3; height: number; width: number } {
  const [channels = 1, height = 28, width = 28] = shape;
  return { channels: channels === 3 ? 3 : 1, height, width };
}

/** The same picture in every channel. */
function repeated(pixels: Float32Array, channels: number): Float32Array {
  return channels === 1
    ? pixels
    : Float32Array.from({ length: channels * pixels.length }, (_, place) => pixels[place % pixels.length] ?? 0);
}

/** A drawing; nothing for an empty sheet. Where pictures were not ink, it is a picture of dark ink on light paper, or swapped. */
export function inputOfInk(
  ink: Ink,
  about: Pick<ModelAbout, "shape" | "preparation">,
  swapped = false,
): Float32Array | undefined {
  const { channels, height, width } = sizeOf(about);
  if (about.preparation.kind === "ink") {
    const pixels = centre(ink, height);
    return pixels === undefined ? undefined : repeated(pixels, channels);
  }
  if (!ink.values.some((value) => value > 0)) return undefined;
  const [across, down] = [ink.width / width, ink.height / height];
  const pixels = Float32Array.from({ length: height * width }, (_, place) => {
    const [x, y] = [place % width, Math.floor(place / width)];
    const inked = meanOf(ink, x * across, y * down, (x + 1) * across, (y + 1) * down);
    return swapped ? inked : 1 - inked;
  });
  return repeated(pixels, channels);
}

/** A picture from a file or a camera. */
export function inputOfPicture(picture: ImageBitmap, about: Pick<ModelAbout, "shape" | "preparation">): Float32Array | undefined {
  const { channels, height, width } = sizeOf(about);
  if (about.preparation.kind === "ink") return inputOfInk({ width: SHEET, height: SHEET, values: inkOf(picture, SHEET) }, about);
  const bytes = new Uint8Array(channels * height * width);
  pictureReader(height, width, channels)(picture, bytes);
  return Float32Array.from(bytes, (value) => value / 255);
}
