/** What a case of the self-test is: an op, sample inputs, and how it is called. */

import { tensor, type DType, type Ops, type Tensor } from "flambeau";
import { uniform } from "../../../work/random.js";

/** The families in which the page lists ops. */
export const groups = [
  "Arithmetic",
  "Functions",
  "Comparison and bits",
  "Activations",
  "Creation and random numbers",
  "Shapes",
  "Indexing and sorting",
  "Reductions",
  "Products",
  "Convolution and pooling",
  "Normalisation and attention",
  "Losses",
] as const;

export type Group = (typeof groups)[number];

/** A sample input: a shape, and the range its values are drawn from or the values themselves. */
export interface Input {
  shape: readonly number[];
  dtype: DType;
  low: number;
  high: number;
  values?: readonly number[];
}

/** What an op gives. */
export type Result = Tensor | readonly Tensor[];

/** One op on one set of inputs. */
export interface Case {
  op: string;
  group: Group;
  inputs: readonly Input[];
  run(inputs: Tensor[]): Result | Promise<Result>;
  /** Is its derivative compared too? */
  gradient: boolean;
}

/** Floats of a shape in a range. */
export const floats = (shape: readonly number[], low = -2, high = 2): Input => ({ shape, dtype: "f32", low, high });

/** Whole numbers of a shape in low..high. */
export const integers = (shape: readonly number[], low: number, high: number): Input => ({
  shape,
  dtype: "i32",
  low,
  high,
});

/** Truths of a shape. */
export const truths = (shape: readonly number[]): Input => ({ shape, dtype: "bool", low: 0, high: 2 });

/** These values. */
export const given = (values: readonly number[], shape: readonly number[], dtype: DType = "f32"): Input => ({
  shape,
  dtype,
  low: 0,
  high: 1,
  values,
});

/** Numbers in [0, 1) that a text decides. */
export function randomOf(text: string): () => number {
  let state = 0x811c9dc5;
  for (const letter of text) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return uniform(state);
}

/** The values of an input: always the same for the same op and place. */
export function valuesOf(input: Input, name: string): number[] {
  if (input.values !== undefined) return [...input.values];
  const random = randomOf(name);
  const count = input.shape.reduce((product, size) => product * size, 1);
  return Array.from({ length: count }, () => {
    const value = input.low + (input.high - input.low) * random();
    return input.dtype === "f32" ? Math.fround(value) : Math.floor(value);
  });
}

/** The input on the device of new tensors. */
export function place(input: Input, name: string): Tensor {
  const values = valuesOf(input, name);
  const shape = [...input.shape];
  switch (input.dtype) {
    case "i32":
      return tensor(Int32Array.from(values), { shape });
    case "u32":
      return tensor(Uint32Array.from(values), { shape });
    case "bool":
      return tensor(Uint8Array.from(values), { shape, dtype: "bool" });
    default:
      return tensor(Float32Array.from(values), { shape });
  }
}

/** The methods that need nothing more than the tensor. */
export type Unary = { [K in keyof Ops]: Ops[K] extends () => Tensor ? K : never }[keyof Ops];

/** The methods that take one other tensor or number. */
export type Binary = {
  [K in keyof Ops]: Ops[K] extends (other: Tensor | number) => Tensor ? K : never;
}[keyof Ops];

/** Makes the cases of one group. */
export class CaseMaker {
  readonly cases: Case[] = [];

  constructor(readonly group: Group) {}

  /** A case that is called by a function of its inputs; its derivative is compared. */
  smooth(op: string, inputs: readonly Input[], run: Case["run"]): this {
    this.cases.push({ op, group: this.group, inputs, run, gradient: true });
    return this;
  }

  /** A case without a derivative. */
  plain(op: string, inputs: readonly Input[], run: Case["run"]): this {
    this.cases.push({ op, group: this.group, inputs, run, gradient: false });
    return this;
  }

  /** A method of one tensor. */
  unary(op: Unary, input: Input = floats([33, 17]), gradient = true): this {
    this.cases.push({ op, group: this.group, inputs: [input], run: ([x]) => of(x)[op](), gradient });
    return this;
  }

  /** A method of two tensors, the second of which is repeated along the first dimension; and with a number. */
  binary(op: Binary, left: Input = floats([33, 17]), right: Input = floats([17], 0.5, 2), gradient = true): this {
    const number = right.dtype === "f32" ? 1.25 : 1;
    const make = (inputs: readonly Input[], run: Case["run"]): Case => ({
      op,
      group: this.group,
      inputs,
      run,
      gradient,
    });
    this.cases.push(
      make([left, right], ([x, y]) => of(x)[op](of(y))),
      make([left], ([x]) => of(x)[op](number)),
    );
    return this;
  }
}

/** An input that is there: cases are called with as many tensors as they have inputs. */
export function of(input: Tensor | undefined): Tensor {
  if (input === undefined) throw new Error("a case was called with too few inputs");
  return input;
}
