/** Something that this tab takes part in: a worker with its notes, which goes on while the reader looks at other pages. */

import { WorkerClient } from "flambeau/worker";
import { messageOf } from "../../work/errors.js";
import { Changes } from "../../work/store.js";

/** What such a worker is asked: to take part until it is over, and to leave. */
export type PartQuestions<Order> = {
  train: { ask: Order; answer: unknown };
  leave: { ask: undefined; answer: unknown };
};

/** Milliseconds that a worker may take to leave. */
const PATIENCE = 3000;

export class Session<Record, Order, Note> {
  readonly changes = new Changes();
  /** Of the last time, also when the tab has left. */
  record: Record | undefined;
  error: string | undefined;
  #worker: WorkerClient<PartQuestions<Order>, Note> | undefined;
  #ended: () => void = () => undefined;

  constructor(
    readonly makeWorker: () => Worker,
    readonly empty: () => Record,
    /** The record after a note; after nothing else when the tab has left. */
    readonly noted: (record: Record, note: Note | undefined) => Record,
  ) {}

  /** Does the tab take part, or is it about to? */
  get isOn(): boolean {
    return this.#worker !== undefined;
  }

  /** Takes part until it is over. `ended` is called when the worker is no longer needed. */
  async start(order: Order, transfer: Transferable[] = [], ended: () => void = () => undefined): Promise<void> {
    this.#end();
    this.record = this.empty();
    this.error = undefined;
    const worker = new WorkerClient<PartQuestions<Order>, Note>(this.makeWorker(), { onNote: (note) => this.#note(note) });
    this.#worker = worker;
    this.#ended = ended;
    this.changes.changed(true);
    try {
      await worker.ask("train", order, transfer);
    } catch (error) {
      // Left, or at something else by now.
      if (this.#worker !== worker) return;
      this.error = messageOf(error);
    }
    if (this.#worker === worker) this.#end();
  }

  /** Leaves, with a word to the others. */
  leave(): void {
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ask("leave", undefined).catch(() => undefined);
    setTimeout(() => {
      if (this.#worker === worker) this.#end();
    }, PATIENCE);
  }

  #note(note: Note | undefined): void {
    if (this.record !== undefined) this.record = this.noted(this.record, note);
    this.changes.changed();
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    worker?.end();
    this.#ended();
    this.#ended = () => undefined;
    this.#note(undefined);
    this.changes.changed(true);
  }
}
