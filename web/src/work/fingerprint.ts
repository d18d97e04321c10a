/** A fingerprint of a data set: tells whether a run goes on with the data that it was begun with. */

import type { DataSet } from "./messages.js";

/** Two sums of 32 bits each over words, every word mixed into both. */
class Sum {
  #first = 0x811c9dc5;
  #second = 0x9e3779b9;

  add(word: number): void {
    this.#first = Math.imul(this.#first ^ word, 0x01000193);
    this.#second = Math.imul((this.#second + word) ^ (this.#second >>> 15), 0x85ebca6b);
  }

  addBytes(bytes: Uint8Array): void {
    // Words must be aligned in their buffer.
    const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
    const words = new Uint32Array(buffer, byteOffset, Math.floor(bytes.length / 4));
    this.add(bytes.length);
    for (const word of words) this.add(word);
    for (const byte of bytes.subarray(4 * words.length)) this.add(byte);
  }

  written(): string {
    return [this.#first, this.#second].map((sum) => (sum >>> 0).toString(16).padStart(8, "0")).join("");
  }
}

/** Sixteen digits that differ for data sets that differ, in how they are divided or scaled too, whatever their names are. */
export function fingerprint({ shape, classes, number, preparation, train, validation, test }: DataSet): string {
  const sum = new Sum();
  sum.addBytes(new TextEncoder().encode(JSON.stringify([shape, classes, number, preparation])));
  for (const { items, labels } of [train, ...(validation === undefined ? [] : [validation]), test])
    for (const { buffer, byteOffset, byteLength } of [items, labels])
      sum.addBytes(new Uint8Array(buffer, byteOffset, byteLength));
  return sum.written();
}
