import assert from "node:assert/strict";
import { test } from "node:test";
import { Args, args } from "../../src/calls.js";

const handle = (number: number) => ({ handle: number });

test("a method's arguments begin with its tensor", () => {
  assert.deepEqual([args(handle(7)).tensors, args().tensors], [[7], []]);
});

test("tensors go one way, everything else the other, each in its order", () => {
  const { tensors, numbers } = args(handle(1)).n(0.5).t(handle(2)).b(true).n(3).b(false);
  assert.deepEqual(
    [tensors, numbers],
    [
      [1, 2],
      [0.5, 1, 3, 0],
    ],
  );
});

test("what may be missing says whether it is there", () => {
  const { tensors, numbers } = new Args().mn(undefined).mn(4).mt(undefined).mt(handle(5)).mty(undefined).mty("f32");
  assert.deepEqual(
    [tensors, numbers],
    [
      [0, 5],
      [0, 1, 4, -1, 6],
    ],
  );
});

test("an operand is a tensor or a number", () => {
  const { tensors, numbers } = new Args().o(2.5).o(handle(9));
  assert.deepEqual([tensors, numbers], [[9], [1, 2.5, 0]]);
});

test("lists say how long they are, and one size is a list of one", () => {
  const { tensors, numbers } = new Args()
    .ns(3)
    .ns([4, 5])
    .ns([])
    .ts([handle(1), handle(2)]);
  assert.deepEqual(
    [tensors, numbers],
    [
      [1, 2],
      [1, 3, 2, 4, 5, 0, 2],
    ],
  );
});

test("all dimensions is another thing than none", () => {
  assert.deepEqual(new Args().d(undefined).d([]).d(-1).numbers, [-1, 0, 1, -1]);
});

test("text goes as code points, also beyond the first plane", () => {
  assert.deepEqual(new Args().s("aé𝛌").numbers, [3, 97, 233, 0x1d6cc]);
});

test("what is no tensor or no number is refused at once", () => {
  assert.throws(() => new Args().t(3 as unknown as { handle: number }), /a tensor was expected, not 3/);
  assert.throws(() => new Args().t(undefined as unknown as { handle: number }), /a tensor was expected/);
  assert.throws(() => new Args().n("3" as unknown as number), /a number was expected, not 3/);
});
