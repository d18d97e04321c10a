/** Modules: parameters, buffers and other modules under PyTorch's names. */

import { adopt } from "../maker.js";
import type { Tensor } from "../tensor.js";
import { wasm } from "../wasm.js";

const released = new FinalizationRegistry<number>((slot) => wasm().slot_release(slot));

/** A value that belongs to a module: a parameter, which training changes, or a buffer, which is only saved. */
export class Slot {
  /** @internal */
  readonly slot: number;
  /** @internal The same for every handle of one slot. */
  readonly key: number;

  /** @internal */
  constructor(slot: number) {
    this.slot = slot;
    this.key = wasm().slot_key(slot);
    released.register(this, slot);
  }

  /** The value now, without history. */
  value(): Tensor {
    return adopt(wasm().slot_get(this.slot, false));
  }

  /** Puts in a new value of the same shape and dtype. */
  set(value: Tensor): void {
    wasm().slot_set(this.slot, value.handle);
  }
}

/** A value that training changes, with its gradient. */
export class Parameter extends Slot {
  /** The value now, for use in a model: what is computed from it can be differentiated. */
  get(): Tensor {
    return adopt(wasm().slot_get(this.slot, true));
  }

  /** The gradient that `backward` has collected. */
  get grad(): Tensor | undefined {
    const handle = wasm().slot_grad(this.slot);
    return handle === 0 ? undefined : adopt(handle);
  }

  set grad(value: Tensor | undefined) {
    wasm().slot_set_grad(this.slot, value?.handle ?? 0);
  }

  /** Is it trained at present? */
  get requiresGrad(): boolean {
    return wasm().slot_requires_grad(this.slot);
  }

  set requiresGrad(value: boolean) {
    wasm().slot_set_requires_grad(this.slot, value);
  }
}

/** A value that is saved with its module, but not trained. */
export class Buffer extends Slot {
  /** The value now. */
  get(): Tensor {
    return this.value();
  }
}

/** A parameter of a module of one's own. */
export function parameter(value: Tensor): Parameter {
  return new Parameter(wasm().slot_new(value.handle, true));
}

/** A buffer of a module of one's own. */
export function buffer(value: Tensor): Buffer {
  return new Buffer(wasm().slot_new(value.handle, false));
}

/** How names must fit when values are loaded. */
export interface LoadOptions {
  /** Are names that only one side has an error? */
  strict?: boolean;
}

/** What was loaded, and what was not. */
export interface LoadReport {
  matched: string[];
  missing: string[];
  unexpected: string[];
}

/**
 * A model or a piece of one. Parameters, buffers, modules and lists of modules that are put into its fields are its
 * parts, under the fields' names.
 *
 * ```ts
 * class Net extends nn.Module {
 *   fc1 = nn.linear(784, 128);
 *   fc2 = nn.linear(128, 10);
 *   forward(x: Tensor) {
 *     return this.fc2.forward(this.fc1.forward(x).relu());
 *   }
 * }
 * ```
 */
export abstract class Module {
  /** Is it in training mode? */
  training = true;

  /** The parts of this module itself, without those of its modules. */
  protected *ownParts(): Iterable<[string, Slot | Module]> {
    for (const [name, field] of Object.entries(this)) {
      if (field instanceof Slot || field instanceof Module) yield [name, field];
      else if (Array.isArray(field)) {
        for (const [index, each] of field.entries()) {
          if (each instanceof Slot || each instanceof Module) yield [`${name}.${index}`, each];
        }
      }
    }
  }

  /** @internal Parameters and buffers with their names, in their order. */
  *slots(prefix = ""): Iterable<[string, Slot]> {
    for (const [name, part] of this.ownParts()) {
      if (part instanceof Slot) yield [prefix + name, part];
      else yield* part.slots(`${prefix}${name}.`);
    }
  }

  /** Parameters with their names; one held in several places appears under each. */
  namedParameters(): [string, Parameter][] {
    return [...this.slots()].filter((entry): entry is [string, Parameter] => entry[1] instanceof Parameter);
  }

  /** The parameters, each once: what an optimizer takes. */
  parameters(): Parameter[] {
    return [...new Map(this.namedParameters().map(([, parameter]) => [parameter.key, parameter])).values()];
  }

  /** Buffers with their names. */
  namedBuffers(): [string, Buffer][] {
    return [...this.slots()].filter((entry): entry is [string, Buffer] => entry[1] instanceof Buffer);
  }

  /** The number of trained numbers. */
  parameterCount(): number {
    return this.parameters().reduce((sum, parameter) => sum + parameter.value().size, 0);
  }

  /** Switches to training: dropout drops, batch norm uses the batch. */
  train(training = true): this {
    this.training = training;
    for (const [, part] of this.ownParts()) if (part instanceof Module) part.train(training);
    return this;
  }

  /** Switches to evaluation. */
  eval(): this {
    return this.train(false);
  }

  /** Freezes (or thaws) every parameter. */
  requiresGrad(value: boolean): this {
    for (const parameter of this.parameters()) parameter.requiresGrad = value;
    return this;
  }

  /** Forgets the gradients. */
  zeroGrad(): void {
    for (const parameter of this.parameters()) parameter.grad = undefined;
  }

  /** The values of parameters and buffers under PyTorch's names. */
  stateDict(): Record<string, Tensor> {
    return Object.fromEntries([...this.slots()].map(([name, slot]) => [name, slot.value()]));
  }

  /** Takes up values under PyTorch's names. With `strict` (the default) nothing changes unless all names fit. */
  loadStateDict(state: Record<string, Tensor>, { strict = true }: LoadOptions = {}): LoadReport {
    const slots = new Map(this.slots());
    const matched = [...slots.keys()].filter((name) => name in state);
    const missing = [...slots.keys()].filter((name) => !(name in state));
    const unexpected = Object.keys(state).filter((name) => !slots.has(name));
    if (strict && (missing.length > 0 || unexpected.length > 0)) {
      throw new Error(
        `flambeau: the names do not fit; missing: ${missing.join(", ") || "none"}; ` +
          `unexpected: ${unexpected.join(", ") || "none"}`,
      );
    }
    for (const name of matched) {
      const [slot, value] = [slots.get(name), state[name]];
      if (slot === undefined || value === undefined) continue;
      const [wanted, given] = [slot.value().shape, value.shape];
      if (wanted.join() !== given.join()) {
        throw new Error(`flambeau: ${name} has shape [${wanted.join(", ")}], the file's is [${given.join(", ")}]`);
      }
    }
    for (const name of matched) {
      const [slot, value] = [slots.get(name), state[name]];
      if (slot !== undefined && value !== undefined) slot.set(value.toDtype(slot.value().dtype));
    }
    return { matched, missing, unexpected };
  }

  /** Gives the parameters their names, which errors will use. */
  setNames(): void {
    for (const [name, slot] of this.slots()) wasm().slot_set_name(slot.slot, name);
  }

  /** The modules it is made of, as PyTorch prints them. */
  summary(): string {
    const lines = [`${this.constructor.name}(`];
    for (const [name, part] of this.ownParts()) {
      if (part instanceof Module) lines.push(`  (${name}): ${part.summary().replaceAll("\n", "\n  ")}`);
    }
    return lines.length === 1 ? `${this.constructor.name}()` : [...lines, ")"].join("\n");
  }
}

/** A module with one input and one output: what `sequential` strings together. */
export interface Forward extends Module {
  /** The output for this input. */
  forward(input: Tensor): Tensor;
}
