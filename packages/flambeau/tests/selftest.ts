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
  tell: (line: string) => void;
}

/** Runs it; what failed. */
export async function runSuite({ device, wasm, tell }: SuitePlace): Promise<string[]> {
  await suite.default({ module_or_path: wasm });
  const opened = await suite.device_open(device === "cpu", false, true, false, 0);
  const said = (json: string): string[] => {
    const report = JSON.parse(json) as Report;
    tell(`suite  ${report.summary}`);
    return report.cases < 10 ? ["hardly a case ran"] : report.failures;
  };
  const ops = said(await suite.selftest_ops(opened, () => undefined));
  const graphs = said(await suite.selftest_graphs(opened, 0, 40));
  return [...ops, ...graphs];
}
