/**
 * A tab that means harm: `?rooms=<address>&room=<name>&seed=<n>&messages=<n>`. It enters the room again and again, and sends everybody what no
 * honest tab sends: noise, text, too much, and what it has been sent, damaged, cut off and repeated. It logs `@hostile` with the number of messages sent,
 * and how often it was sent away.
 */

import { Links } from "../src/peers/links.js";
import { addressOf, read, written } from "../src/peers/signalling.js";

const asked = new URLSearchParams(location.search);
const most = Number(asked.get("messages"));
/** Messages to each link before it enters anew. */
const BURST = 100;
/** Milliseconds in the room. */
const STAY = 1500;

let state = Number(asked.get("seed"));
/** A number from 0 up to one below `below`, as if by chance (a linear congruential generator). */
function chance(below: number): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

const noise = (length: number) => Uint8Array.from({ length }, () => chance(256));
const heard: Uint8Array<ArrayBuffer>[] = [];

function badMessage(): Uint8Array<ArrayBuffer> {
  const known = heard[chance(Math.max(heard.length, 1))];
  const kind = chance(known === undefined ? 3 : 7);
  switch (kind) {
    case 0:
      return new Uint8Array(0);
    case 1:
      return noise(1 + chance(2000));
    case 2:
      return noise(70_000);
  }
  const copy = (known ?? noise(100)).slice();
  if (kind === 3) return copy;
  if (kind === 4) return copy.slice(0, chance(copy.length));
  if (kind === 5) return Uint8Array.from([...copy.subarray(0, 1000), ...copy.subarray(0, 1000)]);
  const at = chance(copy.length);
  copy[at] = (copy[at] ?? 0) ^ (1 + chance(255));
  return copy;
}

let sent = 0;
let sentAway = 0;

/** Once into the room, and out again. */
async function attack(): Promise<void> {
  const socket = new WebSocket(addressOf(asked.get("rooms") ?? "", asked.get("room") ?? "", location.href));
  const links = new Links(
    {
      signal: (peer, signal) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(written(peer, signal));
      },
      event: (kind, peer, bytes) => {
        if (kind === "closed") sentAway += 1;
        if (kind === "received") heard[chance(64)] = bytes;
        if (kind === "opened") {
          for (let message = 0; message < BURST; message += 1) links.send(peer, badMessage());
          links.tell("x".repeat(10_000));
          sent += BURST;
        }
      },
      told: () => undefined,
    },
    [],
  );
  socket.onmessage = ({ data }: MessageEvent<string>) => {
    const event = read(data);
    if (event !== undefined) links.hear(event);
  };
  await new Promise((done) => setTimeout(done, STAY));
  links.end();
  socket.close();
}

while (sent < most) await attack();
console.log(`@hostile ${JSON.stringify({ sent, sentAway })}`);
