import * as flambeau from "flambeau";
import { irfft, rfft } from "flambeau/fft";
import { TrainingWorker } from "flambeau/worker";
import address from "flambeau/flambeau.wasm?url";
import { train } from "../train.js";

async function everything() {
  console.log(`Vite app: ${await train(flambeau, { wasm: address })}`);
  const run = new TrainingWorker(() => new Worker(new URL("./train.worker.js", import.meta.url), { type: "module" }));
  const { steps } = await run.start({ device: "software", epochs: 2 });
  run.terminate();
  console.log(`Vite app: ${steps} steps in a worker`);
  const back = await irfft(rfft(flambeau.tensor([1, 2, 3, 4]))).array();
  console.log(`Vite app: ${back} there and back`);
  const wrong = back.every((value, index) => Math.abs(value - index - 1) < 1e-5) ? [] : [`${back} came back`];
  return steps === 8 ? wrong : [...wrong, `${steps} steps in the worker, not 8`];
}

everything().then(
  (failed) => console.log(`@failed ${JSON.stringify(failed)}`),
  (error) => console.log(`@failed ${JSON.stringify([error.stack])}`),
);
