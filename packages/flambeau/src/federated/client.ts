/** What the module asks of a tab that is a client, in JSON. */

import type { Module, Slot } from "../nn/module.js";
import { unlessBroken, wasm } from "../wasm.js";
import type { ClientOptions, EvaluationReport, RoundReport, Served } from "./index.js";
import { type Setting, Task } from "./task.js";

/** What the module tells, by kind. */
type Told =
  | { kind: "online"; node: string }
  | { kind: "round"; report: RoundReport & { privacy?: { epsilon: number | null } } }
  | { kind: "evaluated"; report: EvaluationReport }
  | { kind: "trouble"; message: string };

/** One `serve`. */
export class Client {
  readonly #options: ClientOptions;
  readonly #named: [string, Slot][];
  readonly #signal: AbortSignal;
  #leave = () => {};
  readonly #leaving = new Promise<void>((leave) => {
    this.#leave = leave;
  });
  #thrown: unknown;

  constructor(options: ClientOptions) {
    const { model, signal = new AbortController().signal } = options;
    this.#options = options;
    // Classes are not asked for: this file would need them, and pages without it would fetch them in more pieces.
    this.#named = isModule(model) ? [...model.slots()] : Object.entries(model);
    for (const [name, slot] of this.#named) {
      if (typeof slot?.slot !== "number") throw new TypeError(`flambeau: ${name} is no parameter and no buffer of a model`);
    }
    this.#signal = signal;
  }

  /** Takes part until the run is over. */
  async serve(server: string | URL): Promise<Served> {
    const { origin } = new URL(server, (globalThis as { location?: { href: string } }).location?.href);
    const { privacy, stay, poll, patience, properties } = this.#options;
    const [names, slots] = [this.#named.map(([name]) => name), Uint32Array.from(this.#named, ([, { slot }]) => slot)];
    const settings = { server: origin, privacy, stay, poll, patience, properties };
    this.#signal.addEventListener("abort", this.#leave);
    if (this.#signal.aborted) this.#leave();
    try {
      const work = wasm().federated_serve(this, names, slots, JSON.stringify(settings)) as Promise<string>;
      const served = JSON.parse(await unlessBroken(work)) as Served & { epsilon: number | null };
      const epsilon = privacy === undefined ? undefined : (served.epsilon ?? Number.POSITIVE_INFINITY);
      return { ...served, epsilon };
    } finally {
      this.#signal.removeEventListener("abort", this.#leave);
      this.#leave();
    }
  }

  /** @internal What the module calls. */
  async ask(what: "train" | "evaluate" | "hear" | "leave", question: string): Promise<string> {
    if (what === "train") return this.#answered(question, (task) => this.#train(task));
    if (what === "evaluate") return this.#answered(question, (task) => this.#evaluate(task));
    if (what === "hear") this.#hear(JSON.parse(question) as Told);
    else await this.#leaving;
    return "";
  }

  async #train(task: Task): Promise<string> {
    const { examples, loss, metrics } = await this.#options.train(task);
    return written({ examples, loss, metrics });
  }

  async #evaluate(task: Task): Promise<string> {
    const { evaluate } = this.#options;
    if (evaluate === undefined) throw new Error("flambeau: this client has nothing to test models with");
    const { examples, loss, accuracy, metrics } = await evaluate(task);
    if (loss === undefined) throw new TypeError("flambeau: evaluate gives no loss");
    return written({ examples, loss, accuracy, metrics });
  }

  #hear(told: Told): void {
    const { onOnline, onRound, onEvaluated, onTrouble } = this.#options;
    if (told.kind === "online") onOnline?.(told.node);
    else if (told.kind === "evaluated") onEvaluated?.({ ...told.report, accuracy: told.report.accuracy ?? undefined });
    else if (told.kind === "round") {
      const { loss, privacy, ...report } = told.report;
      // JSON has no infinity, which ε is without noise.
      const spent = privacy && { ...privacy, epsilon: privacy.epsilon ?? Number.POSITIVE_INFINITY };
      onRound?.({ ...report, loss: loss ?? undefined, privacy: spent });
    } else {
      const error = new Error(`flambeau: ${told.message}`, { cause: this.#thrown });
      this.#thrown = undefined;
      if (onTrouble === undefined) console.error(error);
      else onTrouble(error);
    }
  }

  async #answered(asked: string, answer: (task: Task) => Promise<string>): Promise<string> {
    const { run, settings } = JSON.parse(asked) as { run: string; settings: Record<string, Setting | null> };
    const entries = Object.entries(settings).map(([name, value]): [string, Setting] => [name, value ?? Number.NaN]);
    let task: Task | undefined;
    try {
      task = new Task(
        run,
        new Map(entries),
        this.#signal,
        this.#named.map(([, slot]) => slot),
      );
      return await answer(task);
    } catch (error) {
      this.#thrown = error;
      throw error;
    } finally {
      task?.end();
    }
  }
}

function isModule(model: ClientOptions["model"]): model is Module {
  return typeof (model as Module).slots === "function";
}

/** An answer as JSON, in which every number is one. */
export function written(answer: {
  examples: number;
  loss: number | undefined;
  accuracy?: number | undefined;
  metrics: Record<string, number> | undefined;
}): string {
  const { examples, metrics, ...numbers } = answer;
  if (!Number.isSafeInteger(examples) || examples < 0) {
    throw new RangeError(`flambeau: examples: ${String(examples)} is no number of examples`);
  }
  for (const [name, value] of Object.entries({ ...numbers, ...metrics })) {
    if (value !== undefined && !Number.isFinite(value)) {
      throw new RangeError(`flambeau: ${name} is ${String(value)}: a server could make no mean of it`);
    }
  }
  return JSON.stringify(answer);
}
