import assert from "node:assert/strict";
import { before, test } from "node:test";
import { settings } from "../../src/nn/layer.js";
import { Buffer, Module, Parameter } from "../../src/nn/module.js";
import { LrScheduler, type Optimizer } from "../../src/optim.js";
import type { Tensor } from "../../src/tensor.js";
import { load, wasm } from "../../src/wasm.js";
import { bindings, EMPTY } from "./parts.js";

before(async () => {
  assert.throws(() => wasm(), /await init\(\) first/);
  await load(EMPTY);
  // A slot's key: handles 10 apart are of one slot.
  bindings["slot_key"] = (slot: number) => slot % 10;
});

class Inner extends Module {
  weight = new Parameter(1);
  count = new Buffer(2);
}
class Outer extends Module {
  list = [new Inner(), new Inner()];
  scale = new Parameter(11);
  width = 3;
}

test("parts are named as PyTorch names them, and lists by their places", () => {
  const net = new Outer();
  assert.deepEqual(
    net.namedParameters().map(([name]) => name),
    ["list.0.weight", "list.1.weight", "scale"],
  );
  assert.deepEqual(
    net.namedBuffers().map(([name]) => name),
    ["list.0.count", "list.1.count"],
  );
});

test("a parameter that is held in several places is trained once", () => {
  assert.equal(new Outer().parameters().length, 1);
});

test("training and evaluation reach the modules inside", () => {
  const net = new Outer();
  net.eval();
  assert.deepEqual([net.training, ...net.list.map(({ training }) => training)], [false, false, false]);
  net.train();
  assert.deepEqual([net.training, ...net.list.map(({ training }) => training)], [true, true, true]);
});

test("values whose names do not fit are refused before anything changes", () => {
  const state = { "list.0.weight": {} as Tensor, other: {} as Tensor };
  assert.throws(
    () => new Outer().loadStateDict(state),
    /missing: list\.0\.count, list\.1\.weight, list\.1\.count, scale; unexpected: other/,
  );
});

test("a summary shows what a module is made of", () => {
  assert.equal(new Outer().summary(), "Outer(\n  (list.0): Inner()\n  (list.1): Inner()\n)");
});

test("settings are written in the library's style, without what is undefined", () => {
  assert.equal(
    settings({ batchFirst: true, learningRateDecay: 0.1, bias: undefined }),
    '{"batch_first":true,"learning_rate_decay":0.1}',
  );
});

test("a schedule of one's own is a function of the base rate and the step, and goes on from its state", () => {
  const optimizer = { lrs: [1, 0.1] } as unknown as Optimizer;
  const halving = (base: number, step: number) => base / 2 ** step;
  const schedule = new LrScheduler(optimizer, halving);
  schedule.step();
  schedule.step();
  assert.deepEqual(optimizer.lrs, [0.25, 0.025]);
  const other = { lrs: [9, 9] } as unknown as Optimizer;
  const again = new LrScheduler(other, halving);
  again.load(schedule.state());
  again.step();
  assert.deepEqual(other.lrs, [0.125, 0.0125]);
});
