/** Links to the other tabs of a room: a data channel of WebRTC each, found through the room's server (`signalling.ts`). */

import type { RoomEvent, Signal } from "./signalling.js";

/** What happens on links. */
export type LinkKind = "coming" | "older" | "opened" | "received" | "closed";

/** What links need: a way to the room, and somebody who hears what happens. */
export interface LinkHost {
  signal(peer: string, signal: Signal): void;
  event(kind: LinkKind, peer: string, bytes: Uint8Array): void;
}

const NONE = new Uint8Array(0);
/** More tabs than any group has. */
const MOST = 64;
/** Bytes that may wait in a channel. */
const WAITING = 4 << 20;

class Link {
  readonly #connection: RTCPeerConnection;
  readonly #channel: RTCDataChannel;
  readonly #early: RTCIceCandidateInit[] = [];
  readonly #queue: Uint8Array<ArrayBuffer>[] = [];
  #isDescribed = false;
  isOpen = false;

  constructor(
    readonly peer: string,
    readonly host: LinkHost,
    readonly count: (sent: number, received: number) => void,
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
      const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : NONE;
      count(0, bytes.byteLength);
      host.event("received", peer, bytes);
    };
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

  send(bytes: Uint8Array): void {
    if (!this.isOpen) return;
    // The module's memory is written again before the channel has read it.
    this.#queue.push(bytes.slice());
    this.#flush();
  }

  #flush(): void {
    while (this.#channel.readyState === "open" && this.#channel.bufferedAmount < WAITING) {
      const bytes = this.#queue.shift();
      if (bytes === undefined) return;
      this.#channel.send(bytes);
      this.count(bytes.byteLength, 0);
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

/** All links of this tab. */
export class Links {
  readonly #links = new Map<string, Link>();
  readonly #host: LinkHost;
  readonly #iceServers: RTCIceServer[];
  /** Bytes of all messages so far. */
  sent = 0;
  received = 0;

  constructor(host: LinkHost, iceServers: RTCIceServer[]) {
    this.#host = host;
    this.#iceServers = iceServers;
  }

  /** What the room has said: who was here before offers a link to who comes. */
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

  send(peer: string, bytes: Uint8Array): void {
    this.#links.get(peer)?.send(bytes);
  }

  close(peer: string): void {
    this.#links.get(peer)?.end();
  }

  end(): void {
    for (const link of [...this.#links.values()]) link.end();
  }

  #link(peer: string, kind: "coming" | "older"): Link | undefined {
    if (this.#links.has(peer) || this.#links.size >= MOST) return undefined;
    const count = (sent: number, received: number) => {
      this.sent += sent;
      this.received += received;
    };
    const link = new Link(peer, this.#host, count, () => this.#links.delete(peer), this.#iceServers);
    this.#links.set(peer, link);
    this.#host.event(kind, peer, NONE);
    return link;
  }

  /** A peer whose signals make no sense has no link. */
  #run(link: Link | undefined, work: (link: Link) => Promise<void>): void {
    if (link !== undefined) work(link).catch(() => link.end());
  }
}
