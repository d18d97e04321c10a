/** Optimizers and learning rate schedules, with PyTorch's rules and defaults. */

import type { Parameter } from "./nn/module.js";
import { settings } from "./nn/layer.js";
import { releaseDeferred } from "./scope.js";
import type { Tensor } from "./tensor.js";
import { arrived, loadSoon, wasm } from "./wasm.js";

const released = new FinalizationRegistry<number>((optimizer) => wasm().optimizer_release(optimizer));

/** Parameters with settings of their own. */
export type Group<O> = O & { parameters: readonly Parameter[] };

/** What an optimizer trains: parameters, or groups of them. */
export type Trained<O> = readonly Parameter[] | readonly Group<O>[];

/** Moves parameters along their gradients. A step is one plan, submitted once. */
export class Optimizer {
  /** @internal */
  readonly number: number;

  /** @internal */
  constructor(kind: string, trained: Trained<object>, options: object) {
    const groups: readonly Group<object>[] = trained.every((each) => "parameters" in each)
      ? (trained as readonly Group<object>[])
      : [{ parameters: trained as readonly Parameter[] }];
    const slots = groups.flatMap(({ parameters }) => parameters.map((parameter) => parameter.slot));
    const sizes = groups.map(({ parameters }) => parameters.length);
    const each = groups.map(({ parameters: _, ...own }) => ruleSettings({ ...options, ...own }));
    this.number = wasm().optimizer_new(kind, Uint32Array.from(slots), Uint32Array.from(sizes), `[${each.join(",")}]`);
    released.register(this, this.number);
  }

  /** Moves every parameter that has a gradient, and computes every result that is held. */
  step(): void {
    wasm().optimizer_step(this.number);
    releaseDeferred();
    loadSoon();
  }

  /** Forgets the gradients. */
  zeroGrad(): void {
    wasm().optimizer_zero_grad(this.number);
  }

  /**
   * With true, a step in which a gradient or a new value is NaN or infinite moves nothing: on the CPU it throws, on the
   * GPU whoever reads a value of that step is told, the loss for one. After that training can go on.
   */
  requireFinite(required = true): this {
    wasm().optimizer_require_finite(this.number, required);
    return this;
  }

  /** The learning rate of the first group; setting it sets those of all. It makes no new plan. */
  get lr(): number {
    return wasm().optimizer_rates(this.number)[0] ?? 0;
  }

  set lr(value: number) {
    this.lrs = this.lrs.map(() => value);
  }

  /** The learning rates of the groups. */
  get lrs(): number[] {
    return Array.from(wasm().optimizer_rates(this.number));
  }

  set lrs(values: readonly number[]) {
    wasm().optimizer_set_rates(this.number, Float64Array.from(values));
  }
}

function ruleSettings({ lr, ...rest }: { lr?: number }): string {
  return settings(lr === undefined ? rest : { learningRate: lr, ...rest });
}

/** Settings that every optimizer has. */
export interface RateOptions {
  lr?: number;
}
/** Settings of SGD. */
export interface SgdOptions extends RateOptions {
  momentum?: number;
  dampening?: number;
  weightDecay?: number;
  nesterov?: boolean;
  maximize?: boolean;
}
/** Settings of Adam and AdamW. */
export interface AdamOptions extends RateOptions {
  betas?: [number, number];
  eps?: number;
  weightDecay?: number;
  amsgrad?: boolean;
  maximize?: boolean;
}
/** Settings of the others; each takes those that its rule has. */
export interface RuleOptions extends RateOptions {
  betas?: [number, number];
  eps?: number;
  weightDecay?: number;
  momentum?: number;
  momentumDecay?: number;
  rho?: number;
  alpha?: number;
  centered?: boolean;
  nesterov?: boolean;
  iterations?: number;
  learningRateDecay?: number;
  initialAccumulator?: number;
  maximize?: boolean;
}

const rule =
  <O extends object>(kind: string) =>
  (trained: Trained<O>, options: O = {} as O) =>
    new Optimizer(kind, trained, options);

/** Stochastic gradient descent, with momentum if asked for. */
export const sgd = rule<SgdOptions>("sgd");
/** Adam. */
export const adam = rule<AdamOptions>("adam");
/** Adam with decoupled weight decay. */
export const adamW = rule<AdamOptions>("adamw");
/** Adadelta. */
export const adadelta = rule<RuleOptions>("adadelta");
/** Adagrad. */
export const adagrad = rule<RuleOptions>("adagrad");
/** Adamax. */
export const adamax = rule<RuleOptions>("adamax");
/** Lion. */
export const lion = rule<RuleOptions>("lion");
/** Muon, for matrices. */
export const muon = rule<RuleOptions>("muon");
/** NAdam. */
export const nadam = rule<RuleOptions>("nadam");
/** RAdam. */
export const radam = rule<RuleOptions>("radam");
/** RMSprop. */
export const rmsprop = rule<RuleOptions>("rmsprop");

/** Settings of L-BFGS. */
export interface LbfgsOptions {
  lr?: number;
  maxIterations?: number;
  maxEvaluations?: number;
  gradientTolerance?: number;
  changeTolerance?: number;
  history?: number;
  lineSearch?: "none" | "strong_wolfe";
}

/** L-BFGS: it needs values, so its step waits. */
export class Lbfgs {
  readonly #number: number;

  constructor(parameters: readonly Parameter[], options: LbfgsOptions = {}) {
    const slots = Uint32Array.from(parameters, (parameter) => parameter.slot);
    this.#number = wasm().lbfgs_new(slots, ruleSettings(options));
  }

  /** One step. `closure` forgets the gradients, makes the loss, runs backward and returns the loss. */
  step(closure: () => Tensor): Promise<number> {
    return arrived(wasm().lbfgs_step(this.#number, () => closure().handle));
  }
}

/** L-BFGS. */
export const lbfgs = (parameters: readonly Parameter[], options: LbfgsOptions = {}) => new Lbfgs(parameters, options);

/** A learning rate as a function of the number of steps. */
export type Schedule =
  | { kind: "step"; size: number; gamma?: number }
  | { kind: "multi_step"; milestones: readonly number[]; gamma?: number }
  | { kind: "exponential"; gamma: number }
  | { kind: "cosine"; period: number; lowest?: number }
  | { kind: "cosine_restarts"; period: number; factor?: number; lowest?: number }
  | { kind: "linear"; start?: number; end?: number; steps?: number }
  | { kind: "constant"; factor?: number; steps?: number }
  | { kind: "polynomial"; steps?: number; power?: number }
  | {
      kind: "one_cycle";
      highest: number;
      steps: number;
      rising_share?: number;
      start_divisor?: number;
      end_divisor?: number;
      three_phases?: boolean;
      /** Whether the momentum falls while the rate rises, and the other way round; true by default. */
      cycle_momentum?: boolean;
    }
  | { kind: "warm_up"; steps: number; start?: number; then: Schedule }
  | { kind: "sequential"; schedules: readonly Schedule[]; milestones: readonly number[] };

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

/** Settings of `reduceOnPlateau`. */
export interface PlateauOptions {
  goal?: "min" | "max";
  factor?: number;
  patience?: number;
  coolDown?: number;
  lowest?: number;
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
