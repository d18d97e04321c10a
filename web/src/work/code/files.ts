/** The data of a run as a file that programs read: safetensors, in the order and with the values that training uses. */

import type { DataSet, Part } from "../messages.js";

/** What the file is called. */
export const FILE_OF_DATA = "run-data.safetensors";

/** Items that are read at once when a model is tested. */
export const ITEMS_AT_ONCE = 500;

const DTYPES = { u8: "U8", f32: "F32" } as const;

/** What the file holds: items and labels, to train with and to test with. */
export function dataFile({ shape, train, test }: Pick<DataSet, "shape" | "train" | "test">): Blob {
  const arrays = ([["train", train] as const, ["test", test] as const] satisfies [string, Part][]).flatMap(([name, part]) => [
    { name: `${name}_items`, values: part.items, shape: [part.labels.length, ...shape] },
    { name: `${name}_labels`, values: part.labels, shape: [part.labels.length] },
  ]);
  // Floats first: they must begin at a multiple of four.
  arrays.sort((a, b) => b.values.BYTES_PER_ELEMENT - a.values.BYTES_PER_ELEMENT);
  let end = 0;
  const entries = arrays.map(({ name, values, shape }) => {
    const start = end;
    end += values.byteLength;
    return [name, { dtype: DTYPES[values instanceof Uint8Array ? "u8" : "f32"], shape, data_offsets: [start, end] }];
  });
  const text = JSON.stringify(Object.fromEntries(entries));
  const head = new TextEncoder().encode(text.padEnd(Math.ceil(text.length / 8) * 8));
  const length = new DataView(new ArrayBuffer(8));
  length.setBigUint64(0, BigInt(head.length), true);
  return new Blob([length, head, ...arrays.map(({ values }) => values as Uint8Array<ArrayBuffer>)]);
}
