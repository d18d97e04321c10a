import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, read, written } from "../../src/peers/signalling.js";

const peer = "67e55044-10b1-426f-9247-bb680e5fe0c8";

test("what a room says is read, and nothing else", () => {
  const offer = { Offer: "v=0" };
  assert.deepEqual(read(JSON.stringify({ IdAssigned: peer })), { kind: "own", peer });
  assert.deepEqual(read(JSON.stringify({ NewPeer: peer })), { kind: "new", peer });
  assert.deepEqual(read(JSON.stringify({ PeerLeft: peer })), { kind: "left", peer });
  assert.deepEqual(read(JSON.stringify({ Signal: { sender: peer, data: offer } })), { kind: "signal", peer, signal: offer });
  const foreign = [
    "no JSON",
    "null",
    '"KeepAlive"',
    "[]",
    "{}",
    '{"NewPeer":7}',
    '{"NewPeer":"me"}',
    '{"Signal":null}',
    JSON.stringify({ Signal: { sender: "me", data: offer } }),
    JSON.stringify({ Signal: { sender: peer, data: null } }),
    JSON.stringify({ Signal: { sender: peer, data: { Offer: 7 } } }),
    JSON.stringify({ Signal: { sender: peer, data: { Offer: "a", Answer: "b" } } }),
    JSON.stringify({ Signal: { sender: peer, data: { Other: "a" } } }),
  ];
  for (const text of foreign) assert.equal(read(text), undefined, text);
});

test("a signal names its receiver as matchbox has it", () => {
  assert.deepEqual(JSON.parse(written(peer, { Answer: "v=0" })), { Signal: { receiver: peer, data: { Answer: "v=0" } } });
});

test("rooms lie beside the page", () => {
  const at = (server: string, name: string) => addressOf(server, name, "http://localhost:8090/?page=together").href;
  assert.equal(at("./", "blue-fish"), "ws://localhost:8090/room/blue-fish");
  assert.equal(at("https://lab.example/app/?x=1#y", "a"), "wss://lab.example/app/room/a");
  for (const name of ["", "a/b", "ä", "x".repeat(65), "../a"]) assert.throws(() => at("./", name), RangeError, name);
});
