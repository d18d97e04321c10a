/**
 * Learning rates that change on the way, by hand or as a link says. A change is bound to the number of steps before it, so
 * that a run can be repeated exactly.
 */

import type { Param } from "../app/url.js";

/** From this many steps on, this rate. */
export interface RateChange {
  step: number;
  lr: number;
}

/** Changes in the order of their steps. */
export type Rates = readonly RateChange[];

/** The highest rate that can be set. */
export const MOST_RATE = 100;

/** The rate of the step that follows `step` others. */
export function rateAt(base: number, rates: Rates, step: number): number {
  return rates.filter((change) => change.step <= step).at(-1)?.lr ?? base;
}

/** Another rate from this step on. It takes the place of what was planned for later. */
export function withChange(rates: Rates, { step, lr }: RateChange): Rates {
  return [...rates.filter((change) => change.step < step), { step, lr }];
}

/** `100-0.003_250-0.001`: the rate is 0.003 from step 100 on, and 0.001 from step 250 on. */
function readRates(text: string): Rates | undefined {
  if (text === "") return [];
  const rates = text.split("_").map((part) => {
    const [, step = "", lr = ""] = /^(\d+)-(.+)$/.exec(part) ?? [];
    return step === "" || lr.trim() === "" ? undefined : { step: Number(step), lr: Number(lr) };
  });
  const fits = rates.every(
    (change, place) =>
      change !== undefined &&
      Number.isSafeInteger(change.step) &&
      change.lr >= 0 &&
      change.lr <= MOST_RATE &&
      change.step > (rates[place - 1]?.step ?? -1),
  );
  return fits ? (rates as RateChange[]) : undefined;
}

/** How they stand in an address. */
export const ratesParam: Param<Rates> = {
  initial: [],
  read: readRates,
  write: (rates) => rates.map(({ step, lr }) => `${step}-${lr}`).join("_"),
};

/** What has a rate: an optimizer of the package. */
interface Rated {
  lr: number;
}

/** Sets the rate of every step as the changes say: what the package calls a scheduler. */
export class RatePlan {
  #steps = 0;

  constructor(
    readonly optimizer: Rated,
    readonly base: number,
    public rates: Rates,
    /** Told the steps of a checkpoint that is taken up. */
    readonly onResume: (steps: number) => void = () => undefined,
  ) {
    this.#set();
  }

  /** Steps taken so far. */
  get steps(): number {
    return this.#steps;
  }

  step(): void {
    this.#steps += 1;
    this.#set();
  }

  /** Another rate from the next step on; gives the number of steps before it. */
  change(lr: number): number {
    this.rates = withChange(this.rates, { step: this.#steps, lr });
    this.#set();
    return this.#steps;
  }

  state(): { steps: number; bases: number[] } {
    return { steps: this.#steps, bases: [this.base] };
  }

  load({ steps }: { steps: number }): void {
    this.#steps = steps;
    this.#set();
    this.onResume(steps);
  }

  #set(): void {
    const lr = rateAt(this.base, this.rates, this.#steps);
    if (this.optimizer.lr !== lr) this.optimizer.lr = lr;
  }
}
