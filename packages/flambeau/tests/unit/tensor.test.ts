import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type TensorData, tensor, view } from "../../src/tensor.js";
import { type DType, dtypes } from "../../src/types.js";
import { load } from "../../src/wasm.js";
import { bindings, EMPTY } from "./parts.js";

interface Made {
  bytes: Uint8Array;
  shape: number[];
  dtype: DType | undefined;
}
const made: Made[] = [];

before(async () => {
  await load(EMPTY);
  bindings["tensor_new"] = (bytes: Uint8Array, shape: Uint32Array, dtype: number) =>
    made.push({ bytes: bytes.slice(), shape: [...shape], dtype: dtypes[dtype] });
  bindings["tensor_shape"] = (handle: number) => made[handle - 1]?.shape;
  bindings["tensor_dtype"] = (handle: number) => dtypes.indexOf(made[handle - 1]?.dtype ?? "f32");
  bindings["tensor_bytes"] = (handle: number) => Promise.resolve(made[handle - 1]?.bytes);
});

/** What the module is given. */
function given(data: TensorData, options?: Parameters<typeof tensor>[1]): Made {
  tensor(data, options);
  const last = made.at(-1);
  assert.ok(last);
  return last;
}

test("lists of numbers are f32 with the lists' shape", () => {
  const { bytes, shape, dtype } = given([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  assert.deepEqual([shape, dtype, [...new Float32Array(bytes.buffer)]], [[2, 3], "f32", [1, 2, 3, 4, 5, 6]]);
});

test("a number has no dimensions, and an empty list one of size 0", () => {
  assert.deepEqual([given(3).shape, given([]).shape, given([[], []]).shape], [[], [0], [2, 0]]);
});

test("lists of truths are bool", () => {
  const { bytes, dtype } = given([true, false, true]);
  assert.deepEqual([[...bytes], dtype], [[1, 0, 1], "bool"]);
});

test("lists that are not boxes are refused", () => {
  assert.throws(() => tensor([[1, 2], [3]]), /a list of 1 where the first of its depth has 2/);
  assert.throws(() => tensor([[1], 2]), /different depths/);
  assert.throws(() => tensor([1, [2]]), /different depths|a list of/);
});

test("every dtype is written in its own bytes", () => {
  const written = (dtype: DType) => [...given([1, 2], { dtype }).bytes];
  assert.deepEqual(written("u8"), [1, 2]);
  assert.deepEqual(written("i32"), [1, 0, 0, 0, 2, 0, 0, 0]);
  assert.deepEqual(written("i64"), [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual(written("f16"), [0x00, 0x3c, 0x00, 0x40]);
  assert.deepEqual(written("f64").slice(6, 8), [0xf0, 0x3f]);
});

test("typed arrays keep their type, and a part of a buffer is only that part", () => {
  const whole = Float32Array.of(9, 1, 2, 9);
  const { bytes, shape, dtype } = given(whole.subarray(1, 3));
  assert.deepEqual([[...new Float32Array(bytes.buffer)], shape, dtype], [[1, 2], [2], "f32"]);
  assert.deepEqual(
    [Int32Array.of(1), Uint32Array.of(1), Uint8Array.of(1), Float64Array.of(1), BigInt64Array.of(1n), Uint16Array.of(1)].map(
      (array) => given(array).dtype,
    ),
    ["i32", "u32", "u8", "f64", "i64", "f16"],
  );
  assert.equal(given(Uint8Array.of(1), { dtype: "bool" }).dtype, "bool");
  assert.throws(() => tensor(Int16Array.of(1) as unknown as Int32Array), /cannot be made from \[object Int16Array\]/);
});

test("half precision rounds to even, keeps small numbers, and ends in infinity", () => {
  const cases: [number, number][] = [
    [0, 0x0000],
    [-0, 0x8000],
    [1, 0x3c00],
    [-2, 0xc000],
    [65504, 0x7bff],
    [65519.99, 0x7bff],
    [65520, 0x7c00],
    [1e9, 0x7c00],
    [Number.NEGATIVE_INFINITY, 0xfc00],
    [Number.NaN, 0x7e00],
    // The smallest normal number, the largest and the smallest subnormal.
    [2 ** -14, 0x0400],
    [2 ** -14 - 2 ** -24, 0x03ff],
    [2 ** -24, 0x0001],
    // Half of the smallest goes to even, which is zero; a little more does not.
    [2 ** -25, 0x0000],
    [2 ** -25 * 1.01, 0x0001],
    [2 ** -26, 0x0000],
    // Between 1 and its neighbours: the even one.
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
    [0.1, 0x2e66],
  ];
  const { bytes } = given(
    cases.map(([value]) => value),
    { dtype: "f16" },
  );
  const found = [...new Uint16Array(bytes.buffer)];
  for (const [place, [value, bits]] of cases.entries()) assert.equal(found[place]?.toString(16), bits.toString(16), `${value}`);
});

test("bytes are seen as the dtype's array, also from the middle of a buffer", () => {
  const bytes = Uint8Array.of(9, 9, 1, 0, 0, 0, 2, 0, 0, 0);
  assert.deepEqual(view(bytes.subarray(2), "i32"), Int32Array.of(1, 2));
  assert.deepEqual(view(Uint8Array.of(1, 0), "bool"), Uint8Array.of(1, 0));
});

test("values come back as nested lists", async () => {
  assert.deepEqual(
    await tensor([
      [[1], [2]],
      [[3], [4]],
    ]).array(),
    [
      [[1], [2]],
      [[3], [4]],
    ],
  );
  assert.deepEqual(await tensor([true, false]).array(), [true, false]);
  assert.deepEqual([await tensor(5).array(), await tensor([[], []]).array()], [5, [[], []]]);
  assert.deepEqual(await tensor([7], { dtype: "i64" }).array(), [7]);
});
