import assert from "node:assert/strict";
import { test } from "node:test";
import { boxesOf, wordsOf } from "../../src/work/drawing.js";
import { MODELS, readLayers } from "../../src/work/layers.js";

test("a network is drawn with the shapes and parameters of its layers", () => {
  const boxes = boxesOf(readLayers(MODELS.cnn) ?? [], [1, 28, 28], 10);
  assert.deepEqual(boxes.slice(0, 4).map(wordsOf), [
    "Input: 1 × 28 × 28",
    "Convolution 3 × 3: 16 × 28 × 28, 160 parameters",
    "ReLU: 16 × 28 × 28",
    "Max pooling 2 × 2: 16 × 14 × 14",
  ]);
  for (const { wide } of boxes) for (const share of wide) assert.ok(share > 0 && share <= 1);
  assert.deepEqual(boxes.at(-1)?.wide[0], boxes.at(-2)?.wide[1]);
  const residual = boxesOf(readLayers("residual-16-2_linear-10") ?? [], [1, 28, 28], 10);
  assert.equal(residual[1]?.shortcut, true);
  assert.match(
    wordsOf(residual[1] as (typeof residual)[number]),
    /Residual block, stride 2: 16 × 14 × 14, .* parameters, with a shortcut/,
  );
  assert.match(residual[2]?.problem ?? "", /put Flatten before it/);
});
