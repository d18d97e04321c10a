/** What outlives the page: where the last run was, and the last model. */

import { openStore } from "flambeau/worker";
import type { Used } from "../app/device.js";
import { readQuery, writeQuery } from "../app/url.js";
import { trainSchema, type TrainSettings } from "./settings.js";

/** The curves of a run: training by step, tests where there were some. */
export interface SavedCurve {
  step: number[];
  loss: number[];
  accuracy: number[];
  testStep: number[];
  testLoss: number[];
  testAccuracy: number[];
}

/** A run that was not finished. */
export interface Session {
  /** The name that its checkpoints are kept under. */
  checkpoints: string;
  settings: TrainSettings;
  device: Used;
  step: number;
  steps: number;
  curve: SavedCurve;
  date: number;
}

const SESSION_KEY = "flambeau.session";
const MODEL_FILE = "last-model.safetensors";
const MOST_POINTS = 1500;

/** Every so many points, so that there are not too many to keep. */
function thinned(curve: SavedCurve): SavedCurve {
  const each = Math.ceil(curve.step.length / MOST_POINTS);
  if (each <= 1) return curve;
  const thin = (list: number[]) => list.filter((_, index) => index % each === 0);
  return { ...curve, step: thin(curve.step), loss: thin(curve.loss), accuracy: thin(curve.accuracy) };
}

/**
 * A name for the checkpoints of a new run, in turn one of two: those of the run that was not finished stay as they are until
 * the new one takes its place by `saveSession`, whatever ends the page before.
 */
export function freeCheckpoints(): string {
  const [one, other] = ["session-0", "session-1"] as const;
  return lastSession()?.checkpoints === one ? other : one;
}

/** Notes where the run is; its weights are in the checkpoint. */
export function saveSession(session: Session): void {
  const { settings, curve, ...rest } = session;
  const saved = { ...rest, curve: thinned(curve), settings: writeQuery(trainSchema, settings, true).toString() };
  try {
    localStorage.setItem(SESSION_KEY, JSON.stringify(saved));
  } catch {
    // Private windows may have no room: the run is then not offered again.
    localStorage.removeItem(SESSION_KEY);
  }
}

/** The run that was not finished, if there is one. */
export function lastSession(): Session | undefined {
  try {
    const saved = JSON.parse(localStorage.getItem(SESSION_KEY) ?? "null") as
      | (Omit<Session, "settings"> & { settings: string })
      | null;
    if (typeof saved?.checkpoints !== "string") return undefined;
    return { ...saved, settings: readQuery(trainSchema, new URLSearchParams(saved.settings)) };
  } catch {
    return undefined;
  }
}

export function forgetSession(): void {
  localStorage.removeItem(SESSION_KEY);
}

/** Keeps the weights of the last model for other pages and visits. */
export async function keepModel(weights: Uint8Array): Promise<void> {
  const store = await openStore();
  await store.write(MODEL_FILE, weights);
}

/** The last model, if there is one. */
export async function lastModel(): Promise<Uint8Array | undefined> {
  const store = await openStore();
  return store.read(MODEL_FILE);
}
