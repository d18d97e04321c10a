import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery, writeQuery } from "../../src/app/url.js";
import { emptyRecord as emptyFlower, type FlowerRecord, noted as flowerNoted } from "../../src/pages/together/flower/record.js";
import { emptyRecord, nameOf, noted, type RoomRecord, wordsOf } from "../../src/pages/together/room/record.js";
import { ownSchema, roomSchema } from "../../src/pages/together/settings.js";
import { shareOf } from "../../src/pages/together/share.js";
import { plainName, readTelling, writeTelling } from "../../src/pages/together/room/tellings.js";

const items = Uint8Array.from({ length: 200 }, (_, at) => at >> 1);
const labels = Uint8Array.from({ length: 100 }, (_, at) => at % 10);

test("a share has items of its classes only, each once, and with its own label", () => {
  const share = shareOf({ items, labels }, 2, [3, 7], 12, 5);
  assert.equal(share.labels.length, 12);
  const places = Array.from(share.labels, (label, at) => {
    assert.equal(share.items[2 * at], share.items[2 * at + 1]);
    assert.equal((share.items[2 * at] ?? 0) % 10, label);
    assert.ok(label === 3 || label === 7);
    return share.items[2 * at];
  });
  assert.equal(new Set(places).size, 12);
  assert.deepEqual(shareOf({ items, labels }, 2, [3, 7], 12, 5), share);
  assert.notDeepEqual(shareOf({ items, labels }, 2, [3, 7], 12, 6), share);
  // There are ten of each.
  assert.equal(shareOf({ items, labels }, 2, [3, 7], 1000, 5).labels.length, 20);
  assert.equal(shareOf({ items, labels }, 2, [], 1000, 5).labels.length, 0);
});

const telling = { name: "Ada", classes: [0, 1], items: 100, round: 7, loss: 0.5, alone: 0.25 };

test("what members tell is read, and nothing else", () => {
  assert.deepEqual(readTelling(writeTelling(telling)), telling);
  const wrong = [
    { name: 7 },
    { classes: "01" },
    { classes: [10] },
    { classes: Array(11).fill(1) },
    { items: -1 },
    { items: 0.5 },
    { round: "7" },
    { loss: null },
    { loss: -1 },
    { alone: 1.5 },
  ];
  for (const change of wrong)
    assert.equal(readTelling(JSON.stringify({ ...telling, ...change })), undefined, JSON.stringify(change));
  for (const text of ["", "7", "null", "[]", "{}", '{"loss":1e999}']) assert.equal(readTelling(text), undefined, text);
  assert.equal(plainName("  a\n\tb\u202e c  ".repeat(9)).length <= 24, true);
  assert.equal(plainName(" Ada\u0000\u200b\n King "), "Ada King");
});

test("a link carries what all agree on, and the rest is this tab's", () => {
  const settings = readQuery({ ...roomSchema, ...ownSchema }, new URLSearchParams("room=a-1&classes=9091&name=Ada&inner=5"));
  assert.deepEqual(settings.classes, [0, 1, 9]);
  assert.equal(writeQuery(roomSchema, settings).toString(), "room=a-1&inner=5");
  const wrong = readQuery({ ...roomSchema, ...ownSchema }, new URLSearchParams("room=a/b&classes=x&inner=0"));
  assert.deepEqual([wrong.room, wrong.classes.length, wrong.inner], ["", 10, 20]);
});

const device = { type: "cpu" } as never;
const made = (round: number, members: string[]) => ({
  kind: "round" as const,
  made: { round, loss: 1 / round, alone: 0.4, together: 0.8, members, sent: 10 * round, received: 5 },
});

test("a room's record knows who is there, who left and why, and everybody's losses", () => {
  const own = "aaaaaaaa-0000";
  const other = "bbbbbbbb-0000";
  const notes = [
    { kind: "entered", own, info: device, parameters: 10, tested: 1000, introduction: { name: "Me", classes: [1], items: 5 } },
    { kind: "joined", round: 0, members: [own] },
    made(1, [own]),
    { kind: "told", peer: other, telling },
    { kind: "happened", happening: "came", peer: other, why: "" },
    made(2, [own, other]),
    { kind: "told", peer: other, telling: { ...telling, round: 2 } },
    { kind: "told", peer: other, telling: { ...telling, round: 2, loss: 99 } },
  ] satisfies Parameters<typeof noted>[1][];
  const full = notes.reduce<RoomRecord>(noted, emptyRecord());
  assert.equal(full.loading, undefined);
  assert.deepEqual(
    full.members.map(({ peer, isHere, rounds, losses }) => ({ peer, isHere, rounds, losses })),
    [
      { peer: own, isHere: true, rounds: [1, 2], losses: [1, 0.5] },
      { peer: other, isHere: true, rounds: [2], losses: [0.5] },
    ],
  );
  assert.deepEqual([nameOf(full, own), nameOf(full, other), nameOf(full, "cccccccc")], ["this tab", "Ada", "cccccc"]);
  const after = noted(full, { kind: "happened", happening: "left", peer: other, why: "the link ended" });
  assert.deepEqual([after.members[1]?.isHere, after.members[1]?.why], [false, "the link ended"]);
  assert.deepEqual(
    after.events.map((event) => wordsOf(after, event)),
    ["Ada left: the link ended.", "Ada came.", "This tab is in a group of one, after 0 rounds."],
  );
  assert.equal(noted(after, made(3, [own])).members[1]?.isHere, false);
});

test("a federated run's record has curves by round, and what was spent", () => {
  const report = { run: "1", round: 1, examples: 5, loss: 0.5, seconds: 1, privacy: undefined };
  const privacy = { norm: 3, factor: 0.5, deviation: 1, epsilon: 2, delta: 1e-5 };
  const tested = { run: "1", examples: 1000, loss: 1 };
  const notes = [
    { kind: "online", node: "123456789", parameters: 10, items: 5, tested: 1000 },
    { kind: "round", report },
    { kind: "evaluated", report: { ...tested, round: undefined, accuracy: 0.3 } },
    { kind: "evaluated", report: { ...tested, round: 2, accuracy: 0.6 } },
    { kind: "evaluated", report: { ...tested, round: 3, accuracy: undefined } },
    { kind: "round", report: { ...report, round: 2, loss: undefined, privacy } },
    { kind: "trouble", why: "no such array" },
    { kind: "over", rounds: 2 },
  ] satisfies Parameters<typeof flowerNoted>[1][];
  const full = notes.reduce<FlowerRecord>(flowerNoted, emptyFlower());
  assert.deepEqual(full.losses, { round: [1], loss: [0.5] });
  assert.deepEqual(full.tests, { round: [1, 2], accuracy: [0.3, 0.6] });
  assert.deepEqual([full.rounds, full.spent], [2, privacy]);
  assert.equal(full.events.length, 3);
  assert.match(full.events[1] ?? "", /no such array/);
});
