/** The last model, for other pages and visits. */

import { openStore } from "flambeau/worker";

const MODEL_FILE = "last-model.safetensors";

/** Keeps the weights of the last model. */
export async function keepModel(weights: Uint8Array): Promise<void> {
  const store = await openStore();
  await store.write(MODEL_FILE, weights);
}

/** The last model, if there is one. */
export async function lastModel(): Promise<Uint8Array | undefined> {
  const store = await openStore();
  return store.read(MODEL_FILE);
}
