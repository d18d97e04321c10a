/** The worker that reads single pictures with a trained model, on the CPU: one picture is too little work for a GPU. */

import { init, io, noGrad, scope, tensor, type nn } from "flambeau";
import { answerQuestions } from "flambeau/worker";
import { readLayers, type ItemShape } from "./layers.js";
import type { PredictQuestions } from "./messages.js";
import { buildModel } from "./model.js";

let loaded: { model: nn.Sequential; shape: ItemShape } | undefined;

async function load({ weights, layers: said, shape }: PredictQuestions["load"]["ask"]): Promise<void> {
  await init({ device: "cpu" });
  const layers = readLayers(said);
  if (layers === undefined) throw new Error(`the layers cannot be read: ${said}`);
  const model = buildModel(layers, shape);
  model.loadStateDict(await io.readSafetensors(weights));
  loaded = { model: model.eval(), shape };
}

async function read(pixels: Float32Array): Promise<Float32Array> {
  if (loaded === undefined) throw new Error("there is no model yet");
  const { model, shape } = loaded;
  const read = scope(() => noGrad(() => model.forward(tensor(pixels, { shape: [1, ...shape] })).softmax(1)));
  const probabilities = (await read.data()) as Float32Array;
  read.dispose();
  return probabilities;
}

// One after the other: a picture is read with the model that was loaded before it came.
let last: Promise<unknown> = Promise.resolve();
function inTurn<A, B>(body: (question: A) => Promise<B>): (question: A) => Promise<B> {
  return (question) => {
    const mine = last.then(() => body(question));
    last = mine.catch(() => undefined);
    return mine;
  };
}

answerQuestions<PredictQuestions>({ load: inTurn(load), read: inTurn(read) });
