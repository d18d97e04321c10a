/** A worker that looks which parts of the module it has fetched: `?way=train`, `?way=ask`, `?way=arrays` or `?way=ahead`. */

import { init, nn, optim, randn, tensor } from "flambeau";
import * as fft from "flambeau/fft";
import * as func from "flambeau/func";
import * as linalg from "flambeau/linalg";
import * as numeric from "flambeau/numeric";

const fetched = () =>
  performance
    .getEntriesByType("resource")
    .map(({ name }) => name)
    .filter((name) => name.endsWith(".wasm"))
    .map((name) => name.slice(name.lastIndexOf("/") + 1));

const device = await init({ device: "software" });
const x = randn([8, 16]).keep();
const seen: string[][] = [];
let value = 0;
const way = new URL(import.meta.url).searchParams.get("way");
if (way === "train") {
  const net = nn.sequential(nn.linear(16, 8), nn.relu(), nn.linear(8, 4));
  const optimizer = optim.adam(net.parameters(), { lr: 0.01 });
  const labels = tensor(new Int32Array(8), { shape: [8] });
  const loss = net.forward(x).crossEntropy(labels);
  loss.backward();
  optimizer.step();
  seen.push(fetched());
  await device.throttle();
  value = await loss.item();
  while (fetched().length < 2) await new Promise((done) => setTimeout(done, 20));
} else if (way === "arrays") {
  // Each part comes when something of it is first called, and only then.
  const ones = tensor([1, 1, 1, 1]);
  seen.push(fetched());
  for (let round = 0; round < 2; round += 1) {
    for (const use of [
      () => fft.fftConvolve(ones, ones).sum(),
      () => linalg.vectorNorm(ones),
      () =>
        func
          .grad((x: typeof ones) => x.square().sum())(ones)
          .sum(),
      () => numeric.ptp(ones),
    ]) {
      value += await use().item();
      seen.push(fetched());
    }
  }
} else if (way === "ahead") {
  seen.push(fetched());
  await Promise.all([fft.load(), fft.load()]);
  seen.push(fetched());
  value = await fft
    .irfft(fft.rfft(tensor([1, 2, 3, 4])))
    .sum()
    .item();
} else {
  seen.push(fetched());
  // Sorting is in the second part, and a method cannot wait for it.
  value = await tensor([3, 1, 2]).sort(0)[0].sum().item();
}
seen.push(fetched());
postMessage({ seen, value });
