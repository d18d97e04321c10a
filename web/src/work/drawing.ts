/** A network as a drawing shows it: its layers from the input on, with what each gives, and how wide it is drawn. */

import { counted } from "../ui/write.js";
import { checkLayers, type ItemShape, type LayerKind, type LayerSpec, ruleOf, written } from "./layers.js";

/** How a layer is drawn. */
export type Kind = "input" | "weights" | "pooling" | "activation" | "other";

export interface Box {
  name: string;
  kind: Kind;
  /** The shape that it gives. */
  shape: string;
  parameters: number;
  /** What it gives goes around it, too, and is added. */
  shortcut: boolean;
  /** From 0 to 1: how many numbers come in, and go out, as logarithms. */
  wide: readonly [number, number];
  problem: string | undefined;
}

const KINDS: Partial<Record<LayerKind, Kind>> = {
  linear: "weights",
  conv: "weights",
  residual: "weights",
  batchnorm: "weights",
  maxpool: "pooling",
  avgpool: "pooling",
  globalpool: "pooling",
  flatten: "other",
  dropout: "other",
};

const numbersIn = (shape: ItemShape) => shape.reduce((size, each) => size * each, 1);

/** The numbers of a layer in words, as they belong to it. */
function nameOf({ kind, values }: LayerSpec): string {
  const { name, fields } = ruleOf(kind);
  const [first = 0, second = 0, third = 0] = values;
  switch (kind) {
    case "conv":
      return `${name} ${second} × ${second}${third > 1 ? `, stride ${third}` : ""}`;
    case "residual":
      return second > 1 ? `${name}, stride ${second}` : name;
    case "maxpool":
    case "avgpool":
      return `${name} ${first} × ${first}`;
    default:
      return fields.length === 0 || kind === "linear" ? name : `${name} ${first}`;
  }
}

/** The boxes of a drawing, the input first. A layer that does not fit says why, and those after it have no shape. */
export function boxesOf(layers: readonly LayerSpec[], input: ItemShape, outputs: number): Box[] {
  const report = checkLayers(layers, input, outputs);
  const shapes = [input, ...report.layers.map(({ shape }) => shape)];
  const most = Math.max(...shapes.map((shape) => Math.log(1 + numbersIn(shape ?? []))));
  const wide = (shape: ItemShape | undefined) => Math.log(1 + numbersIn(shape ?? [])) / most;
  return [
    {
      ...{ name: "Input", kind: "input", shape: written(input), parameters: 0, shortcut: false, problem: undefined },
      wide: [wide(input), wide(input)],
    },
    ...layers.map((layer, place): Box => {
      const { shape, parameters = 0, problem } = report.layers[place] ?? {};
      return {
        name: nameOf(layer),
        kind: KINDS[layer.kind] ?? "activation",
        shape: shape === undefined ? "–" : written(shape),
        parameters,
        shortcut: layer.kind === "residual",
        wide: [wide(shapes[place]), wide(shape)],
        problem,
      };
    }),
  ];
}

/** What a screen reader says of a layer. */
export function wordsOf({ name, shape, parameters, shortcut, problem }: Box): string {
  const known = parameters === 0 ? "" : `, ${counted(parameters, "parameter")}`;
  return `${name}: ${problem ?? `${shape}${known}${shortcut ? ", with a shortcut around it" : ""}`}`;
}
