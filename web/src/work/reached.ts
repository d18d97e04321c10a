/**
 * What the run of a link came to, as the link says it: part, quality, loss, error, steps, a curve in few points, and a
 * fingerprint of the settings, so that it is said of no others.
 */

import { type Param, type Schema, writeQuery } from "../app/url.js";
import { isLive, type Result, type Run } from "./run.js";
import { type TrainSettings, trainSchema } from "./settings.js";

export interface Reached extends Result {
  steps: number;
  /** The accuracy (or R²) in training, from its first report to its last, between 0 and 1. */
  curve: number[];
  /** Of the settings. */
  of: string;
}

/** The most points of the curve. */
const POINTS = 32;
const LEVELS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/** Enough digits to tell runs apart. */
const DIGITS = 9;

/** A fingerprint of settings: FNV-1a of those that are not as at the beginning, so that settings to come do not change it. */
export function printOf(settings: TrainSettings): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(writeQuery(trainSchema, settings).toString()))
    hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(36);
}

/** The values at equal distances, the first and the last among them. */
function thinned(values: readonly number[]): number[] {
  const count = Math.min(values.length, POINTS);
  return Array.from({ length: count }, (_, place) => {
    const value = values[Math.round((place * (values.length - 1)) / Math.max(count - 1, 1))] ?? 0;
    return Math.min(Math.max(Number.isFinite(value) ? value : 0, 0), 1);
  });
}

/** What a run that has ended came to; nothing of one that has not, or that has seen no other items. */
export function reachedBy(run: Run): Reached | undefined {
  if (run.result === undefined || isLive(run)) return undefined;
  return { ...run.result, steps: run.step, curve: thinned(run.curve.accuracy), of: printOf(run.settings) };
}

const written = (value: number) => String(Number(value.toPrecision(DIGITS)));

function write(reached: Reached | undefined): string {
  if (reached === undefined) return "";
  const { part, accuracy, loss, error, steps, curve, of } = reached;
  const points = curve.map((value) => LEVELS[Math.round(value * (LEVELS.length - 1))]).join("");
  return [part, written(accuracy), written(loss), error === undefined ? "" : written(error), steps, of, points].join("_");
}

function read(text: string): Reached | undefined {
  const [part, accuracy = "", loss = "", error = "", steps = "", of = "", points, ...more] = text.split("_");
  const numbers = [accuracy, loss, steps, ...(error === "" ? [] : [error])];
  const isWrong = numbers.some((word) => word.trim() === "" || !Number.isFinite(Number(word)));
  if ((part !== "test" && part !== "validation") || isWrong || points === undefined || more.length > 0) return undefined;
  const curve = [...points].map((letter) => LEVELS.indexOf(letter) / (LEVELS.length - 1));
  if (Number(accuracy) > 1 || curve.length > POINTS || curve.some((value) => value < 0) || !/^[0-9a-z]+$/.test(of))
    return undefined;
  return {
    ...{ part, accuracy: Number(accuracy), loss: Number(loss), steps: Number(steps), curve, of },
    ...(error !== "" && { error: Number(error) }),
  };
}

const reached: Param<Reached | undefined> = { initial: undefined, read, write };
export const reachedSchema: Schema<{ reached: Reached | undefined }> = { reached };
