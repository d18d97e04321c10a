/**
 * Long curves in few points. A pyramid holds the least and the greatest value of every 2, 4, 8 … points; a part of the curve,
 * however long, is drawn from the level that has as many points as a screen can show. Adding a value costs the same after an
 * hour as at the beginning, and so does drawing.
 */

/** The least and the greatest values of buckets. */
interface Level {
  least: number[];
  greatest: number[];
}

export class Pyramid {
  #levels: Level[] = [];
  #seen = 0;
  #last = Number.NaN;

  /** The list may grow between calls of `follow`; what is in it stays, but for the last value. */
  constructor(readonly values: readonly number[]) {
    this.follow();
  }

  /** Takes up what the list has gained. */
  follow(): void {
    const { values } = this;
    const isSame = this.#seen === 0 || Object.is(values[this.#seen - 1], this.#last);
    if (values.length < this.#seen || !isSame) {
      this.#levels = [];
      this.#seen = 0;
    }
    for (; this.#seen < values.length; this.#seen += 1) this.#add(this.#seen, values[this.#seen] ?? Number.NaN);
    this.#last = values.at(-1) ?? Number.NaN;
  }

  #add(index: number, value: number): void {
    // A level is begun when the one below it has two buckets: until then it would say the same.
    if (index >= 2 ** this.#levels.length) this.#levels.push(this.#above());
    for (const [place, { least, greatest }] of this.#levels.entries()) {
      const bucket = Math.floor(index / 2 ** (place + 1));
      least[bucket] = Math.min(least[bucket] ?? value, value);
      greatest[bucket] = Math.max(greatest[bucket] ?? value, value);
    }
  }

  /** The level above the highest, which has one bucket so far. */
  #above(): Level {
    const { least, greatest } = this.#levels.at(-1) ?? { least: [this.values[0] ?? 0], greatest: [this.values[0] ?? 0] };
    return { least: [Math.min(...least)], greatest: [Math.max(...greatest)] };
  }

  /** Least and greatest of a bucket of 2^level values. */
  range(level: number, bucket: number): [number, number] {
    const { least, greatest } = this.#levels[level - 1] ?? { least: this.values, greatest: this.values };
    return [least[bucket] ?? Number.NaN, greatest[bucket] ?? Number.NaN];
  }
}

const pyramids = new WeakMap<readonly number[], Pyramid>();

/** The pyramid of a list, as long as the list is there. */
export function pyramidOf(values: readonly number[]): Pyramid {
  const known = pyramids.get(values);
  known?.follow();
  if (known !== undefined) return known;
  const made = new Pyramid(values);
  pyramids.set(values, made);
  return made;
}

export interface Points {
  x: number[];
  y: number[];
}

/** The first of `count` places that is not before the value, by halving. */
function firstAt(count: number, x: (index: number) => number, value: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x(middle) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The points from `from` to `to` of the horizontal axis and one beyond each end: those of the curve where they are at most
 * `most`, otherwise the range of each bucket as two points, or what it has of the `side` that is asked for. `x` must not fall.
 */
export function decimated(
  pyramid: Pyramid,
  x: (index: number) => number,
  [from, to]: readonly [number, number],
  most: number,
  side?: "least" | "greatest",
): Points {
  const { values } = pyramid;
  const first = Math.max(firstAt(values.length, x, from) - 1, 0);
  const end = Math.min(firstAt(values.length, x, to) + 2, values.length);
  const points: Points = { x: [], y: [] };
  const add = (index: number, value: number) => {
    points.x.push(x(index));
    points.y.push(value);
  };
  let level = 0;
  while ((end - first) / 2 ** level > (level === 0 ? most : most / 2 - 2)) level += 1;
  if (level === 0) {
    for (let index = first; index < end; index += 1) add(index, values[index] ?? Number.NaN);
    return points;
  }
  const size = 2 ** level;
  for (let bucket = Math.floor(first / size); bucket * size < end; bucket += 1) {
    const [low, high] = pyramid.range(level, bucket);
    const [begin, last] = [bucket * size, Math.min((bucket + 1) * size, values.length) - 1];
    const rises = (values[begin] ?? 0) <= (values[last] ?? 0);
    const [one, other] = side === "least" ? [low, low] : side === "greatest" ? [high, high] : rises ? [low, high] : [high, low];
    add(begin, one);
    if (last > begin) add(last, other);
  }
  return points;
}
