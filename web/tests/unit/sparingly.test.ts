import assert from "node:assert/strict";
import { test } from "node:test";
import { Sparingly } from "../../src/work/sparingly.js";

/** Asks every 100 ms for a minute whether the work is due, which takes longer each time; gives how often and how long it was done. */
function aMinute(cost: (time: number) => number) {
  let time = 0;
  const sparingly = new Sparingly(20, () => time);
  let [count, took] = [0, 0];
  for (; time < 60_000; time += 100) {
    if (!sparingly.isDue) continue;
    sparingly.begin();
    const now = cost(time);
    sparingly.end(now);
    [count, took] = [count + 1, took + now];
  }
  return { count, took };
}

test("what costs little is done every time", () => {
  assert.equal(aMinute(() => 1).count, 600);
});

test("what costs more and more takes a twentieth of the time at most", () => {
  const { count, took } = aMinute((time) => time / 500);
  assert.ok(took <= 60_000 / 20 + 120, `${took} ms of a minute`);
  assert.ok(count > 30, `${count} times`);
});

test("it is not begun again while it is being done", () => {
  const sparingly = new Sparingly(20, () => 1000);
  assert.ok(sparingly.isDue);
  sparingly.begin();
  assert.ok(!sparingly.isDue);
  sparingly.end(0);
  assert.ok(sparingly.isDue);
});
