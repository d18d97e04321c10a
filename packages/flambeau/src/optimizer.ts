/** What every optimizer can do. Which there are is the catalogue's (`generated/optimizers.ts`). */

import { settings } from "./nn/layer.js";
import type { Parameter } from "./nn/module.js";
import { releaseDeferred } from "./scope.js";
import { loadSoon, wasm } from "./wasm.js";

const released = new FinalizationRegistry<number>((optimizer) => wasm().optimizer_release(optimizer));

/** Parameters with settings of their own. */
export type Group<O> = O & { parameters: readonly Parameter[] };

/** What an optimizer trains: parameters, or groups of them. */
export type Trained<O> = readonly Parameter[] | readonly Group<O>[];

/** @internal What follows every step. */
export function stepped(): void {
  releaseDeferred();
  loadSoon();
}

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
    const each = groups.map(({ parameters: _, ...own }) => settings({ ...options, ...own }));
    this.number = wasm().optimizer_new(kind, Uint32Array.from(slots), Uint32Array.from(sizes), `[${each.join(",")}]`);
    released.register(this, this.number);
  }

  /** Moves every parameter that has a gradient, and computes every result that is held. */
  step(): void {
    wasm().optimizer_step(this.number);
    stepped();
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
