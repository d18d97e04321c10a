/** The Benchmark's worker: one task after the other, one contender after the other. To stop it, the page ends it. */

import { init } from "flambeau";
import { answerQuestions } from "flambeau/worker";
import { messageOf } from "../../work/errors.js";
import { flambeau } from "./contenders/flambeau.js";
import { compare, measure, type Contender } from "./measure.js";
import type { BenchmarkNote, BenchmarkQuestions, ContenderName, Order, Row } from "./messages.js";
import { describe, makeWork, type Task } from "./tasks.js";

const NAMES: Record<ContenderName, string> = {
  cpu: "Flambeau on the CPU",
  gpu: "Flambeau on WebGPU",
  tfjs: "TensorFlow.js",
  jax: "jax-js",
};

const opened = new Map<ContenderName, Promise<Contender>>();

/** Opens a contender once; the peers are loaded only now. */
function open(name: ContenderName, gpu: Order["gpu"]): Promise<Contender> {
  const ready = opened.get(name) ?? start(name, gpu);
  opened.set(name, ready);
  return ready;
}

async function start(name: ContenderName, gpu: Order["gpu"]): Promise<Contender> {
  switch (name) {
    case "cpu":
      return flambeau(await init({ device: "cpu" }));
    case "gpu":
      return flambeau(await init({ device: gpu }));
    case "tfjs":
      return (await import("./contenders/tensorflow.js")).open();
    case "jax":
      return (await import("./contenders/jax.js")).open();
  }
}

async function one(task: Task, name: ContenderName, gpu: Order["gpu"], reference: Float32Array[]): Promise<Row> {
  const nothing = { median: 0, best: 0, worst: 0, first: 0, rounds: 0, runsPerRound: 0, compared: 0, maxError: 0, scale: 0 };
  try {
    const contender = await open(name, gpu);
    const prepared = await contender.prepare(makeWork(task));
    try {
      const result = name === "cpu" ? reference : await prepared.result();
      const comparison = compare(result, reference);
      return { task, contender: name, ...(await measure(prepared)), ...comparison };
    } finally {
      prepared.dispose();
    }
  } catch (error) {
    return { task, contender: name, ...nothing, correct: false, problem: messageOf(error) };
  }
}

async function referenceOf(task: Task): Promise<Float32Array[]> {
  const cpu = await open("cpu", "gpu");
  const prepared = await cpu.prepare(makeWork(task));
  const result = await prepared.result();
  prepared.dispose();
  return result;
}

async function runAll({ tasks, contenders, gpu }: Order): Promise<void> {
  const total = tasks.length * (contenders.length + 1);
  let done = 0;
  const progress = (label: string) => tell({ type: "progress", done, total, label });
  for (const task of tasks) {
    progress(`${describe(task)}: the reference, on the CPU`);
    const reference = await referenceOf(task);
    done += 1;
    for (const name of contenders) {
      progress(`${describe(task)}: ${NAMES[name]}`);
      tell({ type: "row", row: await one(task, name, gpu, reference) });
      done += 1;
    }
  }
  progress("Done");
}

const tell: (note: BenchmarkNote) => void = answerQuestions<BenchmarkQuestions, BenchmarkNote>({ run: runAll });
