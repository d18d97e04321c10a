/**
 * A tab that is a client of a Flower server, with a share of MNIST: `?share=2/4&first=1000&nonIid=true&device=cpu&clip=1&noise=2`. Data come from the
 * page's own server. It logs `@online`, `@round`, `@evaluated` and `@end` (or `@failed`) as JSON. The model and the shares are those of `tools/flower`.
 */

import { data, evaluate, type InitOptions, init, manualSeed, nn, noGrad, optim, scope, type Tensor, tensor } from "flambeau";
import { serve } from "flambeau/federated";

const asked = new URLSearchParams(location.search);
const say = (what: string, value: unknown) => console.log(`@${what} ${JSON.stringify(value)}`);
/** Pictures a step of a test. */
const TEST_BATCH = 500;

class Net extends nn.Module {
  fc1 = nn.linear(784, 128);
  fc2 = nn.linear(128, 10);
  forward(x: Tensor): Tensor {
    return this.fc2.forward(this.fc1.forward(x).relu());
  }
}

/** The places of a share, in ascending order: every so many-th, or two shards of the pictures in the order of their labels. */
function places(labels: ArrayLike<number>, member: number, members: number, nonIid: boolean): number[] {
  const all = Array.from(labels, (_, place) => place);
  if (!nonIid) return all.filter((place) => place % members === member);
  all.sort((a, b) => (labels[a] ?? 0) - (labels[b] ?? 0) || a - b);
  const size = Math.floor(all.length / (2 * members));
  const shard = (number: number) => all.slice(number * size, (number + 1) * size);
  return [...shard(member), ...shard(member + members)].sort((a, b) => a - b);
}

/** Pictures (N, 784) from 0 to 1 and labels (N) of a share. */
async function read(part: "train" | "t10k", member: number, members: number, nonIid: boolean, first: number) {
  const [pictures, labels] = await Promise.all(
    ["images-idx3", "labels-idx1"].map((kind) => data.readIdx(`/data/${part}-${kind}-ubyte.gz`)),
  );
  if (pictures === undefined || labels === undefined) throw new Error("there is no MNIST");
  const own = places(labels.data as Uint8Array, member, members, nonIid).slice(0, first);
  const x = new Float32Array(own.length * 784);
  own.forEach((place, row) => {
    for (let pixel = 0; pixel < 784; pixel += 1) {
      x[row * 784 + pixel] = Math.fround(Number(pictures.data[place * 784 + pixel]) * Math.fround(1 / 255));
    }
  });
  const y = Int32Array.from(own, (place) => Number(labels.data[place]));
  return { x: tensor(x, { shape: [own.length, 784] }).keep(), y: tensor(y, { shape: [own.length] }).keep(), count: own.length };
}

async function takePart(): Promise<void> {
  await init({ device: (asked.get("device") ?? "cpu") as NonNullable<InitOptions["device"]> });
  manualSeed(1);
  const [member = 0, members = 1] = (asked.get("share") ?? "0/1").split("/").map(Number);
  const first = Number(asked.get("first") ?? 0) || Number.POSITIVE_INFINITY;
  const train = await read("train", member, members, asked.get("nonIid") === "true", first);
  // Everybody tests with all classes: the mean over clients is then the accuracy on the whole test data.
  const test = await read("t10k", member, members, false, Number.POSITIVE_INFINITY);
  const model = new Net();
  const clip = asked.get("clip");
  const served = await serve(location.href, {
    model,
    async train(task) {
      const optimizer = optim.sgd(model.parameters(), { lr: task.number("lr", 0.1) });
      const epochs = task.number("local-epochs", 1, { least: 1 });
      const batches = new data.DataLoader([train.x, train.y], { batchSize: task.number("batch-size", 32, { least: 1 }) });
      const nothing = tensor(0).keep();
      let total = nothing;
      while (batches.epoch < epochs) {
        for await (const [x, y] of batches) {
          task.signal.throwIfAborted();
          if (x === undefined || y === undefined) throw new Error("a batch has pictures and labels");
          total = scope(() => {
            const loss = model.forward(x).crossEntropy(y);
            const sum = total.add(loss.detach().mul(y.size)).keep();
            task.objective(loss).backward();
            optimizer.step();
            optimizer.zeroGrad();
            total.dispose();
            return sum;
          });
        }
      }
      const loss = (await total.item()) / (epochs * train.count);
      total.dispose();
      return { examples: train.count, loss };
    },
    async evaluate() {
      let [loss, right] = [0, 0];
      for await (const [x, y] of new data.DataLoader([test.x, test.y], { batchSize: TEST_BATCH })) {
        if (x === undefined || y === undefined) throw new Error("a batch has pictures and labels");
        const parts = noGrad(() => {
          const logits = model.forward(x);
          return [logits.crossEntropy(y), logits.argmax(1).eq(y).sum()] as const;
        });
        evaluate([...parts]);
        loss += (await parts[0].item()) * y.size;
        right += await parts[1].item();
      }
      return { examples: test.count, loss: loss / test.count, accuracy: right / test.count };
    },
    poll: 0.2,
    ...(clip !== null && { privacy: { clip: Number(clip), noise: Number(asked.get("noise") ?? 0) } }),
    onOnline: (node) => say("online", node),
    onRound: (report) => say("round", report),
    onEvaluated: (report) => say("evaluated", report),
    onTrouble: (error) => say("failed", error.message),
  });
  say("end", served);
}

takePart().catch((error: unknown) => say("failed", error instanceof Error ? (error.stack ?? error.message) : String(error)));
