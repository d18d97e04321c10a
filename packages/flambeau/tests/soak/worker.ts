/**
 * The worker of the attacked page. Its run has all that a checkpoint must bring back: weights, Adam's moments, a schedule, a
 * shuffled loader in the middle of an epoch, dropout's random numbers. It says when it writes which file.
 */

import { DataLoader, Generator, manualSeed, nn, optim, randint, randn, type Tensor } from "flambeau";
import { runTraining } from "flambeau/worker";
import { digestOf, say, type Part, type Settings } from "./events.js";

/** The last step that was reported: what is written next is of it. */
let step = 0;

const { createWritable } = FileSystemFileHandle.prototype;
FileSystemFileHandle.prototype.createWritable = async function (this: FileSystemFileHandle, options) {
  const { name } = this;
  const begins = (part: Part) => say({ what: "file", name, part });
  begins("opening");
  const stream = await createWritable.call(this, options);
  const [write, close] = [stream.write.bind(stream), stream.close.bind(stream)];
  stream.write = async (data) => {
    begins("writing");
    const digest = data instanceof Uint8Array && name.endsWith(".safetensors") ? digestOf(data) : undefined;
    await write(data);
    if (digest !== undefined) say({ what: "written", step, digest: await digest });
  };
  stream.close = async () => {
    begins("closing");
    await close();
    begins("closed");
  };
  return stream;
};

const [ITEMS, FEATURES, CLASSES, BATCH] = [80, 32, 10, 16];

runTraining<nn.Sequential>((given) => {
  const { width, steps } = given as Settings;
  manualSeed(7);
  const model = nn.sequential(
    nn.linear(FEATURES, width),
    nn.relu(),
    nn.dropout(0.1),
    nn.linear(width, width),
    nn.relu(),
    nn.linear(width, CLASSES),
  );
  const optimizer = optim.adam(model.parameters(), { lr: 0.003 });
  const data = new Generator(5);
  return {
    model,
    optimizer,
    scheduler: optim.scheduler(optimizer, { kind: "cosine", period: steps }),
    batches: new DataLoader([randn([ITEMS, FEATURES], data), randint(0, CLASSES, [ITEMS], data)], {
      batchSize: BATCH,
      shuffle: 3,
    }),
    outcome: (model, [x, y]) => ({ loss: model.forward(x as Tensor).crossEntropy(y as Tensor), count: BATCH }),
    onProgress: (progress) => {
      step = progress.step;
    },
  };
});
