/**
 * Values with arrays of numbers in them, as bytes and back: JSON for the structure, the arrays behind it. Runs are kept and
 * handed on in it.
 */

const MAGIC = "flambeau";
const KINDS = { f64: Float64Array, f32: Float32Array, u8: Uint8Array } as const;
type Kind = keyof typeof KINDS;

/** Stands in the JSON for an array: its kind, where its bytes begin, and how many numbers it has. */
interface Placed {
  $array: Kind;
  at: number;
  length: number;
}

const kindOf = (value: unknown) => (Object.keys(KINDS) as Kind[]).find((kind) => value instanceof KINDS[kind]);

/** The bytes of a value: what JSON can say, and arrays of numbers (f64, f32, u8). */
export function pack(value: unknown): Uint8Array<ArrayBuffer> {
  const arrays: Uint8Array[] = [];
  let at = 0;
  const text = JSON.stringify(value, (_, part: unknown) => {
    const kind = kindOf(part);
    if (kind === undefined) return part;
    const { buffer, byteOffset, byteLength, length } = part as Float64Array;
    arrays.push(new Uint8Array(buffer, byteOffset, byteLength));
    const placed: Placed = { $array: kind, at, length };
    at += byteLength;
    return placed;
  });
  const head = new TextEncoder().encode(text);
  const begin = MAGIC.length + 4;
  const bytes = new Uint8Array(begin + head.length + at);
  bytes.set(new TextEncoder().encode(MAGIC));
  new DataView(bytes.buffer).setUint32(MAGIC.length, head.length, true);
  bytes.set(head, begin);
  let place = begin + head.length;
  for (const array of arrays) {
    bytes.set(array, place);
    place += array.length;
  }
  return bytes;
}

/** The value of bytes; an error says in the reader's words what is wrong with them. */
export function unpack(bytes: Uint8Array): unknown {
  const begin = MAGIC.length + 4;
  if (bytes.length < begin || new TextDecoder().decode(bytes.subarray(0, MAGIC.length)) !== MAGIC)
    throw new Error("this is no file of a run");
  const body = begin + new DataView(bytes.buffer, bytes.byteOffset).getUint32(MAGIC.length, true);
  if (body > bytes.length)
    throw new Error(`the file is damaged: it should have more than ${body} bytes, and has ${bytes.length}`);
  const read = ({ $array: kind, at, length }: Placed) => {
    const Kind = KINDS[kind];
    const [from, to] = [body + at, body + at + length * Kind.BYTES_PER_ELEMENT];
    if (to > bytes.length) throw new Error(`the file is damaged: it should have ${to} bytes or more, and has ${bytes.length}`);
    return new Kind(bytes.slice(from, to).buffer);
  };
  const text = new TextDecoder().decode(bytes.subarray(begin, body));
  const revive = (_: string, part: unknown) => (isPlaced(part) ? read(part) : part);
  try {
    return JSON.parse(text, revive);
  } catch (error) {
    if (error instanceof SyntaxError) throw new Error("the file is damaged: its head cannot be read");
    throw error;
  }
}

const isPlaced = (part: unknown): part is Placed =>
  typeof part === "object" &&
  part !== null &&
  "$array" in part &&
  String(part.$array) in KINDS &&
  [(part as Placed).at, (part as Placed).length].every((value) => Number.isSafeInteger(value) && value >= 0);
