/** Curves as TensorBoard's event files: records with checksums, each an `Event` of protocol buffers with one number. */

/** One number of a curve. */
export interface Scalar {
  tag: string;
  step: number;
  value: number;
  /** Seconds since 1970. */
  time: number;
}

/** CRC-32C, byte by byte. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0x82f63b78 : rest >>> 1;
  return rest;
});

export function crc32c(bytes: Uint8Array): number {
  let rest = 0xffffffff;
  for (const byte of bytes) rest = (TABLE[(rest ^ byte) & 0xff] ?? 0) ^ (rest >>> 8);
  return (rest ^ 0xffffffff) >>> 0;
}

/** As the files have it: rotated and moved, since checksums of checksums are weak. */
function masked(bytes: Uint8Array): number {
  const sum = crc32c(bytes);
  return (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0;
}

const joined = (parts: readonly Uint8Array[]) => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

/** Seven bits a byte, the lowest first. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Uint8Array.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}

const field = (number: number, kind: number) => varint(number * 8 + kind);
const sized = (number: number, bytes: Uint8Array) => joined([field(number, 2), varint(bytes.length), bytes]);
const words = (number: number, text: string) => sized(number, new TextEncoder().encode(text));

function float(number: number, value: number, size: 4 | 8): Uint8Array {
  const view = new DataView(new ArrayBuffer(size));
  if (size === 8) view.setFloat64(0, value, true);
  else view.setFloat32(0, value, true);
  return joined([field(number, size === 8 ? 1 : 5), new Uint8Array(view.buffer)]);
}

function record(bytes: Uint8Array): Uint8Array {
  const head = new Uint8Array(12);
  const view = new DataView(head.buffer);
  view.setBigUint64(0, BigInt(bytes.length), true);
  view.setUint32(8, masked(head.subarray(0, 8)), true);
  const tail = new DataView(new ArrayBuffer(4));
  tail.setUint32(0, masked(bytes), true);
  return joined([head, bytes, new Uint8Array(tail.buffer)]);
}

/** The file of a run's numbers. */
export function eventFile(scalars: readonly Scalar[], begun: number): Uint8Array<ArrayBuffer> {
  const first = joined([float(1, begun, 8), words(3, "brain.Event:2")]);
  const events = scalars.map(({ tag, step, value, time }) => {
    const summary = sized(1, joined([words(1, tag), float(2, value, 4)]));
    return joined([float(1, time, 8), field(2, 0), varint(step), sized(5, summary)]);
  });
  return joined([first, ...events].map(record));
}
