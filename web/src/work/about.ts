/** What a model's file says of its model beside the weights: written by training, read by all pages that use it. */

import { MODELS, readLayers, type ItemShape } from "./layers.js";
import type { DataSet } from "./messages.js";
import type { NumberTarget, Preparation } from "./prepare.js";
import { readHead } from "./safetensors.js";

export interface ModelAbout {
  layers: string;
  shape: ItemShape;
  /** None where it predicts a number. */
  classes: string[];
  number: NumberTarget | undefined;
  preparation: Preparation;
}

/** The metadata of a model of these layers, trained on this set. */
export function metadataOf(
  layers: string,
  { shape, classes, number, preparation }: Pick<DataSet, "shape" | "classes" | "number" | "preparation">,
): Record<string, string> {
  return {
    format: "pt",
    layers,
    shape: JSON.stringify(shape),
    classes: JSON.stringify(classes),
    preparation: JSON.stringify(preparation),
    ...(number !== undefined && { number: JSON.stringify(number) }),
  };
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
const isList = <T>(value: unknown, is: (each: unknown) => each is T): value is T[] => Array.isArray(value) && value.every(is);
const isWord = (value: unknown): value is string => typeof value === "string";
const isScaled = (value: unknown): value is NumberTarget => {
  const { name, mean, deviation } = (value ?? {}) as Partial<NumberTarget>;
  return isWord(name) && isNumber(mean) && isNumber(deviation);
};

/** How the input is made; files of before do not say it: digits were centred, rows cannot be known. */
function preparationOf(value: unknown, shape: ItemShape): Preparation {
  const { kind, columns, fill, decimalComma } = (value ?? {}) as Partial<Extract<Preparation, { kind: "table" }>>;
  if (kind === "table" && shape.length === 1 && isList(columns, isScaled) && columns.length === shape[0])
    return { kind: "table", columns, fill: fill === true, decimalComma: decimalComma === true };
  if (shape.length === 1) {
    const unknown = Array.from({ length: shape[0] ?? 0 }, (_, place) => ({ name: `input ${place + 1}`, mean: 0, deviation: 1 }));
    return { kind: "table", columns: unknown, fill: false, decimalComma: false };
  }
  return { kind: (kind as string) === "picture" ? "picture" : "ink" };
}

/** What the file's metadata say; a file of another maker is taken for the first of our models that has its names. */
export function aboutModel(weights: Uint8Array): ModelAbout {
  const { metadata, tensors } = readHead(weights);
  const { layers = "?" } = metadata;
  const [shape, classes, number] = [parsed(metadata["shape"]), parsed(metadata["classes"]), parsed(metadata["number"])];
  if (isList(shape, isNumber) && isList(classes, isWord) && readLayers(layers) !== undefined) {
    const preparation = preparationOf(parsed(metadata["preparation"]), shape);
    return { layers, shape, classes, number: isScaled(number) ? number : undefined, preparation };
  }
  const first = tensors.find(({ name }) => name.endsWith("weight"));
  return {
    layers: first?.shape.length === 4 ? MODELS.cnn : MODELS.mlp,
    shape: [1, 28, 28],
    classes: Array.from({ length: 10 }, (_, digit) => String(digit)),
    number: undefined,
    preparation: { kind: "ink" },
  };
}
