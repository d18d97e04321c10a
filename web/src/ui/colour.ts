/** The colours of numbers. */

/** How a value in 0 … 1 (or −1 … 1 for `signed`) becomes a colour. */
export type Palette = "ink" | "grey" | "heat" | "signed";

type Colour = readonly [number, number, number];

const mix = (a: Colour, b: Colour, part: number): Colour => [
  a[0] + (b[0] - a[0]) * part,
  a[1] + (b[1] - a[1]) * part,
  a[2] + (b[2] - a[2]) * part,
];
const COLOURS = {
  light: { paper: [255, 255, 255], ink: [42, 35, 32], warm: [184, 66, 15], cold: [31, 111, 139], middle: [247, 243, 238] },
  dark: { paper: [20, 16, 14], ink: [242, 234, 227], warm: [255, 154, 77], cold: [95, 186, 216], middle: [43, 37, 33] },
} satisfies Record<string, Record<string, Colour>>;

/** The colour of a value. */
export function colourOf(value: number, palette: Palette, theme: "light" | "dark"): Colour {
  const { paper, ink, warm, cold, middle } = COLOURS[theme];
  const part = Math.min(Math.max(value, -1), 1);
  switch (palette) {
    case "ink":
      return mix(paper, ink, Math.max(part, 0));
    case "grey":
      return mix([0, 0, 0], [255, 255, 255], Math.max(part, 0));
    case "heat":
      return mix(middle, warm, Math.max(part, 0));
    case "signed":
      return part < 0 ? mix(middle, cold, -part) : mix(middle, warm, part);
  }
}
