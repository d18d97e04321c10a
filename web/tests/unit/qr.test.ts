import assert from "node:assert/strict";
import { test } from "node:test";
import jsQR from "jsqr";
import { qrCode } from "../../src/ui/qr.js";

const SCALE = 4;

/** The picture of a code as a camera would have it: the path's pieces filled in black on white. */
function pixels({ path, side }: { path: string; side: number }): Uint8ClampedArray {
  const picture = new Uint8ClampedArray(4 * (side * SCALE) ** 2).fill(255);
  for (const [, x, y, width] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
    for (let row = Number(y) * SCALE; row < (Number(y) + 1) * SCALE; row += 1) {
      const start = row * side * SCALE + Number(x) * SCALE;
      for (let place = start; place < start + Number(width) * SCALE; place += 1) picture.set([0, 0, 0, 255], 4 * place);
    }
  }
  return picture;
}

for (const text of [
  "http://localhost:4173/#/train",
  "https://example.org/flambeau/#/train?layers=conv-16_relu_maxpool_conv_relu_maxpool_flatten_linear-64_relu_dropout_linear-10&seed=7&device=cpu",
  `https://example.org/#/playground?own=${"0.25-0.75-1_".repeat(90)}`,
]) {
  test(`another program reads the QR code of ${text.length} letters`, () => {
    const code = qrCode(text);
    assert.ok(code);
    const read = jsQR(pixels(code), code.side * SCALE, code.side * SCALE);
    assert.equal(read?.data, text);
  });
}

test("a text that no code holds has none", () => {
  assert.equal(qrCode("x".repeat(5000)), undefined);
});
