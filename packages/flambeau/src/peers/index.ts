/**
 * Training together with other tabs, without a server that sees anything of it: tabs find each other in a room, are linked by
 * WebRTC, train each on data of its own, and bring their models together every so many steps (DiLoCo).
 *
 * ```ts
 * import { diloco, join } from "flambeau/peers";
 * const room = await join(location.href, "blue-fish");
 * room.on("left", (peer, why) => console.log(`${peer} ${why}`));
 * const together = await diloco(model.parameters(), room, { innerSteps: 100 });
 * for (;;) {
 *   for (let step = 0; step < together.innerSteps; step++) await train(model);
 *   await together.round(); // all members have the same model now
 * }
 * ```
 *
 * Browsers have WebRTC in pages alone: a worker trains by the links that its page lends it (`lendLinks`).
 *
 * Rooms are those of `flambeau serve`, or of any server that speaks matchbox's protocol. What leaves the tab are changes of the
 * model's parameters, and what two browsers need to find each other; never data. What others send is judged: who sends
 * something that is malformed, not finite, or larger than was agreed on is refused by name, and the round is made without it.
 *
 * @packageDocumentation
 */

import type { Parameter } from "../nn/module.js";
import { arrived, loadPart, wasm } from "../wasm.js";
import { BorrowedLinks } from "./lent.js";
import { type AnyLinks, type LinkHost, type LinkKind, Links, WORDS } from "./links.js";
import { addressOf, KEEP_ALIVE, read, written } from "./signalling.js";

export { type LentLinks, lendLinks } from "./lent.js";

/** Fetches this part of the module ahead of its first use, which otherwise waits for it. */
export function load(): Promise<void> {
  return loadPart("peers");
}

/** How a room is entered. */
export interface RoomOptions {
  /**
   * Servers by which browsers behind different routers find each other (STUN, TURN). None by default: then nobody but the room's server hears of
   * the tab, and members are on one machine or in one network.
   */
  iceServers?: RTCIceServer[];
  /** How long the room's server may take, in seconds (default: 10). */
  timeout?: number;
  /** In a worker: the links that its page lends it (`lendLinks`). */
  links?: MessagePort;
}

/**
 * What can be heard of a room: who came into the group, who is no longer in it, who has sent what it must not; and what somebody
 * there tells, who need not be a member.
 */
export type Happening = "came" | "left" | "refused" | "told";

interface State {
  rounds: number;
  rank: number;
  members: string[];
  news: { kind: Exclude<Happening, "told">; peer: string; why: string }[];
}

/** Milliseconds between two looks at the clock. */
const TICK = 500;
/** Milliseconds between two signs of life to the room's server. */
const ALIVE = 10_000;

/** A room, and the links to those who are in it. Made by `join`. */
export class Room {
  readonly #number: number;
  readonly #links: AnyLinks;
  readonly #socket: WebSocket;
  readonly #heard = new Map<Happening, Set<(peer: string, why: string) => void>>();
  readonly #timers: ReturnType<typeof setInterval>[];
  #state: State = { rounds: 0, rank: 0, members: [], news: [] };
  readonly #linked = new Set<string>();
  #isOpen = true;
  #sent = 0;
  #received = 0;

  /** @internal */
  constructor(
    /** This tab's number in the room. */
    readonly own: string,
    socket: WebSocket,
    makeLinks: (host: LinkHost) => AnyLinks,
  ) {
    this.#socket = socket;
    this.#links = makeLinks({
      signal: (peer, signal) => this.#say(written(peer, signal)),
      event: (kind, peer, bytes) => this.#event(kind, peer, bytes),
      told: (peer, text) => this.#happened("told", peer, text),
    });
    const channels = {
      send: (peer: string, bytes: Uint8Array) => {
        if (!this.#linked.has(peer)) return;
        this.#sent += bytes.byteLength;
        // A copy: the module's memory is written again before the channel has read it.
        this.#links.send(peer, new Uint8Array(bytes));
      },
      close: (peer: string) => this.#links.close(peer),
    };
    this.#number = wasm().peers_new(own, channels, performance.now());
    this.#timers = [setInterval(() => this.#tick(), TICK), setInterval(() => this.#say(KEEP_ALIVE), ALIVE)];
  }

  /** @internal */
  get number(): number {
    if (!this.#isOpen) throw new Error("flambeau: this tab has left the room");
    return this.#number;
  }

  /** The members of the group by their numbers in the room, the oldest first. */
  get members(): readonly string[] {
    return this.#state.members;
  }

  /** Rounds that the group has made. */
  get rounds(): number {
    return this.#state.rounds;
  }

  /** Bytes that were sent to other tabs. */
  get sent(): number {
    return this.#sent;
  }

  /** Bytes that have come from other tabs. */
  get received(): number {
    return this.#received;
  }

  /**
   * Has a function called with the number of whom it is about and, for those who are gone or refused, why, for those who tell
   * something, what. Returns what ends that.
   */
  on(happening: Happening, hear: (peer: string, why: string) => void): () => void {
    const heard = this.#heard.get(happening) ?? new Set();
    this.#heard.set(happening, heard.add(hear));
    return () => heard.delete(hear);
  }

  /** Tells everybody in the room something, in 2,000 characters at most; who says too much is not heard for some seconds. */
  tell(text: string): void {
    if (text.length > WORDS)
      throw new RangeError(`flambeau: at most ${WORDS} characters can be told at once, not ${text.length}`);
    if (this.#isOpen) this.#links.tell(text);
  }

  /** Leaves the room: all links end. */
  leave(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const timer of this.#timers) clearInterval(timer);
    this.#links.end();
    this.#socket.close();
    wasm().peers_leave(this.#number);
  }

  /** @internal What the room's server says. */
  hear(text: string): void {
    const event = read(text);
    if (event !== undefined && this.#isOpen) this.#links.hear(event);
  }

  /** @internal Looks at what has become of the group. */
  look(): void {
    if (!this.#isOpen) return;
    this.#state = JSON.parse(wasm().peers_state(this.#number)) as State;
    for (const { kind, peer, why } of this.#state.news) this.#happened(kind, peer, why);
  }

  #happened(happening: Happening, peer: string, why: string): void {
    for (const hear of this.#heard.get(happening) ?? []) hear(peer, why);
  }

  #say(text: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  #event(kind: LinkKind, peer: string, bytes: Uint8Array): void {
    this.#received += bytes.byteLength;
    if (kind === "opened") this.#linked.add(peer);
    else if (kind === "closed") this.#linked.delete(peer);
    if (this.#isOpen) wasm().peers_event(this.#number, kind, peer, bytes);
  }

  #tick(): void {
    wasm().peers_tick(this.#number, performance.now());
    this.look();
  }
}

/**
 * Enters a room of a server: at `/room/<name>` beside the given address. Whoever knows the name can enter, so a name that nobody guesses
 * is the key; see `roomName`.
 */
export async function join(server: string | URL, name: string, options: RoomOptions = {}): Promise<Room> {
  const address = addressOf(server, name, (globalThis as { location?: { href: string } }).location?.href);
  const { timeout = 10, iceServers = [], links } = options;
  if (links === undefined && typeof RTCPeerConnection === "undefined") {
    throw new Error("flambeau: there is no WebRTC here; in a worker, give `join` links that its page has lent (`lendLinks`)");
  }
  await load();
  const socket = new WebSocket(address);
  return new Promise<Room>((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(late);
      socket.close();
      reject(new Error(`flambeau: ${address.href}: ${why}`));
    };
    const late = setTimeout(() => fail(`no answer within ${timeout} s; is it a server with rooms?`), timeout * 1000);
    socket.onclose = () => fail("no room there: is `flambeau serve` running, and is the room not full?");
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      const event = typeof data === "string" ? read(data) : undefined;
      if (event?.kind !== "own") return;
      clearTimeout(late);
      socket.onclose = null;
      const room = new Room(event.peer, socket, (host) =>
        links === undefined ? new Links(host, iceServers) : new BorrowedLinks(links, host, iceServers),
      );
      socket.onmessage = ({ data }: MessageEvent<unknown>) => {
        if (typeof data === "string") room.hear(data);
      };
      resolve(room);
    };
  });
}

/** A name for a room that nobody guesses: 128 random bits. */
export function roomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** How models are brought together; all members must say the same. */
export interface DilocoOptions {
  /** Steps of a member between two rounds (default: 100). */
  innerSteps?: number;
  /** The outer optimizer's learning rate (default: 0.7). */
  outerRate?: number;
  /** The outer optimizer's momentum, after Nesterov (default: 0.9). */
  outerMomentum?: number;
  /** How updates travel: 1 byte a number (`"int8"`, the default), 4 bytes (`"none"`), or the largest share of them with 8 bytes each. */
  compression?: "none" | "int8" | { topK: number };
  /** The largest norm of an update: a member's own is made shorter, another's that is longer is refused (default: no limit). */
  largestNorm?: number;
}

/** A model that is trained by several tabs. Made by `diloco`. */
export class Together {
  /** @internal */
  constructor(
    readonly room: Room,
    readonly parameters: readonly Parameter[],
    readonly options: DilocoOptions,
  ) {}

  /** Steps to take before each round. */
  get innerSteps(): number {
    return this.options.innerSteps ?? 100;
  }

  /** Rounds that the group has made, with those before this tab came. */
  get rounds(): number {
    return this.room.rounds;
  }

  /**
   * Brings the models of all members together, and lets members leave and join. Where a member is lost or refused meanwhile, the
   * round is made again without it. An error says that the others have gone on without this tab: `rejoin`.
   */
  async round(): Promise<void> {
    try {
      await arrived(wasm().peers_meet(this.room.number));
    } finally {
      this.room.look();
    }
  }

  /** Asks to be let in again; the model is then the group's. */
  async rejoin(): Promise<void> {
    const slots = Uint32Array.from(this.parameters, (parameter) => parameter.slot);
    const { innerSteps = 100, ...others } = this.options;
    await arrived(wasm().peers_join(this.room.number, slots, JSON.stringify({ innerSteps, ...others })));
    this.room.look();
  }
}

/**
 * Lets a model be trained together with those in the room: returns when they have let this tab in, between two of their rounds, and the
 * model is the group's. Where nobody is, a group begins with this model.
 */
export async function diloco(parameters: readonly Parameter[], room: Room, options: DilocoOptions = {}): Promise<Together> {
  const together = new Together(room, parameters, options);
  await together.rejoin();
  return together;
}
