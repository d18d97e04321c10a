/**
 * PyTorch's C++ tests as `crates/flambeau/tests/pytorch` has them, compiled to WebAssembly: every test on the CPU and on WebGPU,
 * one after the other. Which tests must be among them, the table of cases says.
 */

import * as module from "./wasm-ported/flambeau.js";
import { enter, lastPanic, promising, text } from "./suspended.js";

/** Where they run. */
export interface PortedPlace {
  wasm: Uint8Array;
  /** The table of cases, `crates/flambeau/tests/data/pytorch_rows.txt`. */
  rows: string;
  /** Only tests whose names contain this. */
  only: string;
  /** Of these the tests from this number on, and how many of them: what a device holds for tests goes with it. */
  first: number;
  count: number;
  tell: (line: string) => void;
}

interface Exports {
  memory: WebAssembly.Memory;
  test_count: () => number;
  test_name: (number: number) => number;
  test_name_length: (number: number) => number;
  test_run: (number: number) => void;
}

/** How a note in the table begins where a test needs what WebAssembly lacks. */
const NATIVE = "native only";

/** Tests that took longest, which the run names. */
const SLOWEST = 4;

/** Seconds after which a test is told at once. */
const LONG = 15;

/** Every test that a row of the table names, and whether it needs what WebAssembly lacks. */
function expected(rows: string): { here: Set<string>; elsewhere: Set<string> } {
  const [here, elsewhere] = [new Set<string>(), new Set<string>()];
  for (const row of rows.split("\n").filter((row) => row !== "" && !row.startsWith("#"))) {
    const [, test = "-", note = ""] = row.split(" | ");
    if (test !== "-") (note.startsWith(NATIVE) ? elsewhere : here).add(test);
  }
  return { here, elsewhere };
}

/** Lets promises be kept, and buffers go that nobody names any more: a test that never yields leaves many behind. */
async function tidy(): Promise<void> {
  await new Promise((done) => setTimeout(done));
  (globalThis as { gc?: () => void }).gc?.();
}

/** The tests of a place that are given in text, as addresses and command lines do. */
export const portion = (only: string | null, first: string | null, count: string | null) => ({
  only: only ?? "",
  first: Number(first ?? 0),
  count: Number(count ?? Number.POSITIVE_INFINITY),
});

/** Runs them; what failed. The last line that is told says how many tests come after them. */
export async function runPorted({ wasm, rows, only, first, count, tell }: PortedPlace): Promise<string[]> {
  const compiled = await WebAssembly.compile(wasm as BufferSource);
  const instance = await WebAssembly.instantiate(compiled, module.imports());
  const exports = instance.exports as unknown as Exports;
  enter(exports.memory);
  module.finish(instance, compiled);
  const names = Array.from({ length: exports.test_count() }, (_, number) =>
    text(exports.test_name(number), exports.test_name_length(number)),
  );
  const { here, elsewhere } = expected(rows);
  const failed = [...here].filter((name) => !names.includes(name)).map((name) => `${name} is not in the module`);
  failed.push(...names.filter((name) => !here.has(name)).map((name) => `${name} is in the module, and in no row`));
  const times: { name: string; seconds: number }[] = [];
  const asked = names.filter((name) => name.includes(only));
  const left = Math.max(asked.length - first - count, 0);
  for (const name of asked.slice(first, first + count)) {
    const number = names.indexOf(name);
    const start = performance.now();
    try {
      await promising(exports.test_run)(number);
    } catch (error) {
      // What a trap leaves behind is not to be built on, and promises that are still to be kept know no other instance.
      failed.push(`${name}: ${lastPanic() || String(error)}; those of its portion after it did not run`);
      break;
    }
    await tidy();
    const seconds = (performance.now() - start) / 1000;
    times.push({ name, seconds });
    if (seconds > LONG) tell(`ported  ${name}: ${seconds.toFixed(1)} s`);
  }
  times.sort((one, other) => other.seconds - one.seconds);
  const all = times.reduce((sum, { seconds }) => sum + seconds, 0);
  const longest = times.slice(0, SLOWEST).map(({ name, seconds }) => `${name} ${seconds.toFixed(1)}`);
  const range = `${first + times.length} of ${asked.length} tests`;
  tell(`ported  ${range}, in ${all.toFixed(0)} s; longest: ${longest.join(", ")}`);
  if (left === 0) tell(`ported  ${elsewhere.size} more are native only`);
  tell(`@left ${left}`);
  return failed;
}
