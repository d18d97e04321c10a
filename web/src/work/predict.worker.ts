/** The worker that reads single pictures with a trained model, on the CPU: one picture is too little work for a GPU. */

import { init, io, noGrad, scope, tensor, type nn } from "flambeau";
import { readLayers, type ItemShape } from "./layers.js";
import { buildModel } from "./model.js";

export type PredictTask =
  | { type: "load"; id: number; weights: Uint8Array; layers: string; shape: ItemShape }
  | { type: "read"; id: number; pixels: Float32Array };
export type PredictReport =
  | { type: "loaded"; id: number }
  | { type: "read"; id: number; probabilities: Float32Array }
  | { type: "failed"; id: number; message: string };

const world = globalThis as unknown as {
  postMessage(report: PredictReport): void;
  onmessage: ((event: MessageEvent<PredictTask>) => void) | null;
};
let loaded: { model: nn.Sequential; shape: ItemShape } | undefined;

async function answer(task: PredictTask): Promise<PredictReport> {
  if (task.type === "load") {
    await init({ device: "cpu" });
    const layers = readLayers(task.layers);
    if (layers === undefined) throw new Error(`the layers cannot be read: ${task.layers}`);
    const model = buildModel(layers, task.shape);
    model.loadStateDict(await io.readSafetensors(task.weights));
    loaded = { model: model.eval(), shape: task.shape };
    return { type: "loaded", id: task.id };
  }
  if (loaded === undefined) throw new Error("there is no model yet");
  const { model, shape } = loaded;
  const read = scope(() => noGrad(() => model.forward(tensor(task.pixels, { shape: [1, ...shape] })).softmax(1)));
  const probabilities = (await read.data()) as Float32Array;
  read.dispose();
  return { type: "read", id: task.id, probabilities };
}

// One after the other: a picture is read with the model that was loaded before it came.
let last: Promise<void> = Promise.resolve();
world.onmessage = ({ data: task }) => {
  last = last.then(async () => {
    const report = await answer(task).catch(
      (error: unknown): PredictReport => ({
        type: "failed",
        id: task.id,
        message: (error instanceof Error ? error.message : String(error)).replace(/^flambeau: /, ""),
      }),
    );
    world.postMessage(report);
  });
};
