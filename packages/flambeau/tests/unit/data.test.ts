import assert from "node:assert/strict";
import { before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { DataLoader, type HostArray, readIdx } from "../../src/data.js";
import { Device, useDevice } from "../../src/device.js";
import { load } from "../../src/wasm.js";
import { bindings, EMPTY } from "./parts.js";

const arrays: { values: number[]; shape: number[] }[] = [];
let counter = 0;

before(async () => {
  await load(EMPTY);
  bindings["device_use"] = () => undefined;
  bindings["device_throttle"] = () => Promise.resolve();
  bindings["tensor_new"] = (bytes: Uint8Array, shape: Uint32Array) => arrays.push({ values: [...bytes], shape: [...shape] });
  bindings["tensor_release"] = () => undefined;
  bindings["generator_new"] = () => 1;
  bindings["generator_counter"] = () => counter;
  bindings["generator_set_counter"] = (_: number, value: number) => {
    counter = value;
  };
  // An order that tells how often one was drawn: turned by the counter.
  bindings["generator_permutation"] = (_: number, count: number) => {
    counter += 1;
    return Uint32Array.from({ length: count }, (_, place) => (place + counter) % count);
  };
  useDevice(new Device(1, "for tests"));
});

const bytes = (count: number): HostArray => ({
  data: Uint8Array.from({ length: count }, (_, at) => at),
  shape: [count],
  dtype: "u8",
});

async function epoch(loader: DataLoader): Promise<number[][]> {
  arrays.length = 0;
  for await (const _ of loader);
  return arrays.map(({ values }) => values);
}

test("batches hold every item in order, the last one what is left", async () => {
  const loader = new DataLoader([bytes(5)], { batchSize: 2 });
  assert.deepEqual([loader.length, loader.items], [3, 5]);
  assert.deepEqual(await epoch(loader), [[0, 1], [2, 3], [4]]);
  assert.equal(loader.epoch, 1);
});

test("a small last batch can be left out", async () => {
  const loader = new DataLoader([bytes(5)], { batchSize: 2, dropLast: true });
  assert.deepEqual([loader.length, loader.items], [2, 4]);
  assert.deepEqual(await epoch(loader), [
    [0, 1],
    [2, 3],
  ]);
});

test("rows of several dimensions stay whole", async () => {
  const pictures: HostArray = { data: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), shape: [2, 2, 2], dtype: "u8" };
  assert.deepEqual(await epoch(new DataLoader([pictures], { batchSize: 1 })), [
    [1, 2, 3, 4],
    [5, 6, 7, 8],
  ]);
  assert.deepEqual(arrays[0]?.shape, [1, 2, 2]);
});

test("parts of different lengths are refused, and none too", () => {
  assert.throws(() => new DataLoader([bytes(2), bytes(3)]), /must have one first dimension, not 2, 3/);
  assert.throws(() => new DataLoader([]), RangeError);
});

test("each epoch is shuffled anew", async () => {
  counter = 0;
  const loader = new DataLoader([bytes(4)], { batchSize: 2, shuffle: 1 });
  assert.deepEqual(await epoch(loader), [
    [1, 2],
    [3, 0],
  ]);
  assert.deepEqual(await epoch(loader), [
    [2, 3],
    [0, 1],
  ]);
});

test("in the middle of an epoch the state brings back its order and its place, between epochs the next one's", async () => {
  counter = 0;
  const loader = new DataLoader([bytes(4)], { batchSize: 2, shuffle: 1 });
  arrays.length = 0;
  const iterator = loader[Symbol.asyncIterator]();
  await iterator.next();
  const middle = loader.state();
  await iterator.next();
  await iterator.next();
  const end = loader.state();
  assert.deepEqual(
    [middle, end],
    [
      { epoch: 0, position: 1, counter: 0 },
      { epoch: 1, position: 0, counter: 1 },
    ],
  );
  counter = 17;
  const again = new DataLoader([bytes(4)], { batchSize: 2, shuffle: 1 });
  again.load(middle);
  assert.deepEqual(await epoch(again), [[3, 0]]);
  again.load(end);
  assert.deepEqual(await epoch(again), [
    [2, 3],
    [0, 1],
  ]);
});

test("an idx file is unpacked where it is gzipped, and a damaged one is said to be", async () => {
  const seen: number[][] = [];
  bindings["idx_read"] = (file: Uint8Array) => {
    seen.push([...file]);
    return { bytes: Uint8Array.of(5, 6), shape: Uint32Array.of(2), dtype: 1, free: () => undefined };
  };
  const plain = Uint8Array.of(0, 0, 8, 1);
  for (const file of [plain, new Uint8Array(gzipSync(plain))]) {
    assert.deepEqual(await readIdx(file), { data: Uint8Array.of(5, 6), shape: [2], dtype: "u8" });
  }
  assert.deepEqual(seen, [[...plain], [...plain]]);
  await assert.rejects(readIdx(new Uint8Array(gzipSync(plain)).subarray(0, 15)), /damaged or cut off/);
});
