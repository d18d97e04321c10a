/** The Benchmark's settings, and how a link carries them. */

import { flag, integer, type Param, type Schema } from "../../app/url.js";
import { contenderNames, type ContenderName } from "./messages.js";
import { kinds, type Kind, type Task } from "./tasks.js";

export interface Settings {
  tasks: readonly Kind[];
  /** The side of the matrices. */
  size: number;
  /** Does the matrix product run at every preset up to the size? */
  sweep: boolean;
  contenders: readonly ContenderName[];
}

export const LEAST = 128;
export const MOST = 4096;
export const sizes = [128, 256, 512, 1024, 2048, 4096] as const;

/** Some of several words, in their order. */
function some<const T extends string>(words: readonly T[], initial: readonly T[]): Param<readonly T[]> {
  return {
    initial,
    read: (text) => {
      const said = text.split("-");
      return words.filter((word) => said.includes(word));
    },
    write: (value) => value.join("-"),
  };
}

export const schema: Schema<Settings> = {
  tasks: some(kinds, ["matmul", "mlp"]),
  size: integer(512, LEAST, MOST),
  sweep: flag(false),
  contenders: some(contenderNames, ["cpu", "gpu"]),
};

/** What is run, in order. */
export function tasksOf({ tasks, size, sweep }: Settings): Task[] {
  return tasks.flatMap((kind): Task[] => {
    if (kind !== "matmul" || !sweep) return [{ kind, size: kind === "matmul" || kind === "elementwise" ? size : 0 }];
    const smaller = sizes.filter((each) => each < size);
    return [...smaller, size].map((each) => ({ kind, size: each }));
  });
}
