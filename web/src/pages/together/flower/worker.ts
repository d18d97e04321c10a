/** The worker of a Flower client: trains when the server asks for it, on a share of its own. */

import { DataLoader, init, manualSeed, nn, optim, scope, tensor, type Tensor } from "flambeau";
import { serve, type Task } from "flambeau/federated";
import { answerQuestions } from "flambeau/worker";
import { assess } from "../../../work/assess.js";
import { messageOf } from "../../../work/errors.js";
import type { DataSet } from "../../../work/messages.js";
import { hostArrays, openSet, toInput } from "../../../work/sets.js";
import { shareOf } from "../share.js";
import type { FlowerNote, FlowerQuestions, Order } from "./messages.js";

/** Test pictures that the server's model is measured by. */
const TESTED = 1000;

const leaving = new AbortController();

/** The steps of a round, as the server's settings say; the mean loss. */
async function learn(model: nn.Sequential, loader: DataLoader, task: Task): Promise<number> {
  const optimizer = optim.sgd(model.parameters(), { lr: task.number("lr", 0.1, { most: 100 }) });
  const epochs = task.number(["local-epochs", "local_epochs"], 1, { least: 1, most: 1000 });
  const sums: Tensor[] = [];
  for (let epoch = 0; epoch < epochs; epoch += 1) {
    for await (const [items, y] of loader) {
      task.signal.throwIfAborted();
      if (items === undefined || y === undefined) throw new Error("a batch is items and labels");
      const sum = scope(() => {
        const loss = model.forward(toInput(items)).crossEntropy(y.toDtype("i32"));
        task.objective(loss).backward();
        optimizer.step();
        optimizer.zeroGrad();
        const before = sums.pop() ?? tensor(0);
        return before.add(loss.detach().mul(y.shape[0] ?? 0)).keep();
      });
      sums.push(sum);
    }
  }
  const total = (await sums[0]?.item()) ?? 0;
  for (const sum of sums) sum.dispose();
  return total / (epochs * loader.items);
}

async function takePart({ device, server, source, own, protect, seed }: Order): Promise<void> {
  tell({ kind: "loading", label: "Opening the device", part: undefined });
  await init({ device });
  const set = await openSet(source, (note) => {
    if (note.kind === "loading") tell(note);
  });
  const size = set.shape.reduce((product, each) => product * each, 1);
  const share = shareOf(set.train, size, own.classes, own.items, seed);
  const items = share.labels.length;
  if (items === 0) throw new Error("there are no pictures of the classes that were chosen");
  const kept: DataSet = { ...set, train: share };
  manualSeed(seed);
  // The network of `tools/flower`; its arrays are matched in order, as they have other names here.
  const model = nn.sequential(nn.flatten(), nn.linear(size, 128), nn.relu(), nn.linear(128, set.classes.length));
  let shuffle = seed;

  tell({ kind: "loading", label: "Asking the Flower server", part: undefined });
  const served = await serve(server, {
    model,
    async train(task) {
      const batchSize = task.number(["batch-size", "batch_size"], 32, { least: 1, most: items });
      shuffle = (shuffle + 1) >>> 0;
      const loss = await learn(model, new DataLoader(hostArrays(share, set.shape), { batchSize, shuffle }), task);
      return { examples: items, loss };
    },
    async evaluate() {
      const { count, loss, accuracy } = await assess(model, kept, 0, "test", TESTED);
      return { examples: count, loss, accuracy };
    },
    signal: leaving.signal,
    ...(protect !== undefined && { privacy: protect }),
    onOnline: (node) => tell({ kind: "online", node, parameters: model.parameterCount(), items, tested: TESTED }),
    onRound: (report) => tell({ kind: "round", report }),
    onEvaluated: (report) => tell({ kind: "evaluated", report }),
    onTrouble: (error) => tell({ kind: "trouble", why: messageOf(error) }),
  });
  tell({ kind: "over", rounds: served.rounds });
}

const tell: (note: FlowerNote) => void = answerQuestions<FlowerQuestions, FlowerNote>({
  train: takePart,
  leave: () => leaving.abort(),
});
