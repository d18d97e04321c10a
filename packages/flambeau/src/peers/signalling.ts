/** What tabs tell each other through a room until they have a link of their own: matchbox's messages, from strangers. */

/** How a link is made. Data are strings of the browser's: descriptions of sessions, and candidates as JSON. */
export type Signal = { Offer: string } | { Answer: string } | { IceCandidate: string };

/** What a room says. */
export type RoomEvent =
  | { kind: "own"; peer: string }
  | { kind: "new"; peer: string }
  | { kind: "left"; peer: string }
  | { kind: "signal"; peer: string; signal: Signal };

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const isPeer = (value: unknown): value is string => typeof value === "string" && UUID.test(value);

function signalOf(data: unknown): Signal | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  const [entry, ...others] = Object.entries(data);
  if (entry === undefined || others.length > 0 || typeof entry[1] !== "string") return undefined;
  return ["Offer", "Answer", "IceCandidate"].includes(entry[0]) ? (data as Signal) : undefined;
}

/** What a message of the room's means; nothing if it is none. */
export function read(text: string): RoomEvent | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof message !== "object" || message === null) return undefined;
  const { IdAssigned, NewPeer, PeerLeft, Signal } = message as Record<string, unknown>;
  if (isPeer(IdAssigned)) return { kind: "own", peer: IdAssigned };
  if (isPeer(NewPeer)) return { kind: "new", peer: NewPeer };
  if (isPeer(PeerLeft)) return { kind: "left", peer: PeerLeft };
  if (typeof Signal !== "object" || Signal === null) return undefined;
  const { sender, data } = Signal as Record<string, unknown>;
  const signal = signalOf(data);
  return isPeer(sender) && signal !== undefined ? { kind: "signal", peer: sender, signal } : undefined;
}

/** A signal for a member, as the room wants it. */
export const written = (receiver: string, data: Signal): string => JSON.stringify({ Signal: { receiver, data } });

/** A sign of life. */
export const KEEP_ALIVE = JSON.stringify("KeepAlive");

/** The address of a room on a server, whose own may be one for pages. */
export function addressOf(server: string | URL, name: string, base?: string): URL {
  if (!/^[\w-]{1,64}$/.test(name)) {
    throw new RangeError(`flambeau: a room's name has letters, digits, - and _, at most 64, unlike ${JSON.stringify(name)}`);
  }
  const address = new URL(`room/${name}`, new URL(server, base));
  address.protocol = address.protocol.replace(/^http/, "ws");
  return address;
}
