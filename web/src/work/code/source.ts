/** What a program is written from: all that decides a run, and the few words that every language's program begins with. */

import type { Used } from "../../app/device.js";
import { type ItemShape, type LayerSpec, readLayers, ruleOf } from "../layers.js";
import { FILE_OF_DATA, ITEMS_AT_ONCE } from "./files.js";
import type { TrainSettings } from "../settings.js";

/** A run, or settings before the first one. */
export interface CodeSource {
  /** What it is called. */
  name: string;
  settings: TrainSettings;
  device: Used;
  /** The shape of one item. */
  shape: ItemShape;
  /** Are items bytes, 0 … 255? */
  isBytes: boolean;
  /** Is a number learnt, and no class? */
  isNumber: boolean;
  /** The file whose weights it begins with. */
  begunWith: string | undefined;
}

/** A layer, and the shape of the items that it gets. */
export interface PlacedLayer extends LayerSpec {
  input: ItemShape;
}

/** The layers of a run with the shapes between them. */
export function placedLayers({ settings, shape }: Pick<CodeSource, "settings" | "shape">): PlacedLayer[] {
  let input = shape;
  return (readLayers(settings.layers) ?? []).map((layer) => {
    const placed = { ...layer, input };
    input = ruleOf(layer.kind).shape(input, layer.values);
    return placed;
  });
}

/** The rates of a run: from how many steps on, and which. */
export function ratesOf({ lr, rates }: TrainSettings): readonly (readonly [number, number])[] {
  const changes = rates.map((change) => [change.step, change.lr] as const);
  return changes[0]?.[0] === 0 ? changes : [[0, lr], ...changes];
}

/** Is something done to the pictures before they are learnt from? */
export const isAugmented = ({ settings: { shift, zoom, noise, mirror }, shape }: CodeSource) =>
  shape.length === 3 && (shift > 0 || zoom > 0 || noise > 0 || mirror);

/** Are they shifted, zoomed or mirrored? */
export const isResampled = (source: CodeSource) => {
  const { shift, zoom, mirror } = source.settings;
  return isAugmented(source) && (shift > 0 || zoom > 0 || mirror);
};

export const hasKind = (source: CodeSource, kind: LayerSpec["kind"]) => placedLayers(source).some((layer) => layer.kind === kind);

/** Data sets that everybody can have: where programs look for them. Others come as a file beside the program. */
export const folderOf = ({ settings: { data } }: CodeSource) =>
  data === "mnist" ? "data/mnist" : data === "fashion" ? "data/fashion-mnist" : undefined;

/** Where the data are, as the first argument of the program. */
export const placeOfData = (source: CodeSource) => folderOf(source) ?? FILE_OF_DATA;

/** What the program needs beside it, one line each. */
export function needs(source: CodeSource): string[] {
  const folder = folderOf(source);
  return [
    folder === undefined
      ? `The data: ${FILE_OF_DATA}, which the app saves beside this program. Another path is the first argument.`
      : `The data: the four idx files of ${source.settings.data === "mnist" ? "MNIST" : "Fashion-MNIST"} in ${folder}, or in the folder that is the first argument.`,
    ...(source.begunWith === undefined
      ? []
      : [`The weights that the run began with: ${source.begunWith}, or the path that is the second argument.`]),
  ];
}

/** Items of the test set that are read at once. */
export const TEST_BATCH = ITEMS_AT_ONCE;

/** Text without the lines that are left out (undefined), with an end of line. */
export const lines = (...parts: (string | undefined | readonly (string | undefined)[])[]) =>
  `${parts
    .flat()
    .filter((part) => part !== undefined)
    .join("\n")}\n`;

/** Each line with spaces before it; empty ones stay empty. */
export const indented = (text: string, spaces: number) => text.replace(/^(?=.)/gm, " ".repeat(spaces));
