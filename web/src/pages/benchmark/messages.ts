/** What the Benchmark page and its worker say to each other. */

import type { Timing } from "./measure.js";
import type { Task } from "./tasks.js";

export const contenderNames = ["cpu", "gpu", "tfjs", "jax"] as const;
export type ContenderName = (typeof contenderNames)[number];

/** What is to be measured. */
export interface Order {
  tasks: readonly Task[];
  contenders: readonly ContenderName[];
  /** Which WebGPU device Flambeau opens: a real one, or a software adapter too. */
  gpu: "gpu" | "software";
}

/** One contender on one task. */
export interface Row extends Timing {
  task: Task;
  contender: ContenderName;
  /** Elements compared with the CPU's, the largest difference, and the largest value there. */
  compared: number;
  maxError: number;
  scale: number;
  correct: boolean;
  /** What went wrong, instead of figures. */
  problem?: string;
}

export type BenchmarkQuestions = { run: { ask: Order; answer: unknown } };

export type BenchmarkNote = { type: "progress"; done: number; total: number; label: string } | { type: "row"; row: Row };
