/** The room that this tab is in, if any. */

import { lendLinks } from "flambeau/peers";
import { Session } from "../session.js";
import type { Order, RoomNote } from "./messages.js";
import { emptyRecord, noted, type RoomRecord } from "./record.js";

const session = new Session<RoomRecord, Order, RoomNote>(
  () => new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "room" }),
  emptyRecord,
  (record, note) => (note === undefined ? { ...record, loading: undefined } : noted(record, note)),
);

export const room = {
  session,
  /** Enters a room and trains until the tab leaves. */
  enter: (order: Omit<Order, "links">) => {
    const { port, end } = lendLinks();
    return session.start({ ...order, links: port }, [port], end);
  },
};
