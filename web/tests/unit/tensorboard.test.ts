import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32c, eventFile } from "../../src/work/tensorboard.js";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

test("checksums are those of RFC 3720", () => {
  const of = (bytes: number[]) => crc32c(Uint8Array.from(bytes)).toString(16);
  assert.equal(crc32c(new TextEncoder().encode("123456789")).toString(16), "e3069283");
  assert.equal(of(Array.from({ length: 32 }, () => 0)), "8a9136aa");
  assert.equal(of(Array.from({ length: 32 }, () => 255)), "62a8ab43");
  assert.equal(of(Array.from({ length: 32 }, (_, place) => place)), "46dd794e");
});

test("the file begins with the version's event, byte for byte as TensorFlow writes it", () => {
  // Length 24 and its masked checksum, as they stand at the beginning of any event file.
  assert.equal(hex(eventFile([], 0).subarray(0, 12)), "1800000000000000a37f4b22");
  const event = ["09", "0000000000000000", "1a0d", hex(new TextEncoder().encode("brain.Event:2"))].join("");
  assert.equal(hex(eventFile([], 0).subarray(12, 36)), event);
});

test("a number is an event with its time, step, tag and value", () => {
  const file = eventFile([{ tag: "loss", step: 300, value: 0.5, time: 2 }], 0).subarray(40);
  const length = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
  assert.equal(file.length, 12 + length + 4);
  assert.equal(
    hex(file.subarray(12, 12 + length)),
    // Time 2.0; step 300 in seven bits a byte; a summary with one value: its tag, and 0.5 as f32.
    ["09", "0000000000000040", "10ac02", "2a0d", "0a0b", "0a046c6f7373", "150000003f"].join(""),
  );
});
