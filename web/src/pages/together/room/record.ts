/** What has become of a room, as its notes tell: members, curves, bytes. */

import type { DeviceInfo } from "flambeau";
import * as write from "../../../ui/write.js";
import type { Round, RoomNote } from "./messages.js";
import type { Introduction } from "./tellings.js";

/** A tab of the room that is or was a member. */
export interface Member {
  peer: string;
  /** By the order in which they came, this tab first. */
  number: number;
  isHere: boolean;
  /** Why it is no longer here. */
  why: string;
  introduction: Introduction | undefined;
  /** Its losses by round. */
  rounds: readonly number[];
  losses: readonly number[];
}

/** Something that has happened, to a member or else to this tab. */
export interface Event {
  peer: string | undefined;
  /** What, after the member's name, or a whole sentence. */
  what: string;
}

export interface RoomRecord {
  loading: { label: string; part: number | undefined } | undefined;
  /** This tab's number in the room. */
  own: string | undefined;
  about: { info: DeviceInfo; parameters: number; items: number; tested: number } | undefined;
  members: readonly Member[];
  rounds: readonly Round[];
  /** The newest first. */
  events: readonly Event[];
}

/** The most that is kept: of members, who may come and go without end, and of what happened. */
const [MOST_MEMBERS, MOST_EVENTS] = [200, 100];

export const emptyRecord = (): RoomRecord => ({
  loading: { label: "Starting", part: undefined },
  own: undefined,
  about: undefined,
  members: [],
  rounds: [],
  events: [],
});

/** What a member is called: its own name, or the first letters of its number. */
export function nameOf({ members, own }: RoomRecord, peer: string): string {
  if (peer === own) return "this tab";
  const name = members.find((member) => member.peer === peer)?.introduction?.name ?? "";
  return name === "" ? peer.slice(0, 6) : name;
}

/** An event in words. Names may come later than what happened. */
export const wordsOf = (record: RoomRecord, { peer, what }: Event): string =>
  peer === undefined ? what : `${nameOf(record, peer)} ${what}.`;

/** The members with one of them changed, or added. */
function changed(members: readonly Member[], peer: string, change: (member: Member) => Member): readonly Member[] {
  if (members.some((member) => member.peer === peer))
    return members.map((member) => (member.peer === peer ? change(member) : member));
  if (members.length >= MOST_MEMBERS) return members;
  const fresh = { peer, number: members.length, isHere: false, why: "", introduction: undefined, rounds: [], losses: [] };
  return [...members, change(fresh)];
}

const here = (members: readonly Member[], peers: readonly string[]) =>
  peers.reduce((all, peer) => changed(all, peer, (member) => ({ ...member, isHere: true, why: "" })), members);

const withEvent = ({ events }: RoomRecord, what: string, peer?: string): readonly Event[] =>
  [{ peer, what }, ...events].slice(0, MOST_EVENTS);

const withLoss = (member: Member, round: number, loss: number): Member =>
  member.rounds.at(-1) === round ? member : { ...member, rounds: [...member.rounds, round], losses: [...member.losses, loss] };

/** The record after a note. */
export function noted(record: RoomRecord, note: RoomNote): RoomRecord {
  switch (note.kind) {
    case "loading":
      return { ...record, loading: { label: note.label, part: note.part } };
    case "entered": {
      const { info, parameters, tested, own, introduction } = note;
      const members = changed([], own, (member) => ({ ...member, introduction }));
      return { ...record, own, about: { info, parameters, items: introduction.items, tested }, members };
    }
    case "joined": {
      const group = note.members.length < 2 ? "a group of one" : `the group of ${note.members.length}`;
      const event = `This tab is in ${group}, after ${write.counted(note.round, "round")}.`;
      return { ...record, loading: undefined, members: here(record.members, note.members), events: withEvent(record, event) };
    }
    case "round": {
      const { made } = note;
      const members = here(record.members, made.members);
      const own = record.own ?? "";
      return {
        ...record,
        loading: undefined,
        rounds: [...record.rounds, made],
        members: changed(members, own, (member) => withLoss(member, made.round, made.loss)),
      };
    }
    case "happened": {
      const { peer, happening, why } = note;
      const isHere = happening === "came";
      const members = changed(record.members, peer, (member) => ({ ...member, isHere, why: isHere ? "" : why }));
      const what = isHere ? "came" : happening === "left" ? `left: ${why}` : `was refused: ${why}`;
      return { ...record, members, events: withEvent(record, what, peer) };
    }
    case "told": {
      const { peer, telling } = note;
      // Strangers may tell something, too: only members are shown.
      if (!record.members.some((member) => member.peer === peer)) return record;
      const members = changed(record.members, peer, (member) => ({
        ...withLoss(member, telling.round, telling.loss),
        introduction: telling,
      }));
      return { ...record, members };
    }
    case "behind": {
      const loading = { label: "Asking to be let in again", part: undefined };
      return { ...record, loading, events: withEvent(record, `The others went on without this tab: ${note.why}.`) };
    }
  }
}
