/** A worker that looks which parts of the module it has fetched: `?way=train` or `?way=ask`. */

import { init, nn, optim, randn, tensor } from "flambeau";

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
if (new URL(import.meta.url).searchParams.get("way") === "train") {
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
} else {
  seen.push(fetched());
  // Sorting is in the second part, and a method cannot wait for it.
  value = await tensor([3, 1, 2]).sort(0)[0].sum().item();
}
seen.push(fetched());
postMessage({ seen, value });
