/** Mixed precision: the scope in which ops choose their dtypes, and the scaler that keeps small gradients. */

import { within } from "./autograd.js";
import type { GradScalerOptions } from "./generated/optimizers.js";
import { adopt } from "./maker.js";
import { settings } from "./nn/layer.js";
import { type Optimizer, stepped } from "./optimizer.js";
import type { Tensor } from "./tensor.js";
import { arrived, wasm } from "./wasm.js";

/** What {@link autocast} can be told. */
export interface AutocastOptions {
  /** With false, full precision inside of another scope. Default: true. */
  enabled?: boolean;
}

/**
 * Runs a function in mixed precision, as PyTorch's `torch.autocast` with float16.
 *
 * In it products, convolutions, attention and recurrent layers take `f32` as `f16` and give `f16`; exponentials, logarithms,
 * powers, sums, norms, softmax and losses take `f16` as `f32`; other ops take what they are given. Parameters stay `f32`, and so do
 * their gradients. Only the forward pass belongs into it; scale the loss by a {@link GradScaler}.
 *
 * A GPU needs the feature `shader-f16` for it (`deviceInfo().features`); where it is missing, the first op that would take `f16`
 * throws an error that says so. The CPU always has `f16`.
 *
 * ```ts
 * const scaler = new GradScaler();
 * const loss = autocast(() => net.forward(x).crossEntropy(y));
 * scaler.scale(loss).backward();
 * scaler.step(optimizer);
 * scaler.update();
 * optimizer.zeroGrad();
 * ```
 */
export function autocast<T>(body: () => T, { enabled = true }: AutocastOptions = {}): T {
  const { autocast_enter: enter, autocast_leave: leave } = wasm();
  return within("autocast", () => enter(enabled), leave, body);
}

/** Is mixed precision on? */
export function isAutocastEnabled(): boolean {
  return wasm().autocast_enabled();
}

/** What a scaler saves. */
export interface GradScalerState {
  scale: number;
  /** Good steps in a row. */
  growthTracker: number;
}

const released = new FinalizationRegistry<number>((scaler) => wasm().scaler_release(scaler));

/**
 * Scales the loss before the backward pass and the gradients back before the step, by PyTorch's rules and defaults: gradients that
 * `f16` is too coarse for are large enough in between. Where one is not finite, the step is skipped and the scale is halved; after
 * 2,000 good steps in a row it is doubled. The device decides all of that: nothing is waited for, and a step is one plan, as without.
 */
export class GradScaler {
  readonly #number: number;

  constructor(options: GradScalerOptions = {}) {
    this.#number = wasm().scaler_new(settings(options));
    released.register(this, this.#number);
  }

  /** The loss times the scale: what `backward` is called on. */
  scale(loss: Tensor): Tensor {
    return adopt(wasm().scaler_scale(this.#number, loss.handle));
  }

  /** Divides the gradients of the optimizer's parameters by the scale, once between two updates: before they are clipped or looked at. */
  unscale(optimizer: Optimizer): void {
    wasm().scaler_unscale(this.#number, optimizer.number);
  }

  /** The optimizer's step with the gradients divided by the scale, unless that has been done; skipped if one of them is not finite. */
  step(optimizer: Optimizer): void {
    wasm().scaler_step(this.#number, optimizer.number);
    stepped();
  }

  /** Puts the next scale in place, after the step or the steps of all optimizers that share it; or this one. */
  update(newScale?: number): void {
    wasm().scaler_update(this.#number, newScale);
  }

  /** The scale, read from the device. */
  async getScale(): Promise<number> {
    return (await this.state()).scale;
  }

  /** What it needs to go on later, read from the device. */
  async state(): Promise<GradScalerState> {
    const [scale = 1, growthTracker = 0] = await arrived(wasm().scaler_read(this.#number));
    return { scale, growthTracker };
  }

  /** Goes on from a state. */
  load({ scale, growthTracker }: GradScalerState): void {
    wasm().scaler_load(this.#number, scale, growthTracker);
  }
}
