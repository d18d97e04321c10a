// Trains the small model of digits that is part of the app, with the app's own modules and the package in Node, on MNIST:
// `node scripts/pretrain.mjs` writes src/work/models/digits.safetensors. Some minutes; the seed makes it the same each time.
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const EPOCHS = 3;
const BATCH = 64;
const LAYERS = "conv-8-5-1_relu_maxpool-2_conv-16-5-1_relu_maxpool-2_flatten_linear-10";
/** Drawings differ more than MNIST does: shifted by pixels, zoomed by a share. */
const AUGMENTATION = { shift: 2, zoom: 0.15, noise: 0, mirror: false };

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const bundle = here("../node_modules/.pretrain.mjs");
await build({
  stdin: {
    contents: `
      export { augment } from "./augment.ts";
      export { metadataOf } from "./about.ts";
      export { readLayers } from "./layers.ts";
      export { buildModel } from "./model.ts";
      export { outcomeOf } from "./objective.ts";`,
    resolveDir: here("../src/work"),
  },
  bundle: true,
  platform: "node",
  format: "esm",
  external: ["flambeau"],
  outfile: bundle,
});
const { augment, metadataOf, readLayers, buildModel, outcomeOf } = await import(bundle);
const { init, io, data, manualSeed, noGrad, optim, scope, tensor, DataLoader, correct } = await import("flambeau");

await init({ device: "cpu" });
manualSeed(7);
const read = async (name) => data.readIdx(new Uint8Array(gunzipSync(readFileSync(here(`../../data/mnist/${name}-ubyte.gz`)))));
const [pictures, labels, testPictures, testLabels] = await Promise.all(
  ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"].map(read),
);
const asItems = ({ data, shape }) => ({ data, shape: [shape[0], 1, 28, 28], dtype: "u8" });
const toInput = (items) => items.toDtype("f32").div(255);

const model = buildModel(readLayers(LAYERS), [1, 28, 28]);
const batches = new DataLoader([asItems(pictures), labels], { batchSize: BATCH, shuffle: 7 });
const optimizer = optim.adam(model.parameters(), { lr: 0.002 });
const steps = EPOCHS * Math.ceil(labels.shape[0] / BATCH);
let step = 0;
for (let epoch = 0; epoch < EPOCHS; epoch += 1) {
  for await (const [items, y] of batches) {
    optimizer.lr = 0.002 * (1 - step / steps) + 1e-5;
    scope(() => {
      optimizer.zeroGrad();
      outcomeOf(model.forward(augment(toInput(items), AUGMENTATION)), y).loss.backward();
      optimizer.step();
    });
    items.dispose();
    y.dispose();
    step += 1;
    if (step % 200 === 0) console.log(`step ${step} of ${steps}`);
  }
  let right = 0;
  for (let start = 0; start < testLabels.shape[0]; start += 500) {
    const x = tensor(testPictures.data.slice(start * 784, (start + 500) * 784), { shape: [500, 1, 28, 28] });
    const y = tensor(Int32Array.from(testLabels.data.subarray(start, start + 500)));
    const found = scope(() => noGrad(() => correct(model.forward(toInput(x)), y)));
    right += Number((await found.data())[0]);
  }
  console.log(`epoch ${epoch + 1}: ${right / 100} % of the test pictures`);
}
const classes = Array.from({ length: 10 }, (_, digit) => String(digit));
const metadata = metadataOf(LAYERS, { shape: [1, 28, 28], classes, preparation: { kind: "ink" } });
const bytes = await io.writeSafetensors(model.stateDict(), metadata);
writeFileSync(here("../src/work/models/digits.safetensors"), bytes);
console.log(`${bytes.length} bytes`);
