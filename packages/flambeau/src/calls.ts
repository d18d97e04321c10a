/** How an op is called: its number, the tensors, and one list of numbers that holds everything else. */

import { dtypes, type Dims, type DType, type Generator, type Sizes } from "./types.js";
import { adopt } from "./maker.js";
import type { Tensor } from "./tensor.js";
import { wasm } from "./wasm.js";

/** Something with a tensor's number. */
interface Handle {
  readonly handle: number;
}

/** Collects the arguments of one call, in the order in which the module reads them. */
export class Args {
  readonly tensors: number[] = [];
  readonly numbers: number[] = [];

  /** A tensor. */
  t(tensor: Handle): this {
    this.tensors.push(handleOf(tensor));
    return this;
  }

  /** A tensor or none. */
  mt(tensor: Handle | undefined): this {
    this.tensors.push(tensor === undefined ? 0 : handleOf(tensor));
    return this;
  }

  /** Tensors. */
  ts(tensors: readonly Handle[]): this {
    this.numbers.push(tensors.length);
    for (const tensor of tensors) this.t(tensor);
    return this;
  }

  /** A tensor or a number. */
  o(operand: Handle | number): this {
    if (typeof operand === "number") {
      this.numbers.push(1, operand);
      return this;
    }
    this.numbers.push(0);
    return this.t(operand);
  }

  /** A number. */
  n(value: number): this {
    if (typeof value !== "number") throw new TypeError(`flambeau: a number was expected, not ${String(value)}`);
    this.numbers.push(value);
    return this;
  }

  /** A number or none. */
  mn(value: number | undefined): this {
    if (value === undefined) this.numbers.push(0);
    else this.numbers.push(1, value);
    return this;
  }

  /** A truth. */
  b(value: boolean): this {
    this.numbers.push(value ? 1 : 0);
    return this;
  }

  /** Numbers. */
  ns(values: Sizes): this {
    if (typeof values === "number") this.numbers.push(1, values);
    else this.numbers.push(values.length, ...values);
    return this;
  }

  /** Dimensions. */
  d(dims: Dims): this {
    if (dims === undefined) this.numbers.push(-1);
    else this.ns(dims);
    return this;
  }

  /** Text. */
  s(text: string): this {
    const codes = Array.from(text, (letter) => letter.codePointAt(0) ?? 0);
    this.numbers.push(codes.length, ...codes);
    return this;
  }

  /** A word or a number. */
  w(value: string | number): this {
    if (typeof value === "string") return this.s(value);
    this.numbers.push(0);
    return this.n(value);
  }

  /** A generator; the default one if there is none. */
  g(generator: Generator | undefined): this {
    this.numbers.push(generator?.number ?? 0);
    return this;
  }

  /** A dtype. */
  ty(dtype: DType): this {
    this.numbers.push(dtypes.indexOf(dtype));
    return this;
  }

  /** A dtype or none. */
  mty(dtype: DType | undefined): this {
    this.numbers.push(dtype === undefined ? -1 : dtypes.indexOf(dtype));
    return this;
  }
}

function handleOf(tensor: Handle): number {
  const handle = (tensor as Handle | undefined)?.handle;
  if (typeof handle !== "number") throw new TypeError(`flambeau: a tensor was expected, not ${String(tensor)}`);
  return handle;
}

/** The arguments of a call, which begin with a tensor for a method. */
export function args(self?: Handle): Args {
  const args = new Args();
  return self === undefined ? args : args.t(self);
}

/** Calls an op that gives one tensor. */
export function one(op: number, { tensors, numbers }: Args): Tensor {
  return adopt(wasm().call(op, Uint32Array.from(tensors), Float64Array.from(numbers)));
}

/** Calls a method that gives several tensors. */
export function many(op: number, { tensors, numbers }: Args): Tensor[] {
  return Array.from(wasm().call_many(op, Uint32Array.from(tensors), Float64Array.from(numbers)), adopt);
}

/** Calls a method that gives two tensors. */
export function two(op: number, args: Args): [Tensor, Tensor] {
  return some(op, args, 2) as [Tensor, Tensor];
}

/** Calls a function that gives three tensors. */
export function three(op: number, args: Args): [Tensor, Tensor, Tensor] {
  return some(op, args, 3) as [Tensor, Tensor, Tensor];
}

function some(op: number, args: Args, count: number): Tensor[] {
  const found = many(op, args);
  if (found.length !== count) throw new Error(`flambeau: ${count} tensors were expected`);
  return found;
}
