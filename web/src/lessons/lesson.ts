/** Lessons: texts with tasks that check themselves and controls that are put away. Each is a file in `files`, in every language. */

import { isIncluded } from "../work/included.js";
import type { TrainSettings } from "../work/settings.js";

export const LANGUAGES = ["en", "de"] as const;
export type Language = (typeof LANGUAGES)[number];
export type Words = Record<Language, string>;

/** Parts of the page Train that a lesson can put away. */
export const PARTS = ["data", "model", "training", "curves", "inside", "runs", "files"] as const;
export type TrainPart = (typeof PARTS)[number];

/** Bounds of a setting or a figure. */
export interface Bounds {
  atLeast?: number;
  atMost?: number;
}

/** What is asked of a run: of its settings, and of how it did. Shares are of 1. */
export interface RunWanted {
  data?: "own" | "mnist";
  lr?: Bounds;
  items?: Bounds;
  parameters?: Bounds;
  /** Part of the list of layers, such as `conv`. */
  layers?: string;
  accuracy?: Bounds;
  /** How much better it is at what it was trained with than at what it was not. */
  gap?: Bounds;
}

/** Something to do: train a run of some kind, or look at another page. */
export type Task = { say: Words; run: RunWanted } | { say: Words; page: string };

export interface LessonStep {
  text: Words;
  /** The settings of the page, as an address says them. */
  settings: string;
  hidden: TrainPart[];
  tasks: Task[];
}

export interface Lesson {
  title: Words;
  about: Words;
  steps: LessonStep[];
}

/** What is known of a run when tasks are checked. */
export interface RunFacts {
  settings: Pick<TrainSettings, "data" | "lr" | "items" | "layers">;
  failed: boolean;
  parameters: number | undefined;
  /** On items it was not trained with, and on those it was. */
  accuracy: number | undefined;
  trained: number | undefined;
}

export interface Facts {
  runs: readonly RunFacts[];
  wasAt: (page: string) => boolean;
}

const within = (value: number | undefined, { atLeast = -Infinity, atMost = Infinity }: Bounds) =>
  value !== undefined && value >= atLeast && value <= atMost;

function fits({ settings, failed, parameters, accuracy, trained }: RunFacts, wanted: RunWanted): boolean {
  if (accuracy === undefined && !failed) return false;
  // A run that broke off has learnt nothing.
  const known = failed ? 0 : accuracy;
  const gap = accuracy === undefined || trained === undefined ? undefined : trained - accuracy;
  const is = (value: number | undefined, bounds: Bounds | undefined) => bounds === undefined || within(value, bounds);
  return (
    (wanted.data === undefined || (wanted.data === "mnist" ? settings.data === "mnist" : !isIncluded(settings.data))) &&
    (wanted.layers === undefined || settings.layers.includes(wanted.layers)) &&
    is(settings.lr, wanted.lr) &&
    is(settings.items === 0 ? Infinity : settings.items, wanted.items) &&
    is(parameters, wanted.parameters) &&
    is(known, wanted.accuracy) &&
    is(gap, wanted.gap)
  );
}

export function isDone(task: Task, { runs, wasAt }: Facts): boolean {
  return "page" in task ? wasAt(task.page) : runs.some((run) => fits(run, task.run));
}
