/** How a contender is timed, and how its numbers are compared. */

import type { Work } from "./tasks.js";

/** A task on a contender's device, ready to run. */
export interface Prepared {
  /** Runs it so many times, and returns when the device has done them. */
  run(times: number): Promise<void>;
  /** Every number of the result, in PyTorch's layouts; for training the loss and every gradient of the first step. */
  result(): Promise<Float32Array[]>;
  /** The share of the time of so many runs in which kernels ran on the GPU, where it has timestamps. */
  busy?(times: number): Promise<number | undefined>;
  dispose(): void;
}

/** Something that computes. */
export interface Contender {
  prepare(work: Work): Promise<Prepared>;
}

/** How long a run takes, in milliseconds. */
export interface Timing {
  /** The median over rounds, the best and the worst round. */
  median: number;
  best: number;
  worst: number;
  /** The very first run: preparing shaders included. */
  first: number;
  rounds: number;
  runsPerRound: number;
  /** The share of the time in which the GPU ran kernels, by its timestamps. */
  busy?: number;
}

/** A round lasts about this long, so that the wait at its end weighs little; and a contender about so long. */
const ROUND = 60;
const CONTENDER = 1200;
const FEWEST_ROUNDS = 5;
const MOST_ROUNDS = 15;
/** What takes longer than this is run once after its first run. */
const SLOW = 1500;

const breathe = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

/** Times rounds of runs, after a first run and a warm-up. */
export async function measure(prepared: Prepared): Promise<Timing> {
  const timing = await time(prepared);
  const busy = await prepared.busy?.(timing.runsPerRound);
  return busy === undefined ? timing : { ...timing, busy };
}

async function time({ run }: Prepared): Promise<Timing> {
  const timed = async (times: number) => {
    const start = performance.now();
    await run(times);
    return (performance.now() - start) / times;
  };
  const first = await timed(1);
  const second = await timed(1);
  if (second > SLOW) return { median: second, best: second, worst: second, first, rounds: 1, runsPerRound: 1 };
  const runsPerRound = Math.max(1, Math.min(200, Math.round(ROUND / second)));
  await timed(runsPerRound);
  const times: number[] = [];
  const start = performance.now();
  while (times.length < FEWEST_ROUNDS || (times.length < MOST_ROUNDS && performance.now() - start < CONTENDER)) {
    await breathe();
    times.push(await timed(runsPerRound));
    if (performance.now() - start > 4 * CONTENDER) break;
  }
  times.sort((a, b) => a - b);
  const median = times[times.length >> 1] ?? second;
  return { median, best: times[0] ?? median, worst: times.at(-1) ?? median, first, rounds: times.length, runsPerRound };
}

/** Differences up to this share of the largest value pass. */
export const TOLERANCE = 1e-4;

export interface Comparison {
  compared: number;
  maxError: number;
  scale: number;
  correct: boolean;
}

/** Compares every element; what is no number, or missing, is wrong. */
export function compare(actual: readonly Float32Array[], expected: readonly Float32Array[]): Comparison {
  const found: Comparison = { compared: 0, maxError: 0, scale: 0, correct: actual.length === expected.length };
  for (const [index, wanted] of expected.entries()) {
    const got = actual[index];
    let [error, scale] = [0, 0];
    if (got?.length !== wanted.length) {
      found.correct = false;
      continue;
    }
    for (let at = 0; at < wanted.length; at += 1) {
      // The largest of numbers among which one is none is none.
      error = Math.max(error, Math.abs((got[at] as number) - (wanted[at] as number)));
      const size = Math.abs(wanted[at] as number);
      if (size > scale) scale = size;
    }
    found.compared += wanted.length;
    found.maxError = Math.max(found.maxError, error);
    found.scale = Math.max(found.scale, scale);
    if (!(error <= TOLERANCE * scale + 1e-7)) found.correct = false;
  }
  return found;
}
