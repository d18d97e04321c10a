/** Drawings as MNIST has them: the ink in a box of 20 × 20, the box placed so that the ink's centre of mass is in the middle of 28 × 28. */

/** A picture of ink, 0 … 1. */
export interface Ink {
  width: number;
  height: number;
  values: Float32Array;
}

const FAINT = 0.05;

/** The smallest rectangle that holds the ink; undefined where there is none. */
function bounds({ width, height, values }: Ink): { left: number; top: number; right: number; bottom: number } | undefined {
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      if ((values[y * width + x] ?? 0) < FAINT) continue;
      left = Math.min(left, x);
      right = Math.max(right, x + 1);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y + 1);
    }
  }
  return right > left ? { left, top, right, bottom } : undefined;
}

/** The mean of a rectangle with fractional sides. */
export function meanOf({ width, height, values }: Ink, left: number, top: number, right: number, bottom: number): number {
  let [sum, area] = [0, 0];
  for (let y = Math.max(Math.floor(top), 0); y < Math.min(Math.ceil(bottom), height); y += 1) {
    const tall = Math.min(y + 1, bottom) - Math.max(y, top);
    for (let x = Math.max(Math.floor(left), 0); x < Math.min(Math.ceil(right), width); x += 1) {
      const part = tall * (Math.min(x + 1, right) - Math.max(x, left));
      sum += part * (values[y * width + x] ?? 0);
      area += part;
    }
  }
  return area === 0 ? 0 : sum / area;
}

/** The drawing as the network gets it, `size` × `size`; undefined for an empty one. */
export function centre(ink: Ink, size = 28): Float32Array | undefined {
  const found = bounds(ink);
  if (found === undefined) return undefined;
  const { left, top, right, bottom } = found;
  const box = Math.round((size * 20) / 28);
  const scale = Math.max(right - left, bottom - top) / box;
  const [across, down] = [Math.max(Math.round((right - left) / scale), 1), Math.max(Math.round((bottom - top) / scale), 1)];
  const small = new Float32Array(across * down);
  let [mass, momentX, momentY] = [0, 0, 0];
  for (let y = 0; y < down; y += 1) {
    for (let x = 0; x < across; x += 1) {
      const value = meanOf(ink, left + x * scale, top + y * scale, left + (x + 1) * scale, top + (y + 1) * scale);
      small[y * across + x] = value;
      mass += value;
      momentX += value * (x + 0.5);
      momentY += value * (y + 0.5);
    }
  }
  const place = (moment: number, length: number) => Math.min(Math.max(Math.round(size / 2 - moment / mass), 0), size - length);
  const [offsetX, offsetY] = [place(momentX, across), place(momentY, down)];
  const made = new Float32Array(size * size);
  for (let y = 0; y < down; y += 1) made.set(small.subarray(y * across, (y + 1) * across), (y + offsetY) * size + offsetX);
  return made;
}
