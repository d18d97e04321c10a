import assert from "node:assert/strict";
import { test } from "node:test";
import { written } from "../../src/federated/client.js";
import { type Setting, Task } from "../../src/federated/task.js";

const task = (settings: Record<string, Setting>) =>
  new Task("7", new Map(Object.entries(settings)), new AbortController().signal, []);

test("numbers of a server are taken within bounds, by any of their names", () => {
  const asked = task({ lr: 0.5, epochs: 3, "batch-size": "50", big: 1e9, none: Number.NaN, "server-round": 4 });
  assert.equal(asked.number("lr", 0.1), 0.5);
  assert.equal(asked.number(["local-epochs", "epochs"], 1), 3);
  assert.equal(asked.number("momentum", 0.9), 0.9);
  assert.equal(asked.round, 4);
  for (const name of ["batch-size", "big", "none"])
    assert.throws(() => asked.number(name, 1), new RegExp(`${name}: the server says`));
  assert.throws(() => asked.number("lr", 0.1, { least: 1 }), /takes 1 to 1000000/);
});

test("settings under names of objects' own are none", () => {
  const asked = task(JSON.parse('{"__proto__": 3}') as Record<string, Setting>);
  assert.equal(asked.number("constructor", 5), 5);
  assert.equal(asked.number("__proto__", 5), 3);
});

test("a strategy that asks for what makes no sense is refused", () => {
  assert.throws(() => task({ "proximal-mu": -1 }), /proximal-mu/);
  assert.throws(() => task({ proximal_mu: "much" }), /proximal_mu/);
});

test("answers have numbers", () => {
  const answer = { examples: 60, loss: 0.5, metrics: { steps: 6 } };
  assert.deepEqual(JSON.parse(written(answer)), answer);
  for (const [examples, loss, steps, what] of [
    [-1, 1, 1, /examples/],
    [0.5, 1, 1, /examples/],
    [Number.NaN, 1, 1, /examples/],
    [1, Number.NaN, 1, /loss is NaN/],
    [1, 1, Number.POSITIVE_INFINITY, /steps is Infinity/],
  ] as const) {
    assert.throws(() => written({ examples, loss, metrics: { steps } }), what);
  }
});
