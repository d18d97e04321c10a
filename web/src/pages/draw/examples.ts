/** Digits as strokes in a square of 0 … 1: for those who cannot draw here, and for a first look. */

export type Stroke = readonly (readonly [number, number])[];

/** Points of an ellipse from one angle to another, in turns; 0 is at the right, and turns go clockwise. */
function arc(x: number, y: number, rx: number, ry: number, from: number, to: number): [number, number][] {
  const steps = 24;
  return Array.from({ length: steps + 1 }, (_, step) => {
    const angle = 2 * Math.PI * (from + ((to - from) * step) / steps);
    return [x + rx * Math.cos(angle), y + ry * Math.sin(angle)];
  });
}

// biome-ignore format: a stroke is read as a line of points.
export const EXAMPLES: readonly (readonly Stroke[])[] = [
  [arc(0.5, 0.5, 0.2, 0.3, -0.25, 0.75)],
  [[[0.46, 0.24], [0.54, 0.2], [0.52, 0.5], [0.5, 0.8]]],
  [[...arc(0.48, 0.36, 0.18, 0.16, -0.5, 0.05), [0.58, 0.52], [0.42, 0.68], [0.3, 0.78], [0.48, 0.76], [0.72, 0.78]]],
  [[...arc(0.46, 0.34, 0.18, 0.15, -0.45, 0.2), ...arc(0.46, 0.64, 0.2, 0.17, -0.2, 0.45)]],
  [[[0.36, 0.2], [0.3, 0.4], [0.28, 0.52], [0.46, 0.53], [0.7, 0.5]], [[0.64, 0.22], [0.61, 0.5], [0.58, 0.82]]],
  [[[0.68, 0.2], [0.4, 0.21], [0.37, 0.44], ...arc(0.46, 0.62, 0.2, 0.18, -0.3, 0.4)]],
  [[[0.62, 0.18], [0.46, 0.32], [0.36, 0.5], ...arc(0.49, 0.65, 0.15, 0.15, -0.5, 0.5)]],
  [[[0.28, 0.26], [0.5, 0.25], [0.7, 0.22], [0.6, 0.42], [0.5, 0.62], [0.44, 0.82]]],
  [[...arc(0.5, 0.34, 0.14, 0.14, 0.25, -0.75), ...arc(0.5, 0.65, 0.17, 0.17, -0.25, 0.75)]],
  [[...arc(0.49, 0.37, 0.15, 0.15, 0, -1), [0.63, 0.5], [0.6, 0.66], [0.54, 0.84]]],
];
