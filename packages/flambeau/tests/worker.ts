/** Workers that `TrainingWorker` is tested with: one fits a line, one trains a convolutional network. */

import { DataLoader, Generator, nn, optim, randn, tensor, zeros, type Nested, type Tensor } from "flambeau";
import { runTraining, type Training } from "flambeau/worker";

/** What the tests ask for. */
export interface Settings {
  model?: "line" | "cnn";
  /** Breaks, outside of everything that is waited for. */
  trap?: boolean;
}

/** What the tests and the workers say to each other. */
export interface LineDialogue {
  settings: Settings | undefined;
  note: { after: number };
  questions: { weight: { ask: undefined; answer: { step: number; weight: Nested } }; fail: { ask: string; answer: never } };
}

function line(tell: (note: LineDialogue["note"]) => void): Training<nn.Layer, LineDialogue> {
  const x = randn([64, 2], new Generator(5));
  const y = x.matmul(tensor([[2], [-1]])).add(1);
  const model = nn.linear(2, 1);
  model.parameter("weight").set(tensor([[0, 0]]));
  model.parameter("bias").set(tensor([0]));
  return {
    model,
    optimizer: optim.sgd(model.parameters(), { lr: 0.05 }),
    batches: new DataLoader([x, y], { batchSize: 16, shuffle: 3 }),
    outcome: (model, [x, y]) => ({ loss: model.forward(x as Tensor).mseLoss(y as Tensor), count: 16 }),
    onProgress: ({ step }) => tell({ after: step }),
    answers: {
      weight: async (_, { step }) => ({ step, weight: await model.parameter("weight").value().array() }),
      fail: (message) => {
        throw new RangeError(message);
      },
    },
  };
}

function cnn(): Training<nn.Layer, LineDialogue> {
  const model = nn.cnn();
  return {
    model,
    optimizer: optim.adam(model.parameters()),
    batches: new DataLoader([randn([16, 1, 28, 28]), zeros([16], "i32")], { batchSize: 4 }),
    outcome: (model, [x, y]) => ({ loss: model.forward(x as Tensor).crossEntropy(y as Tensor), count: 4 }),
  };
}

/** A module whose only function is `unreachable`. */
const BROKEN = Uint8Array.from([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 5, 1, 3, 0, 0, 11,
]);

runTraining<nn.Layer, LineDialogue>((settings, tell) => {
  const { model = "line", trap = false } = settings ?? {};
  if (trap) {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(BROKEN));
    setTimeout(exports["f"] as () => void, 0);
  }
  return model === "cnn" ? cnn() : line(tell);
});
