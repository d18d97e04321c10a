import assert from "node:assert/strict";
import { test } from "node:test";
import { decimated, Pyramid, pyramidOf, spaced } from "../../src/work/decimate.js";
import { uniform } from "../../src/work/random.js";
import { smoothed } from "../../src/work/smooth.js";

const noise = (count: number, seed = 1) => Array.from({ length: count }, uniform(seed));
const MOST = 600;

/** Counts how often places are asked for. */
function counted() {
  const count = { reads: 0 };
  return {
    count,
    x: (index: number) => {
      count.reads += 1;
      return 10 * index;
    },
  };
}

test("a short curve is drawn as it is, with one point beyond each end of what is shown", () => {
  const pyramid = new Pyramid([5, 6, 7, 8, 9, 10]);
  const x = (index: number) => 10 * index;
  assert.deepEqual(decimated(pyramid, x, [0, 50], MOST), { x: [0, 10, 20, 30, 40, 50], y: [5, 6, 7, 8, 9, 10] });
  assert.deepEqual(decimated(pyramid, x, [15, 25], MOST), { x: [10, 20, 30, 40], y: [6, 7, 8, 9] });
  assert.deepEqual(decimated(new Pyramid([]), x, [0, 1], MOST), { x: [], y: [] });
});

test("however long a curve is, as many points are drawn, and as many places are asked for", () => {
  for (const length of [1e3, 1e4, 1e5, 1e6]) {
    const pyramid = new Pyramid(noise(length));
    for (const [from, to] of [
      [0, 10 * length],
      [length, 2 * length],
      [3 * length, 3 * length + 500],
    ] as const) {
      const { count, x } = counted();
      const points = decimated(pyramid, x, [from, to], MOST);
      assert.ok(points.x.length <= MOST && points.x.length >= Math.min((to - from) / 10, MOST / 4), `${points.x.length} points`);
      assert.ok(count.reads <= MOST + 50, `${count.reads} reads of ${length} points`);
    }
  }
});

test("the edges of a band, drawn in few points, hold all that lies between them", () => {
  const [low, high] = [noise(5000), noise(5000, 2).map((value) => value + 1)];
  const edge = (values: number[], side: "least" | "greatest") =>
    decimated(new Pyramid(values), (index) => index, [0, 5000], 200, side);
  const [below, above] = [edge(low, "least"), edge(high, "greatest")];
  assert.deepEqual(below.x, above.x);
  for (let place = 0; place < below.x.length; place += 2) {
    const [begin = 0, last = begin] = [below.x[place], below.x[place + 1]];
    assert.equal(below.y[place], Math.min(...low.slice(begin, last + 1)));
    assert.equal(above.y[place], Math.max(...high.slice(begin, last + 1)));
    assert.deepEqual([below.y[place + 1], above.y[place + 1]], [below.y[place], above.y[place]]);
  }
  assert.deepEqual(edge([3, 1, 2], "least"), { x: [0, 1, 2], y: [3, 1, 2] });
});

test("what is drawn in place of many points has their ranges, and rises where they do", () => {
  const values = noise(5000).map((value, place) => value + place / 100);
  values[3210] = 999;
  values[17] = -999;
  const { x, y } = decimated(new Pyramid(values), (index) => index, [0, 5000], 200);
  assert.deepEqual([Math.min(...y), Math.max(...y)], [-999, 999]);
  assert.deepEqual(
    x,
    [...x].sort((a, b) => a - b),
  );
  assert.deepEqual([x[0], x.at(-1)], [0, 4999]);
  for (let place = 0; place + 1 < x.length; place += 2) {
    const own = values.slice(x[place], (x[place + 1] ?? 0) + 1);
    assert.deepEqual([y[place], y[place + 1]].sort(byValue), [Math.min(...own), Math.max(...own)]);
  }
});

const byValue = (a?: number, b?: number) => (a ?? 0) - (b ?? 0);

test("a pyramid that followed a growing curve is that of the whole curve", () => {
  const [all, growing] = [noise(3000), [] as number[]];
  const pyramid = pyramidOf(growing);
  for (const [place, value] of all.entries()) {
    growing.push(value);
    if (place % 7 === 0) assert.equal(pyramidOf(growing), pyramid);
  }
  const draw = (each: Pyramid) => decimated(each, (index) => index, [0, 3000], 100);
  assert.deepEqual(draw(pyramidOf(growing)), draw(new Pyramid(all)));
});

/** A list that counts how often its values are read. */
function watched(values: number[]) {
  const count = { reads: 0 };
  const isPlace = (name: string | symbol) => typeof name === "string" && /^\d+$/.test(name);
  const list = new Proxy(values, {
    get: (target, name) => {
      if (isPlace(name)) count.reads += 1;
      return Reflect.get(target, name) as unknown;
    },
  });
  return { list, count };
}

test("a frame looks at as many values of a long curve as of a short one", () => {
  for (const length of [5e3, 5e4, 5e5]) {
    const { list, count } = watched(noise(length));
    const pyramid = new Pyramid(list);
    const reads = (work: () => unknown) => {
      count.reads = 0;
      work();
      return count.reads;
    };
    // What a second of reports brings, and then a frame of each kind.
    list.push(...noise(60));
    assert.ok(reads(() => pyramid.follow()) <= 80, `${count.reads} values were read to follow ${length}`);
    const draw = () => decimated(pyramid, (index) => index, [0, length], MOST);
    assert.ok(reads(draw) <= 3 * MOST, `${count.reads} values were read to draw ${length}`);
    const zoomed = () => decimated(pyramid, (index) => index, [length / 2, length / 2 + 4000], MOST);
    assert.ok(reads(zoomed) <= 9000, `${count.reads} values were read to draw a part of ${length}`);
    assert.ok(reads(() => spaced(list, 160)) <= 162, `${count.reads} values were read for a small picture of ${length}`);
  }
});

test("every bucket of every level has the range of its values, the last one too", () => {
  for (const length of [1, 15, 16, 17, 33, 100, 1000]) {
    const values = noise(length);
    const pyramid = new Pyramid(values);
    for (let level = 0; 2 ** level < 2 * length; level += 1) {
      for (let bucket = 0; bucket * 2 ** level < length; bucket += 1) {
        const own = values.slice(bucket * 2 ** level, (bucket + 1) * 2 ** level);
        assert.deepEqual(pyramid.range(level, bucket), [Math.min(...own), Math.max(...own)], `${length}: ${level}, ${bucket}`);
      }
    }
  }
});

test("a small picture has values at equal distances, the last one, and no gaps", () => {
  assert.deepEqual(spaced([], 3), []);
  assert.deepEqual(spaced([4], 3), [4]);
  assert.deepEqual(spaced([1, 2, 3, 4, 5, 6, 7, 8], 3), [1, 4, 7, 8]);
  assert.deepEqual(spaced([1, Number.NaN, 3], 3), [1, 3]);
});

test("a last value that is replaced, and a curve that is cut, are noticed", () => {
  const values = noise(300);
  pyramidOf(values);
  values[299] = 77;
  assert.equal(Math.max(...decimated(pyramidOf(values), (index) => index, [0, 300], 50).y), 77);
  values.length = 200;
  assert.ok(Math.max(...decimated(pyramidOf(values), (index) => index, [0, 300], 50).y) < 1);
});

test("smoothing keeps a level curve, begins at its first value, and only computes what is new", () => {
  assert.equal(smoothed([1, 2], 0).length, 2);
  assert.deepEqual(
    smoothed([3, 3, 3], 0.9).map((value) => value.toFixed(12)),
    ["3.000000000000", "3.000000000000", "3.000000000000"],
  );
  const values = [1, 2];
  const first = smoothed(values, 0.5);
  assert.deepEqual(first, [1, 5 / 3]);
  values.push(4);
  assert.equal(smoothed(values, 0.5), first, "it was computed anew");
  assert.equal(first[2], (1 * 0.25 + 2 * 0.5 + 4) / 1.75);
  values[2] = 0;
  assert.equal(smoothed(values, 0.5)[2], (1 * 0.25 + 2 * 0.5) / 1.75);
  assert.equal(smoothed(values, 0.9).length, 3);
});
