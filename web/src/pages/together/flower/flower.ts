/** The federated run that this tab takes part in, if any. */

import { Session } from "../session.js";
import type { FlowerNote, Order } from "./messages.js";
import { emptyRecord, type FlowerRecord, noted } from "./record.js";

export const flower = new Session<FlowerRecord, Order, FlowerNote>(
  () => new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "flower" }),
  emptyRecord,
  (record, note) => (note === undefined ? { ...record, loading: undefined } : noted(record, note)),
);
