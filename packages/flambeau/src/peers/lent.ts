/**
 * Links that a page lends to a worker: browsers have WebRTC in pages alone, and training belongs into a worker. They speak by a
 * `MessagePort`, one message a call.
 */

import { type AnyLinks, type LinkHost, type LinkKind, Links } from "./links.js";
import type { RoomEvent, Signal } from "./signalling.js";

/** From the worker. */
type Call =
  | { call: "open"; iceServers: RTCIceServer[] }
  | { call: "hear"; event: RoomEvent }
  | { call: "send"; peer: string; bytes: Uint8Array<ArrayBuffer> }
  | { call: "tell"; text: string }
  | { call: "close"; peer: string }
  | { call: "end" };

/** From the page. */
type News =
  | { news: "signal"; peer: string; signal: Signal }
  | { news: "event"; kind: LinkKind; peer: string; bytes: Uint8Array<ArrayBuffer> }
  | { news: "told"; peer: string; text: string };

/** What a page has lent to a worker. Made by `lendLinks`. */
export interface LentLinks {
  /** To be handed over to the worker, as one of what is transferred. */
  readonly port: MessagePort;
  /** Ends all links: for workers that have been ended and can say nothing any more. */
  end(): void;
}

/**
 * Lends a worker the page's links, in which it enters a room: `join(server, name, { links })`.
 *
 * ```ts
 * const links = lendLinks(); // in the page
 * worker.postMessage({ room: "blue-fish", links: links.port }, [links.port]);
 * ```
 */
export function lendLinks(): LentLinks {
  const { port1: own, port2: port } = new MessageChannel();
  const tell = (news: News, transfer: Transferable[] = []) => own.postMessage(news, transfer);
  let links: Links | undefined;
  const end = () => {
    links?.end();
    own.close();
  };
  const host: LinkHost = {
    signal: (peer, signal) => tell({ news: "signal", peer, signal }),
    event: (kind, peer, bytes) => tell({ news: "event", kind, peer, bytes }),
    told: (peer, text) => tell({ news: "told", peer, text }),
  };
  own.onmessage = ({ data }: MessageEvent<Call>) => {
    switch (data.call) {
      case "open":
        links ??= new Links(host, data.iceServers);
        return;
      case "hear":
        return links?.hear(data.event);
      case "send":
        return links?.send(data.peer, data.bytes);
      case "tell":
        return links?.tell(data.text);
      case "close":
        return links?.close(data.peer);
      case "end":
        return end();
    }
  };
  return { port, end };
}

/** The page's links as its worker sees them. */
export class BorrowedLinks implements AnyLinks {
  readonly #port: MessagePort;

  constructor(port: MessagePort, host: LinkHost, iceServers: RTCIceServer[]) {
    this.#port = port;
    port.onmessage = ({ data }: MessageEvent<News>) => {
      switch (data.news) {
        case "signal":
          return host.signal(data.peer, data.signal);
        case "event":
          return host.event(data.kind, data.peer, data.bytes);
        case "told":
          return host.told(data.peer, data.text);
      }
    };
    this.#call({ call: "open", iceServers });
  }

  #call(call: Call, transfer: Transferable[] = []): void {
    this.#port.postMessage(call, transfer);
  }

  hear(event: RoomEvent): void {
    this.#call({ call: "hear", event });
  }

  send(peer: string, bytes: Uint8Array<ArrayBuffer>): void {
    this.#call({ call: "send", peer, bytes }, [bytes.buffer]);
  }

  tell(text: string): void {
    this.#call({ call: "tell", text });
  }

  close(peer: string): void {
    this.#call({ call: "close", peer });
  }

  end(): void {
    this.#call({ call: "end" });
    this.#port.onmessage = null;
  }
}
