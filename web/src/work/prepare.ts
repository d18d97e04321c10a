/**
 * How a network's input is made of what people have, and its output is read: the same when it is trained and when it is tried.
 * Training fits it, the model's file carries it, and the pages that try a model apply it.
 */

/** A column of a table as the network takes it: with mean 0 and deviation 1. */
export interface TableColumn {
  name: string;
  mean: number;
  deviation: number;
}

/**
 * `ink`: light ink on dark paper, centred by its mass, as MNIST has it. `picture`: stretched to the size, grey or red, green and
 * blue in 0 … 1. `table`: columns of numbers; `fill` puts the mean where a cell is missing.
 */
export type Preparation =
  | { kind: "ink" }
  | { kind: "picture" }
  | { kind: "table"; columns: TableColumn[]; fill: boolean; decimalComma: boolean };

/** A number that is predicted: the network gives it with mean 0 and deviation 1. */
export interface NumberTarget {
  name: string;
  mean: number;
  deviation: number;
}

/** The mean and the deviation of numbers; those that are missing (NaN) do not count. A constant has deviation 1. */
export function spread(numbers: Iterable<number>): { mean: number; deviation: number } {
  let [count, mean, squares] = [0, 0, 0];
  for (const value of numbers) {
    if (Number.isNaN(value)) continue;
    count += 1;
    const step = value - mean;
    mean += step / count;
    squares += step * (value - mean);
  }
  const deviation = Math.sqrt(squares / Math.max(count, 1));
  return { mean, deviation: deviation > 0 ? deviation : 1 };
}

/** A value as the network takes it; one that is missing (NaN) becomes the mean. */
export const prepared = (value: number, { mean, deviation }: { mean: number; deviation: number }) =>
  Number.isNaN(value) ? 0 : (value - mean) / deviation;

/** What the network gives, in the target's own units. */
export const restored = (output: number, { mean, deviation }: NumberTarget) => output * deviation + mean;

/** Numbers as tables have them. */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const MISSING = /^(|na|n\/a|nan|null|none|\?)$/i;

/** Is this cell left empty, or does it say that it is? */
export const isMissing = (cell: string) => MISSING.test(cell.trim());

/** What is wrong with a cell where a number is wanted. */
export function faultOf(cell: string, decimalComma = false): string | undefined {
  const text = cell.trim();
  if (text === "") return "is empty";
  if (isMissing(text)) return `is missing: “${text}”`;
  const value = numberOf(text, decimalComma);
  if (Number.isNaN(value)) return `is not a number: “${text}”`;
  return Number.isFinite(Math.fround(value)) ? undefined : `is too large: ${text}`;
}

/** The number that a cell says; NaN if it says none. */
export function numberOf(cell: string, decimalComma = false): number {
  const trimmed = cell.trim();
  const text = decimalComma && /^[^.]*,[^.,]*$/.test(trimmed) ? trimmed.replace(",", ".") : trimmed;
  return NUMBER.test(text) ? Number(text) : Number.NaN;
}

/** A row that was typed, as the network takes it. An error names the first field that cannot be used. */
export function preparedRow(cells: readonly string[], preparation: Extract<Preparation, { kind: "table" }>): Float32Array {
  const { columns, fill, decimalComma } = preparation;
  return Float32Array.from(columns, (column, place) => {
    const cell = cells[place] ?? "";
    if (fill && isMissing(cell)) return 0;
    const fault = faultOf(cell, decimalComma);
    if (fault !== undefined) throw new Error(`“${column.name}” ${fault}`);
    return prepared(numberOf(cell, decimalComma), column);
  });
}

/** Puts a picture of red, green, blue and opacity pixel by pixel into `into`, channel by channel; one channel is grey. */
export function toPlanes(rgba: Uint8ClampedArray, channels: 1 | 3, into: Uint8Array): void {
  const area = rgba.length / 4;
  for (let place = 0; place < area; place += 1) {
    const [red = 0, green = 0, blue = 0] = rgba.subarray(place * 4, place * 4 + 3);
    if (channels === 1) into[place] = Math.round(0.299 * red + 0.587 * green + 0.114 * blue);
    else for (const [channel, value] of [red, green, blue].entries()) into[channel * area + place] = value;
  }
}

/** Reads pictures of any size as bytes of `height` × `width`, channel by channel: stretched, as training had them. */
export function pictureReader(height: number, width: number, channels: 1 | 3): (picture: ImageBitmap, into: Uint8Array) => void {
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  if (context === null) throw new Error("this browser has no canvas to read pictures with");
  context.imageSmoothingQuality = "high";
  return (picture, into) => {
    // What is transparent is paper.
    context.fillStyle = "white";
    context.fillRect(0, 0, width, height);
    context.drawImage(picture, 0, 0, width, height);
    toPlanes(context.getImageData(0, 0, width, height).data, channels, into);
  };
}
