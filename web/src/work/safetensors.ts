/** The head of a safetensors file: enough to say what it holds, or what is wrong with it, before a worker loads it. */

import { counted } from "../ui/write.js";

/** What a file says of itself. */
export interface FileHead {
  tensors: { name: string; dtype: string; shape: number[] }[];
  metadata: Record<string, string>;
}

const MOST_HEAD = 100_000_000;

interface Entry {
  dtype?: unknown;
  shape?: unknown;
  data_offsets?: unknown;
}

/** Reads the head; an error says what is wrong in words for the reader. */
export function readHead(bytes: Uint8Array): FileHead {
  if (bytes.length < 8) throw new Error(`this is no safetensors file: it has only ${counted(bytes.length, "byte")}`);
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true));
  if (length > MOST_HEAD || length < 2)
    throw new Error("this is no safetensors file: it does not begin with the length of its head");
  if (8 + length > bytes.length)
    throw new Error(`the file is damaged: its head should have ${length} bytes, the whole file has ${bytes.length}`);
  let entries: Record<string, Entry | Record<string, string>> | null;
  try {
    entries = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(8, 8 + length))) as typeof entries;
  } catch {
    throw new Error("the file is damaged: its head cannot be read");
  }
  if (typeof entries !== "object" || entries === null) throw new Error("the file is damaged: its head cannot be read");
  const { __metadata__: metadata = {}, ...named } = entries;
  const tensors: FileHead["tensors"] = [];
  let end = 0;
  for (const [name, entry] of Object.entries(named) as [string, Entry | null][]) {
    const { dtype, shape, data_offsets: offsets } = entry ?? {};
    if (typeof dtype !== "string" || !Array.isArray(shape) || !Array.isArray(offsets))
      throw new Error(`the file is damaged: ${name} is not described`);
    tensors.push({ name, dtype, shape: shape as number[] });
    end = Math.max(end, Number(offsets[1]));
  }
  if (tensors.length === 0) throw new Error("the file holds no tensors");
  if (8 + length + end !== bytes.length) {
    throw new Error(`the file is damaged: it should have ${8 + length + end} bytes, and has ${bytes.length}`);
  }
  return { tensors, metadata: metadata as Record<string, string> };
}
