/**
 * Federated learning in a page: the tab is a client of a Flower server (a SuperLink of Flower 1.41, with any of its strategies). It trains on
 * data that never leave it, and sends what the model has learned, clipped and with noise if that is wished.
 *
 * ```ts
 * import { nn, optim } from "flambeau";
 * import { serve } from "flambeau/federated";
 * const model = nn.sequential(nn.linear(784, 128), nn.relu(), nn.linear(128, 10));
 * const served = await serve(location.href, {
 *   model,
 *   async train(task) {
 *     const optimizer = optim.sgd(model.parameters(), { lr: task.number("lr", 0.1) });
 *     const loss = model.forward(x).crossEntropy(y);
 *     task.objective(loss).backward();
 *     optimizer.step();
 *     return { examples: 60, loss: await loss.item() };
 *   },
 *   privacy: { clip: 1, noise: 2 },
 *   onRound: ({ round, loss, privacy }) => console.log(round, loss, privacy?.epsilon),
 * });
 * console.log(`${served.rounds} rounds`);
 * ```
 *
 * Browsers let a page talk to the server it comes from, and a SuperLink lets no other pages in: `flambeau serve --flower
 * http://127.0.0.1:8000` serves a page and hands on what it sends to `/v1/fleet/`. In Node the SuperLink's own address will do.
 *
 * The tab makes a key of its own, of which only the public half leaves it. Nothing that a server sends is trusted: sizes are counted before
 * memory is taken, arrays must fit the model, and numbers among the settings what `Task.number` is told.
 *
 * @packageDocumentation
 */

import type { Module, Slot } from "../nn/module.js";
import { loadPart } from "../wasm.js";
import { Client } from "./client.js";
import type { Setting, Task } from "./task.js";

export { type Bounds, type Setting, Task } from "./task.js";

/** Fetches this part of the module ahead of its first use, which otherwise waits for it. */
export function load(): Promise<void> {
  return loadPart("federated");
}

/** What training gives. */
export interface Trained {
  /** How many examples there were: the weight of this tab's update. */
  examples: number;
  /** The mean loss. The server gets it as `train_loss`, but not where updates are protected: it is of the data themselves. */
  loss?: number;
  /** Further numbers that the server averages. They are sent as they are, also where updates are protected. */
  metrics?: Record<string, number>;
}

/** What testing gives. */
export interface Evaluated {
  /** How many examples there were. */
  examples: number;
  /** The mean loss: `eval_loss` at the server. */
  loss: number;
  /** The share of right answers: `eval_acc` at the server. */
  accuracy?: number;
  /** Further numbers that the server averages. */
  metrics?: Record<string, number>;
}

/**
 * How updates are protected before they leave. An update, new parameters minus those received, is shortened to the length `clip` if it is longer, and
 * each of its numbers gets normal noise with a standard deviation of `noise * clip`, from a cryptographic generator. What is protected is all of the tab's
 * data at once, against the server and everybody behind it; see docs/federated.md for what that costs and what it leaves open.
 */
export interface PrivacyOptions {
  /** The largest length of an update. */
  clip: number;
  /** The noise, in lengths of `clip`; 0 is none, and then there is no privacy. */
  noise: number;
  /** The δ for which ε is told (default: 1e-5). */
  delta?: number;
}

/** What was done with an update before it left. */
export interface Protection {
  /** Its length before. */
  norm: number;
  /** What it was multiplied with: below 1 if it was too long. */
  factor: number;
  /** The standard deviation of the noise. */
  deviation: number;
  /** The ε that all updates of this `serve` have spent together; infinite without noise. */
  epsilon: number;
  /** The δ that belongs to it. */
  delta: number;
}

/** A round in which this tab has trained. Its answer is on its way to the server. */
export interface RoundReport {
  /** The run, by the server's number for it. */
  run: string;
  /** The round by the server's count, or by this tab's where the server does not say. */
  round: number;
  /** Examples trained with. */
  examples: number;
  /** The mean loss, if `train` has told one. */
  loss: number | undefined;
  /** Seconds of training. */
  seconds: number;
  /** What was done with the update, if updates are protected. */
  privacy: Protection | undefined;
}

/** A test of the server's model on this tab's data. */
export interface EvaluationReport {
  /** The run, by the server's number for it. */
  run: string;
  /** The round, where the server tells it. */
  round: number | undefined;
  /** Examples tested with. */
  examples: number;
  /** The mean loss. */
  loss: number;
  /** The share of right answers, if `evaluate` has told one. */
  accuracy: number | undefined;
}

/** What a client is. */
export interface ClientOptions {
  /**
   * What is learned: a module, or some of its parameters and buffers by name (the others stay the tab's own). The server's arrays are put in
   * before `train` and `evaluate` are called: by name, or in order where they have none of these names. All must fit, or the server gets an error.
   */
  model: Module | Readonly<Record<string, Slot>>;
  /** Trains the model from where it is; what it has become is sent when the promise is kept. An error goes to the server, message and all. */
  train(task: Task): Promise<Trained> | Trained;
  /** Tests the model as it is. Without this the server gets an error when it asks for a test. */
  evaluate?(task: Task): Promise<Evaluated> | Evaluated;
  /** What the server is told of this client when it asks. */
  properties?: Readonly<Record<string, Setting>>;
  /** Protects updates. Without it they are sent as they are. */
  privacy?: PrivacyOptions;
  /** Ends it: the tab answers what it is at (`Task.signal` tells `train` to come to an end) and takes leave of the server. */
  signal?: AbortSignal;
  /** Stays for further runs when a run is over, until `signal` ends it (default: false). */
  stay?: boolean;
  /** Seconds between two questions whether there is something to do (default: 1). */
  poll?: number;
  /** Seconds for which a server that is away is asked again before `serve` gives up (default: 120). */
  patience?: number;
  /** The server knows the tab, by this number. */
  onOnline?: (node: string) => void;
  /** The tab has trained in a round. */
  onRound?: (report: RoundReport) => void;
  /** The tab has tested the server's model. */
  onEvaluated?: (report: EvaluationReport) => void;
  /** Something went wrong and the client goes on: a message was answered with this error. Without a listener the console is told. */
  onTrouble?: (error: Error) => void;
}

/** What came of it. */
export interface Served {
  /** The number by which the server knew the tab. */
  node: string;
  /** The runs that the tab took part in, by the server's numbers. */
  runs: string[];
  /** Messages that were answered, with an error or without. */
  answered: number;
  /** Rounds in which the tab has trained. */
  rounds: number;
  /** The ε that all updates together have spent, if they were protected; infinite without noise. */
  epsilon: number | undefined;
  /** Was the run over, or was `signal` given? */
  stopped: "done" | "asked";
}

/**
 * Takes part in a run of the Flower server at an address, of which only the origin counts; pages give their own. The promise is kept when the run is over
 * or `signal` has ended it. It is broken when the server cannot be reached or does what it must not; the error names the call.
 *
 * Browsers let timers of pages that nobody looks at go once a minute: such a tab stays online, but is slow to answer. In a worker
 * that does not happen.
 */
export async function serve(server: string | URL, options: ClientOptions): Promise<Served> {
  await load();
  return new Client(options).serve(server);
}
