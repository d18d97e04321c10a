/**
 * A network as a list of layers: what the editor shows, what the address says, and what the workers build. Shapes and
 * parameters are worked out here, without a device, as fast as one types.
 */

import { counted } from "../ui/write.js";
import { ACTIVATIONS } from "./generated/catalogue.js";

/** The shape of one item: (channels, height, width) of a picture, or (features). */
export type ItemShape = readonly number[];

/** A number that a layer is given. */
export interface LayerField {
  label: string;
  initial: number;
  min: number;
  max: number;
  whole: boolean;
}

interface KindRule {
  name: string;
  fields: readonly LayerField[];
  /** The shape after it; an error says why there is none. */
  shape(input: ItemShape, values: readonly number[]): ItemShape;
  parameters(input: ItemShape, values: readonly number[]): number;
}

const whole = (label: string, initial: number, min: number, max: number): LayerField => ({
  label,
  initial,
  min,
  max,
  whole: true,
});
const product = (shape: ItemShape) => shape.reduce((size, each) => size * each, 1);

function picture(shape: ItemShape): readonly [number, number, number] {
  const [channels, height, width] = shape;
  if (channels === undefined || height === undefined || width === undefined) {
    throw new Error(`needs a picture (channels, height, width), and gets ${written(shape)}`);
  }
  return [channels, height, width];
}

function features(shape: ItemShape): number {
  const [count, ...rest] = shape;
  if (count === undefined || rest.length > 0)
    throw new Error(`needs features in a row, and gets ${written(shape)}: put Flatten before it`);
  return count;
}

function windowed(size: number, kernel: number, stride: number, padding: number): number {
  const places = Math.floor((size + 2 * padding - kernel) / stride) + 1;
  if (places < 1) throw new Error(`a window of ${kernel} does not fit into ${size} pixels`);
  return places;
}

/** A convolution keeps the size at stride 1. */
export const samePadding = (kernel: number) => Math.floor(kernel / 2);

const conv = (input: ItemShape, out: number, kernel: number, stride: number): ItemShape => {
  const [, height, width] = picture(input);
  const padding = samePadding(kernel);
  return [out, windowed(height, kernel, stride, padding), windowed(width, kernel, stride, padding)];
};
const pool = (input: ItemShape, size: number): ItemShape => {
  const [channels, height, width] = picture(input);
  return [channels, windowed(height, size, size, 0), windowed(width, size, size, 0)];
};
const activation = (name: string): KindRule => ({ name, fields: [], shape: (input) => input, parameters: () => 0 });
const at = (values: readonly number[], index: number) => values[index] ?? 0;

export type Activation = keyof typeof ACTIVATIONS;
const activations = Object.fromEntries(Object.entries(ACTIVATIONS).map(([kind, name]) => [kind, activation(name)])) as Record<
  Activation,
  KindRule
>;

/** Is it one of the library's activations? */
export const isActivation = (kind: LayerKind): kind is Activation => Object.hasOwn(ACTIVATIONS, kind);

/** Kinds that links of before have by another name. */
const RENAMED = new Map<string, Activation>([["leaky", "leakyRelu"]]);

/** Every kind of layer that a list can hold. */
export const KINDS = {
  linear: {
    name: "Linear",
    fields: [whole("outputs", 128, 1, 4096)],
    shape: (input, values) => {
      features(input);
      return [at(values, 0)];
    },
    parameters: (input, values) => (features(input) + 1) * at(values, 0),
  },
  conv: {
    name: "Convolution",
    fields: [whole("channels", 32, 1, 512), whole("kernel", 3, 1, 11), whole("stride", 1, 1, 4)],
    shape: (input, values) => conv(input, at(values, 0), at(values, 1), at(values, 2)),
    parameters: (input, values) => (picture(input)[0] * at(values, 1) ** 2 + 1) * at(values, 0),
  },
  residual: {
    name: "Residual block",
    fields: [whole("channels", 32, 1, 512), whole("stride", 1, 1, 2)],
    shape: (input, values) => conv(input, at(values, 0), 3, at(values, 1)),
    parameters: (input, values) => {
      const [channels] = picture(input);
      const [out, stride] = [at(values, 0), at(values, 1)];
      const shortcut = channels !== out || stride !== 1 ? channels * out + 2 * out : 0;
      return 9 * channels * out + 2 * out + 9 * out * out + 2 * out + shortcut;
    },
  },
  maxpool: {
    name: "Max pooling",
    fields: [whole("size", 2, 2, 8)],
    shape: (input, values) => pool(input, at(values, 0)),
    parameters: () => 0,
  },
  avgpool: {
    name: "Mean pooling",
    fields: [whole("size", 2, 2, 8)],
    shape: (input, values) => pool(input, at(values, 0)),
    parameters: () => 0,
  },
  globalpool: { name: "Global mean", fields: [], shape: (input) => [picture(input)[0]], parameters: () => 0 },
  flatten: { name: "Flatten", fields: [], shape: (input) => [product(input)], parameters: () => 0 },
  batchnorm: { name: "Batch norm", fields: [], shape: (input) => input, parameters: ([channels = 0]) => 2 * channels },
  dropout: {
    name: "Dropout",
    fields: [{ label: "probability", initial: 0.25, min: 0, max: 0.95, whole: false }],
    shape: (input) => input,
    parameters: () => 0,
  },
  ...activations,
} satisfies Record<string, KindRule>;

export type LayerKind = keyof typeof KINDS;
export const LAYER_KINDS = Object.keys(KINDS) as LayerKind[];

/** What is known of a kind. */
export const ruleOf = (kind: LayerKind): KindRule => KINDS[kind];

/** A layer of a list. */
export interface LayerSpec {
  kind: LayerKind;
  values: number[];
}

/** A new layer with its first values. */
export const newLayer = (kind: LayerKind): LayerSpec => ({ kind, values: ruleOf(kind).fields.map(({ initial }) => initial) });

/** A shape as it is read: 1 × 28 × 28. */
export const written = (shape: ItemShape) => shape.join(" × ");

/** The list as one word: `conv-32-3-1_relu_flatten_linear-10`. */
export function writeLayers(layers: readonly LayerSpec[]): string {
  // Not as 1e-7: the stroke would divide it.
  return layers.map(({ kind, values }) => [kind, ...values.map((value) => Number(value.toFixed(6)))].join("-")).join("_");
}

/** The same without numbers that are as at the beginning, at the end of each layer: `conv-16_relu_flatten_linear-10`. */
export function shortLayers(text: string): string {
  const layers = readLayers(text) ?? [];
  const short = layers.map(({ kind, values }) => {
    const { fields } = ruleOf(kind);
    const isLeftOut = (_: number, place: number) =>
      values.slice(place).every((value, at) => value === fields[place + at]?.initial);
    return { kind, values: values.filter((value, place) => !isLeftOut(value, place)) };
  });
  return writeLayers(short);
}

/** The list that a word says; undefined if it says none. */
export function readLayers(text: string): LayerSpec[] | undefined {
  const layers: LayerSpec[] = [];
  for (const word of text.split("_").filter((word) => word !== "")) {
    const [kind = "", ...numbers] = word.split("-");
    const known = LAYER_KINDS.find((each) => each === (RENAMED.get(kind) ?? kind));
    if (known === undefined) return undefined;
    const { fields } = ruleOf(known);
    const values = fields.map(({ initial }, index) =>
      numbers[index] === undefined ? initial : Number(numbers[index] || Number.NaN),
    );
    const fits = fields.every(({ min, max, whole }, index) => {
      const value = values[index] ?? Number.NaN;
      return value >= min && value <= max && (!whole || Number.isInteger(value));
    });
    if (!fits || numbers.length > fields.length) return undefined;
    layers.push({ kind: known, values });
  }
  return layers;
}

/** What a layer of a list does to the shape. */
export interface LayerReport {
  /** The shape after it; none where it does not fit. */
  shape?: ItemShape;
  parameters: number;
  problem?: string;
}

/** What a list comes to. */
export interface ModelReport {
  layers: LayerReport[];
  parameters: number;
  /** The first thing that is wrong. */
  problem: string | undefined;
}

/** Follows the shape through the list. */
export function checkLayers(layers: readonly LayerSpec[], input: ItemShape, outputs: number, isNumber = false): ModelReport {
  const reports: LayerReport[] = [];
  let shape: ItemShape | undefined = input;
  let problem: string | undefined;
  for (const [index, { kind, values }] of layers.entries()) {
    if (shape === undefined) {
      reports.push({ parameters: 0 });
      continue;
    }
    const rule = ruleOf(kind);
    try {
      const report: LayerReport = { shape: rule.shape(shape, values), parameters: rule.parameters(shape, values) };
      reports.push(report);
      shape = report.shape;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      reports.push({ parameters: 0, problem: message });
      problem = `Layer ${index + 1}, ${rule.name}: ${message}`;
      shape = undefined;
    }
  }
  if (problem === undefined && (shape === undefined || shape.length !== 1 || shape[0] !== outputs)) {
    const why = isNumber
      ? "one number is predicted"
      : `there ${outputs === 1 ? "is" : "are"} ${counted(outputs, "class", "classes")}`;
    problem = `The last layer gives ${written(shape ?? [])}; ${why}, so it must give ${outputs}`;
    const last = reports.at(-1);
    if (last !== undefined) last.problem = `must give ${outputs}`;
  }
  return { layers: reports, parameters: reports.reduce((sum, { parameters }) => sum + parameters, 0), problem };
}

/** The models one begins with. */
export const MODELS = {
  mlp: "flatten_linear-128_relu_linear-10",
  cnn: "conv-16-3-1_relu_maxpool-2_conv-32-3-1_relu_maxpool-2_flatten_linear-64_relu_dropout-0.25_linear-10",
  resnet: "conv-16-3-1_batchnorm_relu_residual-16-1_residual-32-2_residual-64-2_globalpool_linear-10",
} as const;

export type ModelName = keyof typeof MODELS;

/** One of the models, for this number of classes. */
export function modelFor(name: ModelName, classes: number): string {
  return MODELS[name].replace(/linear-10$/, `linear-${classes}`);
}

/** Which of the models a list is; none if it was changed. */
export function nameOf(layers: string): ModelName | undefined {
  return (Object.keys(MODELS) as ModelName[]).find((name) => {
    const head = MODELS[name].replace(/linear-10$/, "linear-");
    return layers.startsWith(head) && /^\d+$/.test(layers.slice(head.length));
  });
}
