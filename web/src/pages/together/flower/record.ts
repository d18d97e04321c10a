/** What has become of a federated run, as its notes tell. */

import type { FlowerNote } from "./messages.js";

export interface FlowerRecord {
  loading: { label: string; part: number | undefined } | undefined;
  about: { node: string; parameters: number; items: number; tested: number } | undefined;
  /** This tab's loss by round, before its update leaves. */
  losses: { round: readonly number[]; loss: readonly number[] };
  /** How the server's model did on this tab's test pictures. */
  tests: { round: readonly number[]; accuracy: readonly number[] };
  /** Of the last round: the δ and the ε that all updates have spent, if they are protected. */
  spent: { epsilon: number; delta: number; norm: number; factor: number } | undefined;
  rounds: number;
  events: readonly string[];
}

const MOST_EVENTS = 100;

export const emptyRecord = (): FlowerRecord => ({
  loading: { label: "Starting", part: undefined },
  about: undefined,
  losses: { round: [], loss: [] },
  tests: { round: [], accuracy: [] },
  spent: undefined,
  rounds: 0,
  events: [],
});

const withEvent = ({ events }: FlowerRecord, event: string): readonly string[] => [event, ...events].slice(0, MOST_EVENTS);

/** The record after a note. */
export function noted(record: FlowerRecord, note: FlowerNote): FlowerRecord {
  switch (note.kind) {
    case "loading":
      return { ...record, loading: { label: note.label, part: note.part } };
    case "online": {
      const { node, parameters, items, tested } = note;
      const loading = { label: "Waiting for the server to ask", part: undefined };
      return {
        ...record,
        loading,
        about: { node, parameters, items, tested },
        events: withEvent(record, "The server knows this tab."),
      };
    }
    case "round": {
      const { round, loss, privacy } = note.report;
      const { losses } = record;
      return {
        ...record,
        losses: loss === undefined ? losses : { round: [...losses.round, round], loss: [...losses.loss, loss] },
        spent: privacy ?? record.spent,
        rounds: record.rounds + 1,
      };
    }
    case "evaluated": {
      const { round, accuracy } = note.report;
      const { tests } = record;
      if (accuracy === undefined) return record;
      // A server that does not say the round asks after each of them.
      const at = round ?? (tests.round.at(-1) ?? 0) + 1;
      return { ...record, tests: { round: [...tests.round, at], accuracy: [...tests.accuracy, accuracy] } };
    }
    case "trouble":
      return { ...record, events: withEvent(record, `A message was answered with an error: ${note.why}`) };
    case "over":
      return { ...record, events: withEvent(record, `The run is over for this tab, after ${note.rounds} of its rounds.`) };
  }
}
