/** The part of a data set that a tab has for itself. */

import type { Part } from "../../work/messages.js";
import { uniform } from "../../work/random.js";

/** At most `most` items of these classes, drawn by chance from a seed; `size` numbers are an item. */
export function shareOf({ items, labels }: Part, size: number, classes: readonly number[], most: number, seed: number): Part {
  const wanted = new Set(classes);
  const places = [...labels.keys()].filter((place) => wanted.has(labels[place] ?? -1));
  const next = uniform(seed);
  const count = Math.min(most, places.length);
  // The first steps of a Fisher-Yates shuffle: each place is as likely as any other.
  for (let at = 0; at < count; at += 1) {
    const other = at + Math.floor(next() * (places.length - at));
    [places[at], places[other]] = [places[other] ?? 0, places[at] ?? 0];
  }
  const Items = items instanceof Uint8Array ? Uint8Array : Float32Array;
  const own = { items: new Items(count * size), labels: labels.slice(0, count) };
  for (const [at, place] of places.slice(0, count).entries()) {
    own.items.set(items.subarray(place * size, (place + 1) * size), at * size);
    own.labels[at] = labels[place] ?? 0;
  }
  return own;
}
