/**
 * The self-test's worker: the library's own suite, in a module of its own, on a device of its own. It is fetched when it is
 * run, and ended to stop it.
 */

import { answerQuestions } from "flambeau/worker";
import * as suite from "flambeau-selftest";
import wasm from "flambeau-selftest/wasm?url";
import type { CaseReport, TestNote, TestQuestions, Tested } from "./messages.js";

/** Threads of a workgroup where a CPU plays a GPU, as the package has them. */
const SOFTWARE_GROUP = 32;
/** Firefox looks for finished work only when something is submitted: it is nudged, as the package does. */
const NUDGE_EVERY = 2;

async function run(device: TestQuestions["run"]["ask"]): Promise<Tested> {
  const start = performance.now();
  await suite.default({ module_or_path: wasm });
  const [cpu, software] = [device === "cpu", device === "software"];
  const opened = await suite.device_open(cpu, false, software, software, software ? SOFTWARE_GROUP : 0);
  const total = suite.selftest_count(false);
  const ran = new Set<string>();
  const nudging = navigator.userAgent.includes("Firefox") ? setInterval(() => suite.devices_nudge(), NUDGE_EVERY) : undefined;
  try {
    await suite.selftest_ops(opened, false, (json: string) => {
      const report = JSON.parse(json) as CaseReport & { ops: string[] };
      for (const op of report.ops) ran.add(op);
      tell({ report, total });
    });
  } finally {
    clearInterval(nudging);
  }
  return { seconds: (performance.now() - start) / 1000, missing: suite.selftest_missing([...ran]) };
}

const tell: (note: TestNote) => void = answerQuestions<TestQuestions, TestNote>({ run });
