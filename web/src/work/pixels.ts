/** Single items of a part, to be shown. */

import type { ItemShape } from "./layers.js";
import type { Part } from "./messages.js";

/** One item's values in 0 … 1. */
export function pixelsIn(part: Part, shape: ItemShape, index: number): Float32Array {
  const size = shape.reduce((product, each) => product * each, 1);
  const values = Float32Array.from(part.items.subarray(index * size, (index + 1) * size));
  return part.items instanceof Uint8Array ? values.map((value) => value / 255) : values;
}
