// What is new to a process, in Node with Dawn: the time until the first loss of three networks, and what a batch of another size
// costs. Run it with an empty HOME, so that the driver has kept nothing.

import { create, globals } from "webgpu";
import { init, nn, optim, rand, zeros } from "flambeau";

Object.assign(globalThis, globals);
const gpu = create([]);
const CLASSES = 10;

const block = (from, to) => [nn.conv2d(from, to, 3, { padding: 1, bias: false }), nn.batchNorm2d(to), nn.relu()];

/** Eight convolutions with batch norm, 64 to 512 channels. */
const eight = () =>
  nn.sequential(
    ...[
      [3, 64],
      [64, 64],
      [64, 128],
      [128, 128],
      [128, 256],
      [256, 256],
      [256, 512],
      [512, 512],
    ].flatMap(([from, to], place) => (place % 2 === 1 ? [...block(from, to), nn.maxPool2d(2)] : block(from, to))),
    nn.flatten(),
    nn.linear(512 * 2 * 2, CLASSES),
  );

const NETS = {
  mlp: { net: () => nn.sequential(nn.linear(784, 128), nn.relu(), nn.linear(128, CLASSES)), input: [784], batch: 32 },
  cnn: {
    net: () =>
      nn.sequential(
        ...[nn.conv2d(1, 32, 3), nn.relu(), nn.maxPool2d(2), nn.conv2d(32, 64, 3), nn.relu(), nn.maxPool2d(2)],
        ...[nn.flatten(), nn.linear(1600, 128), nn.relu(), nn.linear(128, CLASSES)],
      ),
    input: [1, 28, 28],
    batch: 32,
  },
  eight: { net: eight, input: [3, 32, 32], batch: 64 },
};

const name = process.argv[2] ?? "mlp";
const { net: make, input, batch } = NETS[name];
const start = performance.now();
await init({ device: "gpu", gpu });
const opened = performance.now() - start;
const net = make();
const optimizer = optim.adam(net.parameters(), { lr: 1e-3 });

/** Milliseconds of a step with so many samples, until its loss is read. */
async function step(samples) {
  const [x, y] = [rand([samples, ...input]).eval(), zeros([samples], "i32").eval()];
  const from = performance.now();
  const loss = net.forward(x).crossEntropy(y);
  loss.backward();
  optimizer.step();
  optimizer.zeroGrad();
  if (!Number.isFinite(await loss.item())) throw new Error(`${name}: the loss is not a number`);
  return performance.now() - from;
}

await step(batch);
const first = performance.now() - start;
const others = [];
for (const samples of [batch - 3, batch >> 1, batch + 9, batch - 7]) others.push(await step(samples));
const again = [];
for (let count = 0; count < 40; count += 1) again.push(await step(batch));
const settled = again.slice(30).sort((a, b) => a - b)[5];
const show = (milliseconds) => milliseconds.toFixed(1);
console.log(
  `${name}, batch ${batch}: first loss after ${show(first)} ms (device open after ${show(opened)}); other batch sizes ` +
    `${others.map(show).join(", ")} ms; then ${show(settled)} ms a step, ${show(Math.max(...again))} at worst`,
);
process.exit(0);
