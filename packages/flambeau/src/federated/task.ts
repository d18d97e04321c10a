/** What a server asks for: settings, read with care, and what a strategy adds to the loss. */

import type { Parameter, Slot } from "../nn/module.js";
import type { Tensor } from "../tensor.js";

/** A setting as servers send them. Bytes are lists of numbers; whole numbers from 2⁵³ on are rounded, and numbers that are not finite are `NaN`. */
export type Setting = number | boolean | string | readonly Setting[];

/** What a number must be. */
export interface Bounds {
  /** The least that is taken (default: 0). */
  least?: number;
  /** The most that is taken (default: 1e6). */
  most?: number;
}

/** What Flower's FedProx calls μ. */
const PROXIMAL = ["proximal-mu", "proximal_mu"];

/** A round, or a test, as the server asks for it. */
export class Task {
  readonly #proximal: number;
  readonly #starts: [Parameter, Tensor][];

  /** @internal */
  constructor(
    /** The run, by the server's number for it. */
    readonly run: string,
    /** The server's settings by name. */
    readonly settings: ReadonlyMap<string, Setting>,
    /** Tells when the client shall come to an end: training may stop, by an error, as soon as it is given. */
    readonly signal: AbortSignal,
    slots: readonly Slot[],
  ) {
    this.#proximal = this.number(PROXIMAL, 0, { most: 1e9 });
    const parameters = this.#proximal > 0 ? slots.filter((slot): slot is Parameter => "requiresGrad" in slot) : [];
    this.#starts = parameters.map((parameter) => [parameter, parameter.value().keep()]);
  }

  /** The round, where the server tells it. */
  get round(): number | undefined {
    const round = this.settings.get("server-round") ?? this.settings.get("server_round");
    return typeof round === "number" ? round : undefined;
  }

  /**
   * A number among the settings, under the first of these names that is there; `otherwise` where none is. One that is out of bounds, or no
   * number, is an error, which the server gets.
   */
  number(names: string | readonly string[], otherwise: number, { least = 0, most = 1e6 }: Bounds = {}): number {
    const name = [names].flat().find((name) => this.settings.has(name));
    if (name === undefined) return otherwise;
    const value = this.settings.get(name);
    if (typeof value === "number" && value >= least && value <= most) return value;
    throw new RangeError(`flambeau: ${name}: the server says ${JSON.stringify(value)}; this client takes ${least} to ${most}`);
  }

  /**
   * What is to be made small: the loss, and what the server's strategy adds to it. FedProx adds μ/2 |w − w₀|², with w₀ the parameters that the round
   * began with; others add nothing.
   */
  objective(loss: Tensor): Tensor {
    const distances = this.#starts.map(([parameter, start]) => parameter.get().sub(start).square().sum());
    return distances.reduce((sum, distance) => sum.add(distance.mul(this.#proximal / 2)), loss);
  }

  /** @internal The parameters that the round began with are needed no more. */
  end(): void {
    for (const [, start] of this.#starts.splice(0)) start.dispose();
  }
}
