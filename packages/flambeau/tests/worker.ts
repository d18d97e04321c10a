/** A worker that fits a line: what `TrainingWorker` is tested with. */

import { DataLoader, Generator, nn, optim, randn, tensor, type Tensor } from "flambeau";
import { runTraining } from "flambeau/worker";

runTraining((_, tell) => {
  const x = randn([64, 2], new Generator(5));
  const y = x.matmul(tensor([[2], [-1]])).add(1);
  const model = nn.linear(2, 1);
  model.parameter("weight").set(tensor([[0, 0]]));
  model.parameter("bias").set(tensor([0]));
  return {
    model,
    optimizer: optim.sgd(model.parameters(), { lr: 0.05 }),
    batches: new DataLoader([x, y], { batchSize: 16, shuffle: 3 }),
    outcome: (model: nn.Layer, [x, y]: Tensor[]) => ({
      loss: model.forward(x as Tensor).mseLoss(y as Tensor),
      count: 16,
    }),
    onProgress: ({ step }) => tell({ after: step }),
    answer: async (question, trainer) => {
      if (question !== "weight") throw new Error(`no answer to ${String(question)}`);
      return { step: trainer.step, weight: await model.parameter("weight").value().array() };
    },
  };
});
