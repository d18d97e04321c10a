/**
 * Long curves in few points. A pyramid holds the least and the greatest value of every 16, 32, 64 … points; a part of the curve,
 * however long, is drawn from the level that has as many points as a screen can show. Adding a value costs the same after an
 * hour as at the beginning, and so does drawing; the ranges take an eighth of the memory of the values.
 */

/** The least and the greatest values of buckets. */
interface Level {
  least: number[];
  greatest: number[];
}

/** The lowest level that is held has buckets of 2^4 values. Below it, the values themselves are few enough to look at. */
const LOWEST = 4;

export class Pyramid {
  /** Those of whole buckets only: what follows them is looked at when it is drawn. */
  #levels: Level[] = [];
  /** The last value of the last whole bucket. */
  #last = Number.NaN;

  /** The list may grow between calls of `follow`; what is in it stays, but for the last value. */
  constructor(readonly values: readonly number[]) {
    this.follow();
  }

  /** Takes up what the list has gained. */
  follow(): void {
    const { values } = this;
    const size = 2 ** LOWEST;
    const taken = (this.#levels[0]?.least.length ?? 0) * size;
    // The last value may still be replaced, so a bucket is whole when another value follows it.
    if (taken > 0 && (values.length <= taken || !Object.is(values[taken - 1], this.#last))) {
      this.#levels = [];
      this.follow();
      return;
    }
    for (let end = taken + size; end < values.length; end += size) {
      this.#add(0, ...rangeOf(values, end - size, end));
      this.#last = values[end - 1] ?? Number.NaN;
    }
  }

  /** Adds a bucket to a level, and the one of two above it where it is the second. */
  #add(place: number, low: number, high: number): void {
    const { least, greatest } = this.#levels[place] ?? { least: [], greatest: [] };
    this.#levels[place] = { least, greatest };
    const count = least.push(low);
    greatest.push(high);
    if (count % 2 > 0) return;
    const [other, top] = [least[count - 2] ?? low, greatest[count - 2] ?? high];
    this.#add(place + 1, Math.min(other, low), Math.max(top, high));
  }

  /** Least and greatest of a bucket of 2^level values; the last one may have fewer. */
  range(level: number, bucket: number): [number, number] {
    const { values } = this;
    const begin = bucket * 2 ** level;
    const known = this.#known(level, bucket);
    if (known !== undefined) return known;
    if (level <= LOWEST) return rangeOf(values, begin, begin + 2 ** level);
    const [low, high] = this.range(level - 1, 2 * bucket);
    if (begin + 2 ** (level - 1) >= values.length) return [low, high];
    const [other, top] = this.range(level - 1, 2 * bucket + 1);
    return [Math.min(low, other), Math.max(high, top)];
  }

  #known(level: number, bucket: number): [number, number] | undefined {
    const { least, greatest } = this.#levels[level - LOWEST] ?? {};
    const [low, high] = [least?.[bucket], greatest?.[bucket]];
    return low === undefined || high === undefined ? undefined : [low, high];
  }
}

/** Least and greatest of a part of a list; not a number where one is not. */
function rangeOf(values: readonly number[], begin: number, end: number): [number, number] {
  let [low, high] = [values[begin] ?? Number.NaN, values[begin] ?? Number.NaN];
  for (let index = begin + 1; index < Math.min(end, values.length); index += 1) {
    const value = values[index] ?? Number.NaN;
    [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  return [low, high];
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

/** At most `most` of the values and the last, at equal distances; what is no number is left out. */
export function spaced(values: readonly number[], most: number): number[] {
  const each = Math.max(Math.ceil(values.length / most), 1);
  const found: number[] = [];
  const add = (value = Number.NaN) => Number.isFinite(value) && found.push(value);
  for (let place = 0; place < values.length - 1; place += each) add(values[place]);
  add(values.at(-1));
  return found;
}
