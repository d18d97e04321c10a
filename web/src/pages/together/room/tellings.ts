/** What members of a room tell each other beside their updates: who they are and how they do. Whoever knows the room can tell anything. */

import { MOST_LETTERS } from "../settings.js";

/** Who a member is: its name, the classes that it has pictures of, and how many pictures. */
export interface Introduction {
  name: string;
  classes: readonly number[];
  items: number;
}

/** What a member tells of itself after each round. */
export interface Telling extends Introduction {
  /** The round that it has made, its mean loss on data of its own before, and how its own model did then on the test pictures. */
  round: number;
  loss: number;
  alone: number;
}

export const writeTelling = (telling: Telling): string => JSON.stringify(telling);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isLoss = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value) && value >= 0;

/** A name as it is shown: one line, not too long. */
export const plainName = (name: string) =>
  name
    .replace(/[\p{C}\p{Z}]+/gu, " ")
    .trim()
    .slice(0, MOST_LETTERS);

/** What was told; nothing if it makes no sense. */
export function readTelling(text: string): Telling | undefined {
  let told: unknown;
  try {
    told = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof told !== "object" || told === null) return undefined;
  const { name, classes, items, round, loss, alone } = told as Record<string, unknown>;
  const areClasses = Array.isArray(classes) && classes.length <= 10 && classes.every((each) => isCount(each) && each < 10);
  if (typeof name !== "string" || !areClasses || !isCount(items) || !isCount(round)) return undefined;
  if (!isLoss(loss) || !isLoss(alone) || alone > 1) return undefined;
  return { name: plainName(name), classes: classes as number[], items, round, loss, alone };
}
