import assert from "node:assert/strict";
import { test } from "node:test";
import { centre } from "../../src/work/centre.js";
import { fitted } from "../../src/work/paste.js";
import { colourOf } from "../../src/ui/colour.js";
import { bytes, count, counted, percent, seconds } from "../../src/ui/write.js";
import { histogram } from "../../src/work/assess.js";
import { uniform } from "../../src/work/random.js";
import { pixelsIn } from "../../src/work/pixels.js";
import { hostArrays } from "../../src/work/sets.js";

test("bytes are written in the unit that reads well, also where rounding reaches the next", () => {
  assert.deepEqual([0, 999, 1000, 9949, 9950, 12_345, 999_499, 999_500, 12_300_000, 999_999_999, 2_500_000_000].map(bytes), [
    "0 B",
    "999 B",
    "1.0 KB",
    "9.9 KB",
    "10 KB",
    "12 KB",
    "999 KB",
    "1.0 MB",
    "12 MB",
    "1.0 GB",
    "2.5 GB",
  ]);
});

test("a length of time is written in seconds, then in minutes", () => {
  assert.deepEqual([0, 3.24, 9.94, 9.96, 59.4, 59.6, 60, 65.9, 600, 3599.9, Number.POSITIVE_INFINITY, Number.NaN].map(seconds), [
    "0.0 s",
    "3.2 s",
    "9.9 s",
    "10 s",
    "59 s",
    "1:00 min",
    "1:00 min",
    "1:05 min",
    "10:00 min",
    "59:59 min",
    "–",
    "–",
  ]);
});

test("shares are percents, and counts have thin spaces", () => {
  assert.deepEqual(
    [percent(0.9731), percent(1), count(101770), count(999), count(1234567.4)],
    ["97.3 %", "100.0 %", "101\u202f770", "999", "1\u202f234\u202f567"],
  );
});

test("the same seed gives the same numbers, in [0, 1), spread evenly", () => {
  const [one, same, other] = [uniform(7), uniform(7), uniform(8)];
  const first = Array.from({ length: 10_000 }, one);
  assert.deepEqual(Array.from({ length: 10_000 }, same), first);
  assert.notEqual(other(), first[0]);
  assert.ok(first.every((value) => value >= 0 && value < 1));
  const tenths = Array.from({ length: 10 }, (_, tenth) => first.filter((value) => Math.floor(10 * value) === tenth).length);
  assert.ok(Math.min(...tenths) > 900 && Math.max(...tenths) < 1100, tenths.join());
});

test("random numbers are Mulberry32's", () => {
  const random = uniform(1);
  assert.deepEqual(
    [random(), random()].map((value) => value * 2 ** 32),
    [2693262067, 11749833],
  );
});

/** Ink in a rectangle of a square sheet. */
function ink(side: number, [left, top, right, bottom]: readonly [number, number, number, number]) {
  const values = Float32Array.from({ length: side * side }, (_, at) => {
    const [x, y] = [at % side, Math.floor(at / side)];
    return x >= left && x < right && y >= top && y < bottom ? 1 : 0;
  });
  return { width: side, height: side, values };
}
const box = (picture: Float32Array, side: number) => {
  const places = [...picture].flatMap((value, at) => (value > 0.5 ? [[at % side, Math.floor(at / side)] as const] : []));
  const [xs, ys] = [places.map(([x]) => x), places.map(([, y]) => y)];
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs) + 1, Math.max(...ys) + 1];
};

test("a drawing fills a box of 20 and is put into the middle, wherever and however large it was drawn", () => {
  for (const rectangle of [
    [0, 0, 280, 280],
    [100, 20, 160, 80],
    [3, 250, 13, 260],
  ] as const) {
    const picture = centre(ink(280, rectangle));
    assert.ok(picture);
    assert.deepEqual([picture.length, box(picture, 28)], [784, [4, 4, 24, 24]], rectangle.join());
  }
});

test("a narrow drawing keeps its proportions", () => {
  const picture = centre(ink(280, [100, 50, 120, 250]));
  assert.ok(picture);
  assert.deepEqual(box(picture, 28), [13, 4, 15, 24]);
});

test("the ink's centre of mass is in the middle, not its box", () => {
  const values = ink(100, [0, 0, 100, 10]).values.map((value, at) => Math.max(value, at % 100 < 10 ? 1 : 0));
  const picture = centre({ width: 100, height: 100, values });
  assert.ok(picture);
  const [left = 0, top = 0] = box(picture, 28);
  assert.ok(left > 4 && top > 4, `the heavy corner at ${left}, ${top} is moved to the middle`);
});

test("an empty sheet is no drawing, and faint dust is not either", () => {
  assert.equal(centre(ink(28, [0, 0, 0, 0])), undefined);
  assert.equal(centre({ width: 2, height: 2, values: Float32Array.of(0.04, 0, 0.04, 0) }), undefined);
});

test("a drawing is scaled to other sizes too", () => {
  const picture = centre(ink(280, [0, 0, 280, 280]), 56);
  assert.ok(picture);
  assert.deepEqual([picture.length, box(picture, 56)], [56 * 56, [8, 8, 48, 48]]);
});

test("a histogram counts every value, and knows mean and deviation", () => {
  const { low, high, counts, mean, deviation } = histogram(Float32Array.of(-2, 0, 0, 2));
  assert.deepEqual([low, high, counts.length, mean, deviation], [-2, 2, 40, 0, Math.sqrt(2)]);
  assert.deepEqual([counts[0], counts[20], counts[39]], [1, 2, 1]);
});

test("a histogram of one value has all of it in the first step", () => {
  const { low, high, counts, deviation } = histogram(Float32Array.of(3, 3, 3));
  assert.deepEqual([low, high, counts[0], counts.reduce((sum, each) => sum + each, 0), deviation], [3, 3, 3, 3, 0]);
});

test("a part is handed to the loader by item, at most as many as asked for", () => {
  const part = { items: Uint8Array.from({ length: 12 }, (_, at) => at), labels: Uint8Array.of(0, 1, 2) };
  const [x, y] = hostArrays(part, [1, 2, 2], 2);
  assert.deepEqual([x.shape, x.dtype, x.data.length, [...(y.data as Uint8Array)]], [[2, 1, 2, 2], "u8", 8, [0, 1]]);
  assert.deepEqual(hostArrays(part, [1, 2, 2], 99)[0].shape, [3, 1, 2, 2]);
  assert.equal(hostArrays({ ...part, items: new Float32Array(12) }, [4])[0].dtype, "f32");
});

test("an item is shown in 0 … 1, whether it is of bytes or of floats", () => {
  const labels = Uint8Array.of(0, 1);
  assert.deepEqual([...pixelsIn({ items: Uint8Array.of(0, 255, 51, 0), labels }, [1, 1, 2], 1)], [Math.fround(0.2), 0]);
  assert.deepEqual([...pixelsIn({ items: Float32Array.of(0, 0, 0.5, 1), labels }, [1, 1, 2], 1)], [0.5, 1]);
});

test("colours go from paper to ink, and signed values to either side", () => {
  assert.deepEqual(
    [colourOf(0, "ink", "light"), colourOf(1, "ink", "light")],
    [
      [255, 255, 255],
      [42, 35, 32],
    ],
  );
  assert.deepEqual(
    [colourOf(-5, "grey", "dark"), colourOf(0.5, "grey", "dark"), colourOf(5, "grey", "dark")],
    [
      [0, 0, 0],
      [127.5, 127.5, 127.5],
      [255, 255, 255],
    ],
  );
  const [cold, middle, warm] = [-1, 0, 1].map((value) => colourOf(value, "signed", "dark"));
  assert.deepEqual(
    [cold, middle, warm],
    [
      [95, 186, 216],
      [43, 37, 33],
      [255, 154, 77],
    ],
  );
});

test("one thing is one, and others are several", () => {
  assert.deepEqual(
    [counted(0, "class", "classes"), counted(1, "class", "classes"), counted(2, "class", "classes"), counted(1200, "step")],
    ["0 classes", "1 class", "2 classes", "1\u202f200 steps"],
  );
});

test("a picture lies in the middle of the sheet, in whole pixels", () => {
  assert.deepEqual(fitted(400, 600, 280), { left: 46, top: 0, width: 187, height: 280 });
  assert.deepEqual(fitted(600, 400, 280), { left: 0, top: 46, width: 280, height: 187 });
  assert.deepEqual(fitted(28, 28, 280), { left: 0, top: 0, width: 280, height: 280 });
  assert.deepEqual(fitted(10_000, 1, 280), { left: 0, top: 139, width: 280, height: 1 });
});
