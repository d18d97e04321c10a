/** Links to the other tabs of a room: a connection of WebRTC each, found through the room's server (`signalling.ts`). */

import type { RoomEvent, Signal } from "./signalling.js";

/** What happens on links. */
export type LinkKind = "coming" | "older" | "opened" | "received" | "closed";

/** What links need: a way to the room, and somebody who hears what happens. */
export interface LinkHost {
  signal(peer: string, signal: Signal): void;
  event(kind: LinkKind, peer: string, bytes: Uint8Array<ArrayBuffer>): void;
  /** A peer has told a few words. */
  told(peer: string, text: string): void;
}

/** All links of a tab: those of its page, or those that the page lends to a worker. */
export interface AnyLinks {
  /** What the room has said. */
  hear(event: RoomEvent): void;
  send(peer: string, bytes: Uint8Array<ArrayBuffer>): void;
  /** A few words for everybody. */
  tell(text: string): void;
  close(peer: string): void;
  end(): void;
}

const NONE = new Uint8Array(0);
/** More tabs than any group has. */
const MOST = 64;
/** Bytes that may wait in a channel. */
const WAITING = 4 << 20;
/** The longest that a peer may tell at once, in UTF-16, and how often: so many times at once, as many again in so many milliseconds. */
export const WORDS = 2000;
const [TELLS, TELLS_AGAIN] = [20, 10_000];

class Link {
  readonly #connection: RTCPeerConnection;
  readonly #channel: RTCDataChannel;
  readonly #words: RTCDataChannel;
  readonly #early: RTCIceCandidateInit[] = [];
  readonly #queue: Uint8Array<ArrayBuffer>[] = [];
  #isDescribed = false;
  #tells = TELLS;
  #told = 0;
  isOpen = false;

  constructor(
    readonly peer: string,
    readonly host: LinkHost,
    readonly ended: () => void,
    iceServers: RTCIceServer[],
  ) {
    const connection = new RTCPeerConnection({ iceServers });
    this.#connection = connection;
    connection.onicecandidate = ({ candidate }) => {
      if (candidate !== null) host.signal(peer, { IceCandidate: JSON.stringify(candidate.toJSON()) });
    };
    connection.onconnectionstatechange = () => {
      if (connection.connectionState === "failed" || connection.connectionState === "closed") this.end();
    };
    // As matchbox has it: both sides know the channel by its number.
    const channel = connection.createDataChannel("matchbox_socket_0", { negotiated: true, id: 0, ordered: true });
    this.#channel = channel;
    channel.binaryType = "arraybuffer";
    channel.bufferedAmountLowThreshold = WAITING / 2;
    channel.onopen = () => {
      this.isOpen = true;
      host.event("opened", peer, NONE);
    };
    channel.onclose = () => this.end();
    channel.onbufferedamountlow = () => this.#flush();
    channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      // Nobody honest sends text; the library refuses who sends nothing.
      host.event("received", peer, data instanceof ArrayBuffer ? new Uint8Array(data) : NONE);
    };
    // Others may lack it: then nothing comes, and nobody hears what is told.
    this.#words = connection.createDataChannel("flambeau_words", { negotiated: true, id: 1, ordered: true });
    this.#words.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (typeof data === "string" && data.length <= WORDS && this.#mayTell()) host.told(peer, data);
    };
  }

  /** Who tells more than anybody reads is not heard for a while. */
  #mayTell(): boolean {
    const now = performance.now();
    this.#tells = Math.min(TELLS, this.#tells + (TELLS * (now - this.#told)) / TELLS_AGAIN);
    this.#told = now;
    if (this.#tells < 1) return false;
    this.#tells -= 1;
    return true;
  }

  tell(text: string): void {
    if (this.#words.readyState === "open" && this.#words.bufferedAmount < WAITING) this.#words.send(text);
  }

  /** Offers a link. */
  async offer(): Promise<void> {
    await this.#connection.setLocalDescription();
    this.host.signal(this.peer, { Offer: this.#connection.localDescription?.sdp ?? "" });
  }

  async take(signal: Signal): Promise<void> {
    const connection = this.#connection;
    if ("IceCandidate" in signal) {
      const candidate = JSON.parse(signal.IceCandidate) as RTCIceCandidateInit | null;
      if (candidate === null) return;
      if (this.#isDescribed) await connection.addIceCandidate(candidate);
      else if (this.#early.length < 64) this.#early.push(candidate);
      return;
    }
    if (this.#isDescribed) return;
    const description: RTCSessionDescriptionInit =
      "Offer" in signal ? { type: "offer", sdp: signal.Offer } : { type: "answer", sdp: signal.Answer };
    await connection.setRemoteDescription(description);
    this.#isDescribed = true;
    for (const candidate of this.#early.splice(0)) await connection.addIceCandidate(candidate);
    if (description.type === "offer") {
      await connection.setLocalDescription();
      this.host.signal(this.peer, { Answer: connection.localDescription?.sdp ?? "" });
    }
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.isOpen) return;
    this.#queue.push(bytes);
    this.#flush();
  }

  #flush(): void {
    while (this.#channel.readyState === "open" && this.#channel.bufferedAmount < WAITING) {
      const bytes = this.#queue.shift();
      if (bytes === undefined) return;
      this.#channel.send(bytes);
    }
  }

  end(): void {
    const { onclose } = this.#channel;
    if (onclose === null) return;
    this.#channel.onclose = null;
    this.isOpen = false;
    this.#queue.length = 0;
    this.#channel.close();
    this.#connection.close();
    this.ended();
    this.host.event("closed", this.peer, NONE);
  }
}

/** The links of this page. */
export class Links implements AnyLinks {
  readonly #links = new Map<string, Link>();
  readonly #host: LinkHost;
  readonly #iceServers: RTCIceServer[];

  /** A page that is closed says so: else the others would find out after a quarter of a minute. */
  readonly #closed = () => this.end();

  constructor(host: LinkHost, iceServers: RTCIceServer[]) {
    this.#host = host;
    this.#iceServers = iceServers;
    globalThis.addEventListener("pagehide", this.#closed);
  }

  /** Who was here before offers a link to who comes. */
  hear(event: RoomEvent): void {
    if (event.kind === "new") {
      this.#run(this.#link(event.peer, "coming"), (link) => link.offer());
    } else if (event.kind === "signal") {
      const known = this.#links.get(event.peer);
      const isOffer = "Offer" in event.signal;
      const link = known ?? (isOffer || "IceCandidate" in event.signal ? this.#link(event.peer, "older") : undefined);
      this.#run(link, (link) => link.take(event.signal));
    } else if (event.kind === "left") {
      // An open link needs no room; one that is being made does.
      const link = this.#links.get(event.peer);
      if (link?.isOpen === false) link.end();
    }
  }

  send(peer: string, bytes: Uint8Array<ArrayBuffer>): void {
    this.#links.get(peer)?.send(bytes);
  }

  tell(text: string): void {
    for (const link of this.#links.values()) link.tell(text);
  }

  close(peer: string): void {
    this.#links.get(peer)?.end();
  }

  end(): void {
    globalThis.removeEventListener("pagehide", this.#closed);
    for (const link of [...this.#links.values()]) link.end();
  }

  #link(peer: string, kind: "coming" | "older"): Link | undefined {
    if (this.#links.has(peer) || this.#links.size >= MOST) return undefined;
    const link = new Link(peer, this.#host, () => this.#links.delete(peer), this.#iceServers);
    this.#links.set(peer, link);
    this.#host.event(kind, peer, NONE);
    return link;
  }

  /** A peer whose signals make no sense has no link. */
  #run(link: Link | undefined, work: (link: Link) => Promise<void>): void {
    if (link !== undefined) work(link).catch(() => link.end());
  }
}
