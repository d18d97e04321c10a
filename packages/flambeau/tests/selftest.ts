/** The library's own suite, compiled to WebAssembly: every op of the table against the interpreter, and random graphs. */

import * as suite from "./wasm/flambeau.js";

interface Report {
  summary: string;
  cases: number;
  ops: number;
  failures: string[];
}

/** Where the suite runs. */
export interface SuitePlace {
  device: "cpu" | "software";
  wasm: string | Uint8Array;
  /** Every case, or those that have every op in every dtype? */
  everyCase: boolean;
  file: (path: string) => Promise<Uint8Array>;
  tell: (line: string) => void;
}

/** The losses that the training run has natively. */
const CURVE = "crates/flambeau/tests/data/training_curve.json";
const TOLERANCE = 1e-4;

/** Runs it; what failed. */
export async function runSuite({ device, wasm, everyCase, file, tell }: SuitePlace): Promise<string[]> {
  await suite.default({ module_or_path: wasm });
  const opened = await suite.device_open(device === "cpu", false, true, true, 0);
  const said = (json: string): string[] => {
    const report = JSON.parse(json) as Report;
    tell(`suite  ${report.summary}`);
    return report.cases < 10 ? ["hardly a case ran"] : report.failures;
  };
  // As the package does, for Firefox: see `arrived` there.
  const nudging = /Firefox/.test(navigator.userAgent ?? "") ? setInterval(() => suite.devices_nudge(), 2) : undefined;
  try {
    const ops = said(await suite.selftest_ops(opened, everyCase, () => undefined));
    const graphs = said(await suite.selftest_graphs(opened, 0, 40));
    return [...ops, ...graphs, ...(await training())];
  } finally {
    clearInterval(nudging);
  }

  async function training(): Promise<string[]> {
    const [pictures, labels, native] = await Promise.all(
      ["data/mnist/t10k-images-idx3-ubyte.gz", "data/mnist/t10k-labels-idx1-ubyte.gz", CURVE].map(file),
    );
    const losses = await suite.selftest_training(opened, pictures as Uint8Array, labels as Uint8Array);
    const expected = JSON.parse(new TextDecoder().decode(native)) as number[];
    const apart = expected.map((loss, step) => Math.abs(loss - (losses[step] ?? Number.NaN)));
    const most = Math.max(...apart);
    tell(`suite  a training run: ${losses.length} losses, at most ${most.toExponential(1)} from the native ones`);
    return losses.length === expected.length && most <= TOLERANCE
      ? []
      : [`the losses differ by ${most}: ${Array.from(losses).join(", ")}`];
  }
}
