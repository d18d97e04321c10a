/** What a run of one's own data needs before it can go on: the files stay out of what is kept of it. */

import type { DataSource } from "./messages.js";
import type { Run } from "./run.js";
import type { DataName } from "./settings.js";

const NAMES: Record<DataName, string> = {
  mnist: "MNIST",
  fashion: "Fashion-MNIST",
  idx: "idx files",
  csv: "a table",
  folder: "a folder of pictures",
};

/** As much of a fingerprint as one can compare by eye. */
export const shortPrint = (fingerprint: string) => fingerprint.slice(0, 8);

/** What is missing, in words; undefined where the source has the run's own data. */
export function whatItNeeds(
  { settings, fingerprint }: Pick<Run, "settings" | "fingerprint">,
  source: DataSource | undefined,
): string | undefined {
  const own = fingerprint === undefined ? "" : `, fingerprint ${shortPrint(fingerprint)}`;
  if (source === undefined)
    return `Choose the data that it was trained with first (${NAMES[settings.data]}${own}), read and divided in the same way`;
  const chosen = source.kind === "given" ? source.set.fingerprint : undefined;
  if (fingerprint === undefined || chosen === undefined || chosen === fingerprint) return undefined;
  return `The chosen data are not those that it was trained with (fingerprint ${shortPrint(chosen)}, not ${shortPrint(fingerprint)}): choose the same files, read and divided in the same way`;
}
