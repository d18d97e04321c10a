/** The worker that reads single pictures or rows with a trained model, on the CPU: one item is too little work for a GPU. */

import { init, io, noGrad, scope, tensor, type nn } from "flambeau";
import { answerQuestions } from "flambeau/worker";
import { readLayers, type ItemShape } from "./layers.js";
import type { PredictQuestions } from "./messages.js";
import { buildModel } from "./model.js";

let loaded: { model: nn.Sequential; shape: ItemShape; isNumber: boolean } | undefined;

async function load({ weights, layers: said, shape, isNumber }: PredictQuestions["load"]["ask"]): Promise<void> {
  await init({ device: "cpu" });
  const layers = readLayers(said);
  if (layers === undefined) throw new Error(`the layers cannot be read: ${said}`);
  const model = buildModel(layers, shape);
  model.loadStateDict(await io.readSafetensors(weights));
  loaded = { model: model.eval(), shape, isNumber };
}

async function read(item: Float32Array): Promise<Float32Array> {
  if (loaded === undefined) throw new Error("there is no model yet");
  const { model, shape, isNumber } = loaded;
  const read = scope(() =>
    noGrad(() => {
      const outputs = model.forward(tensor(item, { shape: [1, ...shape] }));
      return isNumber ? outputs : outputs.softmax(1);
    }),
  );
  const answer = (await read.data()) as Float32Array;
  read.dispose();
  return answer;
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
