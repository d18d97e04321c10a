/** Tests that run in any JavaScript: a list of functions that throw. */

import type { Device, InitOptions } from "flambeau";

export interface Test {
  name: string;
  run: (context: Context) => Promise<void> | void;
  /** Is it about WebGPU, and no test where the CPU computes? */
  needsGpu: boolean;
}

/** What the place a test runs in has. */
export interface Context {
  /** Is WebGPU what runs the tensors here? */
  gpu: boolean;
  /** Do the long tests run in full here? They do in one place; elsewhere a part shows that they work there too. */
  thorough: boolean;
  /** Opens another WebGPU device; that of new tensors stays. */
  open: (options: InitOptions) => Promise<Device>;
  /** WebGPU's adapter, where there is one. */
  adapter: () => Promise<GPUAdapter>;
  /** Bytes of a file of the repository. */
  file: (path: string) => Promise<Uint8Array>;
  /** Says something that the run shows. */
  note: (text: string) => void;
}

export const tests: Test[] = [];

/** Adds a test. */
export function test(name: string, run: Test["run"]): void {
  tests.push({ name, run, needsGpu: false });
}

/** Adds a test that is about WebGPU. */
export function gpuTest(name: string, run: Test["run"]): void {
  tests.push({ name, run, needsGpu: true });
}

/** Fails unless it is true. */
export function assert(truth: boolean, what: string): asserts truth {
  if (!truth) throw new Error(what);
}

/** Fails unless both print alike. */
export function equal(found: unknown, wanted: unknown): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (left !== right) throw new Error(`found ${left}, wanted ${right}`);
}

/** Fails unless all numbers are near. */
export function near(found: unknown, wanted: unknown, tolerance = 1e-5): void {
  const flat = (value: unknown): number[] => (Array.isArray(value) ? value.flatMap(flat) : [Number(value)]);
  const [left, right] = [flat(found), flat(wanted)];
  const off = left.findIndex((value, index) => !(Math.abs(value - (right[index] ?? Number.NaN)) <= tolerance));
  if (left.length !== right.length || off >= 0) {
    throw new Error(`found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)} (± ${tolerance})`);
  }
}

/** Fails unless it throws an error whose message has this in it. */
export async function throws(body: () => unknown, message: string): Promise<void> {
  let said = "nothing was thrown";
  try {
    await body();
  } catch (error) {
    said = error instanceof Error ? error.message : String(error);
    if (said.includes(message)) return;
  }
  throw new Error(`wanted an error with “${message}”: ${said}`);
}
