/** Runs that belong together: the same run with several seeds, or one for every pair of values of two settings. */

import type { Schema } from "../app/url.js";
import type { TrainSettings } from "./settings.js";

/** The settings that can be tried at several values, as the reader calls them. */
export const SWEPT = {
  lr: "Learning rate",
  batch: "Batch size",
  optimizer: "Optimizer",
  decay: "Weight decay",
  epochs: "Epochs",
  steps: "Most steps",
  seed: "Seed",
  items: "Training items",
  shift: "Shift",
  zoom: "Zoom",
  noise: "Noise",
} as const satisfies Partial<Record<keyof TrainSettings, string>>;

export type SweptName = keyof typeof SWEPT;

/** A setting and the values that it is given, as an address writes them. */
export interface Swept {
  setting: SweptName;
  values: string[];
}

export type Group = { kind: "seeds"; id: string; seeds: number[] } | { kind: "sweep"; id: string; down: Swept; across: Swept };
export type SweepGroup = Extract<Group, { kind: "sweep" }>;

const isTexts = (value: unknown) => Array.isArray(value) && value.every((each) => typeof each === "string");
const isSwept = (value: unknown): value is Swept => {
  const { setting, values } = (value ?? {}) as Partial<Swept>;
  return typeof setting === "string" && Object.hasOwn(SWEPT, setting) && isTexts(values);
};

/** Is it a group? What is written by hand or by another version may not be. */
export function isGroup(value: unknown): value is Group {
  const { kind, id, seeds, down, across } = (value ?? {}) as Record<string, unknown>;
  if (typeof id !== "string") return false;
  if (kind === "seeds") return Array.isArray(seeds) && seeds.every(Number.isSafeInteger);
  return kind === "sweep" && isSwept(down) && isSwept(across);
}

/** How many runs are started, each with a seed of its own. */
export const SEED_COUNTS = [1, 3, 5] as const;
export const seedsSchema: Schema<{ seeds: number }> = {
  seeds: { initial: 1, read: (text) => SEED_COUNTS.find((count) => String(count) === text), write: String },
};

/** The largest seed. */
const MOST_SEED = 4294967295;

/** Seeds that follow one another, the first of them given; after the largest comes 0. */
export const seedsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, place) => (first + place) % (MOST_SEED + 1));

/** The mean of numbers, and their deviation: the root of the squared differences over one less than there are. */
export function meanAndDeviation(values: readonly number[]): { mean: number; deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0 };
}
