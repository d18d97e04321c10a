import { DataLoader, nn, optim, randn } from "flambeau";
import { runTraining } from "flambeau/worker";

runTraining(() => {
  const x = randn([64, 2]);
  const model = nn.linear(2, 1);
  return {
    model,
    optimizer: optim.sgd(model.parameters(), { lr: 0.05 }),
    batches: new DataLoader([x, x.sum(1, true)], { batchSize: 16 }),
    outcome: (model, [x, y]) => ({ loss: model.forward(x).mseLoss(y), count: 16 }),
  };
});
