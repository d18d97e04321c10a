/** Optimizers and learning rate schedules, with PyTorch's rules and defaults. */

import type {
  AdadeltaOptions,
  AdagradOptions,
  AdamaxOptions,
  LbfgsOptions,
  LionOptions,
  MuonOptions,
  NAdamOptions,
  PlateauOptions,
  RAdamOptions,
  RmsPropOptions,
  Schedule,
} from "./generated/optimizers.js";
import type { Parameter } from "./nn/module.js";
import { settings } from "./nn/layer.js";
import type { Optimizer } from "./optimizer.js";
import type { Tensor } from "./tensor.js";
import { arrived, wasm } from "./wasm.js";

export * from "./generated/optimizers.js";
export * from "./optimizer.js";

/** The setting that every optimizer has. */
export interface RateOptions {
  lr?: number;
}

/** Settings of all optimizers but SGD, Adam and AdamW together; each takes those that its rule has. */
export type RuleOptions = AdadeltaOptions &
  AdagradOptions &
  AdamaxOptions &
  LionOptions &
  MuonOptions &
  NAdamOptions &
  RAdamOptions &
  RmsPropOptions;

/** L-BFGS: it needs values, so its step waits. */
export class Lbfgs {
  readonly #number: number;

  constructor(parameters: readonly Parameter[], options: LbfgsOptions = {}) {
    const slots = Uint32Array.from(parameters, (parameter) => parameter.slot);
    this.#number = wasm().lbfgs_new(slots, settings(options));
  }

  /** One step. `closure` forgets the gradients, makes the loss, runs backward and returns the loss. */
  step(closure: () => Tensor): Promise<number> {
    return arrived(wasm().lbfgs_step(this.#number, () => closure().handle));
  }
}

/** L-BFGS. */
export const lbfgs = (parameters: readonly Parameter[], options: LbfgsOptions = {}) => new Lbfgs(parameters, options);

/** Moves an optimizer's rates from step to step. */
export interface Scheduler {
  /** Sets the rates of the next step or epoch; `metric` is for those that look at one. */
  step(metric?: number): void;
  /** What it needs to go on later. */
  state(): SchedulerState;
  /** Goes on from a state. */
  load(state: SchedulerState): void;
}

/** What a scheduler saves. */
export interface SchedulerState {
  steps: number;
  bases: number[];
}

/** Follows a schedule, or a function of the base rate and the number of steps. */
export class LrScheduler implements Scheduler {
  readonly #optimizer: Optimizer;
  readonly #at: (base: number, step: number) => number;
  #bases: number[];
  #steps = 0;

  constructor(optimizer: Optimizer, schedule: Schedule | ((base: number, step: number) => number)) {
    this.#optimizer = optimizer;
    this.#bases = optimizer.lrs;
    if (typeof schedule === "function") {
      this.#at = schedule;
    } else {
      const number = wasm().schedule_new(JSON.stringify(schedule));
      this.#at = (base, step) => {
        const [rate = base, momentum = Number.NaN] = wasm().schedule_at(number, base, step);
        if (!Number.isNaN(momentum)) wasm().optimizer_set_momentum(optimizer.number, momentum);
        return rate;
      };
    }
    this.#set();
  }

  step(): void {
    this.#steps += 1;
    this.#set();
  }

  state(): SchedulerState {
    return { steps: this.#steps, bases: [...this.#bases] };
  }

  load({ steps, bases }: SchedulerState): void {
    this.#steps = steps;
    this.#bases = [...bases];
    this.#set();
  }

  #set(): void {
    this.#optimizer.lrs = this.#bases.map((base) => this.#at(base, this.#steps));
  }
}

/** Lowers the rates when a metric no longer improves. */
export class ReduceOnPlateau implements Scheduler {
  readonly #number: number;

  constructor(
    readonly optimizer: Optimizer,
    options: PlateauOptions = {},
  ) {
    this.#number = wasm().plateau_new(settings(options));
  }

  step(metric?: number): void {
    if (metric === undefined) throw new TypeError("flambeau: reduceOnPlateau needs a metric");
    wasm().plateau_step(this.#number, this.optimizer.number, metric);
  }

  state(): SchedulerState {
    return { steps: 0, bases: this.optimizer.lrs };
  }

  load({ bases }: SchedulerState): void {
    this.optimizer.lrs = bases;
  }
}

/** Follows a schedule. */
export const scheduler = (optimizer: Optimizer, schedule: Schedule | ((base: number, step: number) => number)) =>
  new LrScheduler(optimizer, schedule);
/** Lowers the rates when a metric no longer improves. */
export const reduceOnPlateau = (optimizer: Optimizer, options: PlateauOptions = {}) => new ReduceOnPlateau(optimizer, options);
