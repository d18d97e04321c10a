// An epoch of MNIST in Node with Dawn, as a page trains: from opening the device until 95 % of the test pictures are read rightly, and the
// whole epoch. `node mnist-in-node.js [--software]` prints one JSON object; it needs no bundling. Run it with an empty HOME, so that the driver
// has kept nothing.

import { readFile } from "node:fs/promises";
import { create, globals } from "webgpu";
import { DataLoader, Trainer, correct, data, init, manualSeed, nn, optim } from "flambeau";

Object.assign(globalThis, globals);
const folder = new URL("../../data/mnist/", import.meta.url);
const pictures = async (images, labels) => {
  const [x, y] = await Promise.all([images, labels].map(async (name) => data.readIdx(await readFile(new URL(name, folder)))));
  return [{ ...x, shape: [x.shape[0], 784] }, y];
};
const trainData = await pictures("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz");
const testData = await pictures("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz");
const NETS = {
  mlp: () => nn.mlp(784, 128, 10),
  cnn: () => nn.cnn(10),
};
const outcome =
  (name) =>
  (model, [x, y]) => {
    const scaled = x.toDtype("f32").div(255);
    const logits = model.forward(name === "cnn" ? scaled.reshape([-1, 1, 28, 28]) : scaled);
    const labels = y.toDtype("i32");
    return { loss: logits.crossEntropy(labels), count: x.shape[0], metrics: { accuracy: correct(logits, labels) } };
  };

for (const name of Object.keys(NETS)) {
  const start = performance.now();
  const since = () => (performance.now() - start) / 1000;
  const device = await init({ device: process.argv.includes("--software") ? "software" : "gpu", gpu: create([]) });
  manualSeed(1);
  const train = new DataLoader(trainData, { batchSize: 32, shuffle: 1 });
  const test = new DataLoader(testData, { batchSize: 1000 });
  const net = NETS[name]();
  const optimizer = optim.adam(net.parameters(), { lr: 1e-3 });
  let [firstLoss, reached] = [];
  // The test every 250 steps until 95 % are reached; what it takes is part of the time.
  for (let steps = 250; reached === undefined && steps <= 1875; steps += 250) {
    const run = new Trainer(net, optimizer, {
      epochs: 1,
      maxSteps: 250,
      onProgress: () => {
        firstLoss ??= since();
      },
    });
    const summary = await run.fit(train, outcome(name), test);
    if ((summary.epochs.at(-1)?.test?.test_accuracy ?? 0) >= 0.95) reached = { steps, seconds: since() };
  }
  // A whole epoch from the beginning, kernels compiled.
  manualSeed(1);
  const again = NETS[name]();
  const epoch = await new Trainer(again, optim.adam(again.parameters(), { lr: 1e-3 }), { epochs: 1 }).fit(
    train,
    outcome(name),
    test,
  );
  const accuracy = epoch.epochs.at(-1)?.test?.test_accuracy;
  console.log(JSON.stringify({ net: name, device: device.info, firstLoss, reached, epochSeconds: epoch.seconds, accuracy }));
}
process.exit(0);
