/** The room that this tab is in, if any. It goes on while the reader looks at other pages. */

import { type LentLinks, lendLinks } from "flambeau/peers";
import { WorkerClient } from "flambeau/worker";
import { messageOf } from "../../work/errors.js";
import { Changes } from "../../work/store.js";
import type { Order, TogetherNote, TogetherQuestions } from "./messages.js";
import { emptyRecord, noted, type Record } from "./record.js";

class Session {
  readonly changes = new Changes();
  /** Of the last room, also when the tab has left it. */
  record: Record | undefined;
  error: string | undefined;
  #worker: WorkerClient<TogetherQuestions, TogetherNote> | undefined;
  #links: LentLinks | undefined;

  /** Is the tab in a room, or about to enter one? */
  get isOn(): boolean {
    return this.#worker !== undefined;
  }

  /** Enters a room and trains until the tab leaves. */
  async enter(order: Omit<Order, "links">): Promise<void> {
    this.leave();
    this.record = emptyRecord();
    this.error = undefined;
    const links = lendLinks();
    const worker = new WorkerClient<TogetherQuestions, TogetherNote>(
      new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "together" }),
      {
        onNote: (note) => {
          if (this.record !== undefined) this.record = noted(this.record, note);
          this.changes.changed(note.kind !== "told");
        },
      },
    );
    this.#worker = worker;
    this.#links = links;
    this.changes.changed(true);
    try {
      await worker.ask("train", { ...order, links: links.port }, [links.port]);
    } catch (error) {
      // Left, or in another room by now.
      if (this.#worker !== worker) return;
      this.error = messageOf(error);
    }
    if (this.#worker === worker) this.leave();
  }

  /** Leaves the room: the links end, which the others see at once. */
  leave(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#links?.end();
    this.#links = undefined;
    worker?.end();
    if (this.record !== undefined) this.record = { ...this.record, loading: undefined };
    this.changes.changed(true);
  }
}

export const session = new Session();
