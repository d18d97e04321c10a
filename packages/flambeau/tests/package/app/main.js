import * as flambeau from "flambeau";
import { TrainingWorker } from "flambeau/worker";
import address from "flambeau/flambeau.wasm?url";
import { train } from "../train.js";

async function everything() {
  console.log(`Vite app: ${await train(flambeau, { wasm: address })}`);
  const run = new TrainingWorker(() => new Worker(new URL("./train.worker.js", import.meta.url), { type: "module" }));
  const { steps } = await run.start({ device: "software", epochs: 2 });
  run.terminate();
  console.log(`Vite app: ${steps} steps in a worker`);
  return steps === 8 ? [] : [`${steps} steps in the worker, not 8`];
}

everything().then(
  (failed) => console.log(`@failed ${JSON.stringify(failed)}`),
  (error) => console.log(`@failed ${JSON.stringify([error.stack])}`),
);
