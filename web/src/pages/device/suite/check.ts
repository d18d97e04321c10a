/** Judges cases: values and derivatives on a device against the CPU's, element by element. */

import { grad, Ops, scope, tensor, useDevice, type Device, type Tensor } from "flambeau";
import { arrangement } from "./arrangement.js";
import { place, randomOf, type Case } from "./case.js";
import { elementwise } from "./elementwise.js";
import { sums } from "./sums.js";

/** Every case. */
export const cases: readonly Case[] = [...elementwise, ...arrangement, ...sums];

/** A float may differ by this much, and by this share of the CPU's value. Whole numbers and truths must be equal. */
export const ABSOLUTE = 1e-5;
export const RELATIVE = 1e-4;

/** How an op did, over its cases. */
export interface OpReport {
  op: string;
  group: string;
  cases: number;
  /** Elements compared: of values, and of derivatives. */
  values: number;
  gradients: number;
  /** The largest difference from the CPU, of values and of derivatives. */
  valueError: number;
  gradientError: number;
  /** What failed, in words. */
  failures: string[];
}

/** Ops that the table of the package has and no case calls. */
export function uncovered(): string[] {
  const called = new Set(cases.map(({ op }) => op));
  const methods = Object.getOwnPropertyNames(Ops.prototype).filter((name) => name !== "constructor");
  return methods.filter((name) => !called.has(name));
}

/** The cases, op by op. */
export function byOp(): Map<string, Case[]> {
  const ops = new Map<string, Case[]>();
  for (const each of cases) ops.set(each.op, [...(ops.get(each.op) ?? []), each]);
  return ops;
}

interface Computed {
  values: ArrayLike<number>[];
  gradients: ArrayLike<number>[];
  whole: boolean[];
}

/** Runs the cases of one op on both devices. */
export async function judge(op: string, its: readonly Case[], device: Device, truth: Device): Promise<OpReport> {
  const report: OpReport = {
    op,
    group: its[0]?.group ?? "",
    cases: its.length,
    values: 0,
    gradients: 0,
    valueError: 0,
    gradientError: 0,
    failures: [],
  };
  for (const [index, each] of its.entries()) {
    try {
      const expected = await compute(each, index, truth);
      const actual = await compute(each, index, device);
      const values = compare(actual.values, expected.values, expected.whole);
      const gradients = compare(actual.gradients, expected.gradients, []);
      report.values += values.count;
      report.gradients += gradients.count;
      report.valueError = Math.max(report.valueError, values.error);
      report.gradientError = Math.max(report.gradientError, gradients.error);
      if (values.failure !== undefined) report.failures.push(`value: ${values.failure}`);
      if (gradients.failure !== undefined) report.failures.push(`derivative: ${gradients.failure}`);
    } catch (error) {
      report.failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  return report;
}

async function compute(each: Case, index: number, device: Device): Promise<Computed> {
  useDevice(device);
  const inputs = each.inputs.map((input, position) => {
    const name = `${each.op} ${index} ${position}`;
    return scope(() => {
      const made = place(input, name);
      return each.gradient && input.dtype === "f32" ? made.requiresGrad() : made;
    });
  });
  const result = await each.run(inputs);
  const outputs = Array.isArray(result) ? (result as readonly Tensor[]) : [result as Tensor];
  const gradients = each.gradient ? derivatives(each.op, outputs, inputs) : [];
  const values: ArrayLike<number>[] = [];
  for (const output of outputs) values.push((await output.data()) as ArrayLike<number>);
  const read: ArrayLike<number>[] = [];
  for (const gradient of gradients) read.push((await gradient.data()) as ArrayLike<number>);
  const whole = outputs.map(({ dtype }) => dtype !== "f32");
  for (const each of [...inputs, ...outputs, ...gradients]) each.dispose();
  return { values, gradients: read, whole };
}

/** The derivatives of a weighted sum of all outputs with respect to every input that has one. */
function derivatives(op: string, outputs: readonly Tensor[], inputs: readonly Tensor[]): Tensor[] {
  return scope(() => {
    const random = randomOf(`${op} weights`);
    const totals = outputs
      .filter(({ isTracked, dtype }) => isTracked && dtype === "f32")
      .map((output) => {
        const weights = Float32Array.from({ length: output.size }, () => 0.5 + random());
        return output.mul(tensor(weights, { shape: output.shape })).sum();
      });
    const leaves = inputs.filter(({ isTracked }) => isTracked);
    if (totals.length === 0 || leaves.length === 0) throw new Error("nothing to differentiate");
    const found = grad(totals, leaves, { retainGraph: true });
    return found.filter((each) => each !== undefined);
  });
}

interface Comparison {
  count: number;
  error: number;
  failure?: string;
}

function compare(
  actual: readonly ArrayLike<number>[],
  expected: readonly ArrayLike<number>[],
  whole: readonly boolean[],
): Comparison {
  const found: Comparison = { count: 0, error: 0 };
  if (actual.length !== expected.length) {
    return { ...found, failure: `${actual.length} results, the CPU has ${expected.length}` };
  }
  for (const [index, wanted] of expected.entries()) {
    const got = actual[index] ?? [];
    if (got.length !== wanted.length) {
      return { ...found, failure: `${got.length} elements, the CPU has ${wanted.length}` };
    }
    for (let at = 0; at < wanted.length; at += 1) {
      const [a = 0, b = 0] = [Number(got[at]), Number(wanted[at])];
      found.count += 1;
      if (Object.is(a, b) || a === b) continue;
      const difference = Math.abs(a - b);
      const allowed = whole[index] === true ? 0 : ABSOLUTE + RELATIVE * Math.abs(b);
      if (!Number.isNaN(difference)) found.error = Math.max(found.error, difference);
      if (!(difference <= allowed)) found.failure ??= `element ${at} is ${a}, the CPU says ${b}`;
    }
  }
  return found;
}
