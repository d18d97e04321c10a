/** The Playground's settings: what they may be, and how a link carries them. */

import { choice, integer, number, type Schema } from "../../app/url.js";
import { OPTIMIZER_NAMES, type OptimizerName } from "../../work/optimizers.js";

export const sets = ["spirals", "moons", "circles", "xor", "blobs", "own"] as const;
export const features = ["x", "y", "x2", "y2", "xy", "sinx", "siny"] as const;
export const activations = ["tanh", "relu", "sigmoid", "gelu", "silu", "linear"] as const;

export type SetName = (typeof sets)[number];
export type Feature = (typeof features)[number];
export type Activation = (typeof activations)[number];

/** A point of one's own, in coordinates from −3 to 3. */
export interface Point {
  x: number;
  y: number;
  label: number;
}

/** Everything that decides a run. */
export interface Config {
  set: SetName;
  classes: number;
  points: number;
  /** In percent. */
  noise: number;
  /** The share of the points that is trained on, in percent. */
  share: number;
  batch: number;
  features: readonly Feature[];
  /** The neurons of each hidden layer. */
  layers: readonly number[];
  activation: Activation;
  optimizer: OptimizerName;
  lr: number;
  l1: number;
  l2: number;
  seed: number;
  /** Steps a second at most; 0: as many as the device does. */
  speed: number;
  own: readonly Point[];
}

/** The coordinates go from −EXTENT to EXTENT. */
export const EXTENT = 3;
export const MOST_CLASSES = 4;
export const MOST_LAYERS = 6;
export const MOST_NEURONS = 12;
export const rates = [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1] as const;
export const penalties = [0, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03] as const;
export const batches = [1, 2, 4, 8, 16, 32, 64, 128] as const;
export const speeds = [0, 10, 50, 200, 1000] as const;

export const defaults: Config = {
  set: "spirals",
  classes: 2,
  points: 400,
  noise: 5,
  share: 70,
  batch: 32,
  features: ["x", "y"],
  layers: [8, 8],
  activation: "tanh",
  optimizer: "adam",
  lr: 0.03,
  l1: 0,
  l2: 0,
  seed: 1,
  speed: 0,
  own: [],
};

/** Settings worth a look, under their names. */
export const presets: Readonly<Record<string, Partial<Config>>> = {
  "Two spirals": {},
  "Three spirals": { classes: 3, points: 600, layers: [12, 12] },
  "Circles by x² and y²": { set: "circles", features: ["x2", "y2"], layers: [], noise: 10 },
  "XOR with four neurons": { set: "xor", layers: [4], activation: "tanh" },
  Overfitting: { set: "moons", noise: 40, points: 100, share: 30, layers: [12, 12, 12], activation: "relu" },
  "The same, with L2": {
    set: "moons",
    noise: 40,
    points: 100,
    share: 30,
    layers: [12, 12, 12],
    activation: "relu",
    l2: 0.01,
  },
  "Four blobs": { set: "blobs", classes: 4, layers: [6] },
};

/** How many classes there are: some sets always have two. */
export function classesOf({ set, classes, own }: Pick<Config, "set" | "classes" | "own">): number {
  switch (set) {
    case "spirals":
    case "circles":
    case "blobs":
      return classes;
    case "own":
      return Math.max(2, ...own.map(({ label }) => label + 1));
    case "moons":
    case "xor":
      return 2;
  }
}

/** Is there anything to tell apart? Points of one's own may be none, or all of one class. */
export function hasClasses({ set, own }: Pick<Config, "set" | "own">): boolean {
  return set !== "own" || new Set(own.map(({ label }) => label)).size >= 2;
}

/** Must the network start anew when settings change from one to the other? */
export function needsReset(before: Config, after: Config): boolean {
  const kept: (keyof Config)[] = ["lr", "l1", "l2", "batch", "speed"];
  if (after.set === "own" && before.set === "own" && classesOf(before) === classesOf(after)) kept.push("own");
  return (Object.keys(after) as (keyof Config)[]).some(
    (key) => !kept.includes(key) && JSON.stringify(before[key]) !== JSON.stringify(after[key]),
  );
}

const listOf = (text: string) => text.split("-").filter((part) => part !== "");

/** How a link carries the settings. */
export const schema: Schema<Config> = {
  set: choice(sets, defaults.set),
  classes: integer(defaults.classes, 2, MOST_CLASSES),
  points: integer(defaults.points, 20, 2000),
  noise: number(defaults.noise, 0, 100),
  share: integer(defaults.share, 10, 90),
  batch: integer(defaults.batch, 1, 512),
  features: {
    initial: defaults.features,
    read: (text) => {
      const known = features.filter((feature) => listOf(text).includes(feature));
      return known.length === 0 ? undefined : known;
    },
    write: (value) => value.join("-"),
  },
  layers: {
    initial: defaults.layers,
    read: (text) => {
      const sizes = listOf(text).map(Number);
      const sound = sizes.every((size) => Number.isInteger(size) && size >= 1 && size <= MOST_NEURONS);
      return sound && sizes.length <= MOST_LAYERS ? sizes : undefined;
    },
    write: (value) => value.join("-"),
  },
  activation: choice(activations, defaults.activation),
  optimizer: choice(OPTIMIZER_NAMES, defaults.optimizer),
  lr: number(defaults.lr, 1e-6, 10),
  l1: number(defaults.l1, 0, 1),
  l2: number(defaults.l2, 0, 1),
  seed: integer(defaults.seed, 0, 2 ** 31 - 1),
  speed: integer(defaults.speed, 0, 100_000),
  own: { initial: defaults.own, read: decodePoints, write: encodePoints },
};

const STEPS = 255;

/** Points as text: class, then x and y as two hexadecimal digits each. */
export function encodePoints(points: readonly Point[]): string {
  const digits = (value: number) =>
    Math.round((STEPS * (value + EXTENT)) / (2 * EXTENT))
      .toString(16)
      .padStart(2, "0");
  return points.map(({ x, y, label }) => `${label}${digits(x)}${digits(y)}`).join("");
}

/** The points of a text. */
export function decodePoints(text: string): Point[] {
  return [...text.matchAll(/([0-3])([0-9a-f]{2})([0-9a-f]{2})/g)].map(([, label = "0", x = "0", y = "0"]) => ({
    label: Number(label),
    x: coordinate(Number.parseInt(x, 16)),
    y: coordinate(Number.parseInt(y, 16)),
  }));
}

function coordinate(step: number): number {
  return (step * 2 * EXTENT) / STEPS - EXTENT;
}

/** A coordinate as a link can carry it, so that a set is the same after reading it back. */
export function snap(value: number): number {
  const clamped = Math.min(EXTENT, Math.max(-EXTENT, value));
  return coordinate(Math.round((STEPS * (clamped + EXTENT)) / (2 * EXTENT)));
}
