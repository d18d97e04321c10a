/** The link to a run: all that decides it, and in words what a link cannot carry. */

import { readQuery, writeHash, writeQuery } from "../app/url.js";
import type { Used } from "../app/device.js";
import { seedsSchema } from "./groups.js";
import { reachedSchema } from "./reached.js";
import { isIncluded } from "./included.js";
import { trainSchema, type TrainSettings } from "./settings.js";

/** What of a run a link speaks of. */
export interface Linked {
  settings: TrainSettings;
  device: Used;
  /** The file whose weights it began with. */
  begunWith: string | undefined;
  /** It lost its device and went on on one of another kind. */
  changedDevice: boolean;
  /** Steps between two reports at which it went on from a checkpoint. */
  seams: readonly number[];
}

/** What a link can say beside settings and device: how many seeds, and what the run came to. */
export type Said = Partial<typeof initial>;
const saidSchema = { ...seedsSchema, ...reachedSchema };
const initial = readQuery(saidSchema, new URLSearchParams());

/**
 * The part of the address that says these settings, and the device, unless the best is to be taken. Settings that are as at the
 * beginning are left out, so that the link is short: what they are at the beginning must not change.
 */
export function settingsHash(settings: TrainSettings, device: Used | undefined, said: Said = {}): string {
  const query = writeQuery(trainSchema, settings);
  for (const [name, value] of writeQuery(saidSchema, { ...initial, ...said })) query.set(name, value);
  if (device !== undefined) query.set("device", device);
  return writeHash({ page: "train", query });
}

const ON: Record<Used, string> = {
  cpu: "on the CPU of any machine",
  gpu: "in the same browser on the same kind of GPU",
  software: "in the same browser on a software GPU",
};

/** What settings need that does not travel with them. */
export function whatIsMissing({ data }: TrainSettings): string[] {
  if (isIncluded(data)) return [];
  return [
    "The data stay in this browser: whoever opens the link chooses the same files first, read and divided in the same way.",
  ];
}

/** What a link to this run promises; where something cannot travel, that is said, and nothing is promised. */
export function promiseOf(run: Linked): { repeats: boolean; sentences: string[] } {
  const missing = whatIsMissing(run.settings);
  if (run.begunWith !== undefined)
    missing.push(`The weights of ${run.begunWith}, which the run began with, stay here: the link begins with fresh ones.`);
  if (run.changedDevice) missing.push("The run went on on another device on the way, which a link cannot ask for.");
  const rates = run.settings.rates.length > 0 ? ", the changes of its rate among them" : "";
  if (missing.length === 0) {
    const sentences = [`It repeats this run, number for number, ${ON[run.device]}.`];
    if (run.seams.length > 0)
      sentences.push(
        `Only the point after step ${run.seams.join(" and ")} is a mean of fewer steps here: the run was stopped there.`,
      );
    return { repeats: true, sentences };
  }
  return { repeats: false, sentences: [`It carries the run's settings${rates}, but not the whole run.`, ...missing] };
}
