/**
 * What the types say, compiled and never run: exact types by `Same`, and calls that must not compile. The declarations
 * looked at are those of `dist`, as users get them.
 */

import {
  DataLoader,
  type Device,
  Generator,
  grad,
  init,
  io,
  items,
  kernel,
  memory,
  nn,
  noGrad,
  optim,
  scope,
  stats,
  tensor,
  train_mnist,
  Trainer,
  zeros,
  type DeviceInfo,
  type DType,
  type Nested,
  type Outcome,
  type Summary,
  type Tensor,
  type TypedArray,
} from "flambeau";
import { answerQuestions, runTraining, TrainingWorker, WorkerClient, type StartOptions } from "flambeau/worker";

/** True only for the same type, not for one that is merely assignable. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>): void {}

declare const x: Tensor;
declare const gpuDevice: GPUDevice;

export async function values(): Promise<void> {
  same<typeof x.shape, number[]>(true);
  same<typeof x.dtype, DType>(true);
  same<DType, "bool" | "u8" | "i32" | "u32" | "i64" | "f16" | "f32" | "f64">(true);
  const [data, array, item] = [await x.data(), await x.array(), await x.item()];
  same<typeof data, TypedArray>(true);
  same<typeof array, Nested>(true);
  same<typeof item, number>(true);
  const several = await items([x, x]);
  same<typeof several, number[]>(true);
  tensor([
    [1, 2],
    [3, 4],
  ]);
  tensor(Float32Array.of(1, 2), { shape: [2, 1], dtype: "f32" });
  // @ts-expect-error text is no number
  tensor(["one"]);
  // @ts-expect-error there is no such dtype
  tensor([1], { dtype: "float32" });
  // @ts-expect-error sizes are numbers
  zeros("3");
}

export function ops(): void {
  const sum = x.sum(0, true);
  same<typeof sum, Tensor>(true);
  const [top, where] = x.topk(2);
  same<typeof top, Tensor>(true);
  same<typeof where, Tensor>(true);
  const parts = x.split(1);
  same<typeof parts, Tensor[]>(true);
  x.add(x).mul(2).rsub(1);
  // @ts-expect-error an operand is a tensor or a number
  x.add("1");
  // @ts-expect-error a matrix product takes a tensor
  x.matmul(2);
  // @ts-expect-error there is no such op
  x.frobnicate();
  // @ts-expect-error the mean, the sum or none
  x.crossEntropy(x, undefined, -100, "average");
  // @ts-expect-error the shape follows from the op
  x.shape = [2];
}

export function derivatives(): void {
  x.backward();
  const gradients = grad(x, [x], { createGraph: true });
  same<typeof gradients, (Tensor | undefined)[]>(true);
  const kept = scope(() => ({ loss: x, list: [x] }));
  same<typeof kept, { loss: Tensor; list: Tensor[] }>(true);
  const number = noGrad(() => 3);
  same<typeof number, number>(true);
  // @ts-expect-error the option is called createGraph
  grad(x, [x], { create_graph: true });
}

class Net extends nn.Module {
  first = nn.linear(4, 8, { bias: false });
  rest = nn.sequential(nn.relu(), nn.linear(8, 2));
  forward(x: Tensor): Tensor {
    return this.rest.forward(this.first.forward(x));
  }
}

export function modules(): void {
  const net = new Net();
  const parameters = net.parameters();
  same<typeof parameters, nn.Parameter[]>(true);
  const state = net.stateDict();
  same<typeof state, Record<string, Tensor>>(true);
  const [outputs, [hidden, cell]] = nn.lstm(3, 5).forward(x);
  same<typeof outputs, Tensor>(true);
  same<typeof hidden, Tensor>(true);
  same<typeof cell, Tensor>(true);
  optim.adam(parameters, { lr: 1e-3, betas: [0.9, 0.99] });
  optim.sgd([{ parameters, lr: 0.1 }], { momentum: 0.9 });
  // @ts-expect-error sizes are numbers
  nn.linear("4", 8);
  // @ts-expect-error Adam has no momentum
  optim.adam(parameters, { momentum: 0.9 });
  // @ts-expect-error what is trained are parameters, not tensors
  optim.adam([x]);
  // @ts-expect-error padding is a number, numbers, "same" or "valid"
  nn.conv2d(1, 2, 3, { padding: "full" });
  // @ts-expect-error sequential takes modules
  nn.sequential((x: Tensor) => x);
}

export async function devices(): Promise<void> {
  const device = await init({ device: "best", powerPreference: "low-power", onProgress: (message: string) => void message });
  same<typeof device, Device>(true);
  same<typeof device.info, DeviceInfo>(true);
  same<DeviceInfo["type"], "cpu" | "gpu">(true);
  same<typeof device.error, string | undefined>(true);
  await init({ device: gpuDevice });
  const bytes = [memory().inUse, stats().submissions];
  same<typeof bytes, number[]>(true);
  // @ts-expect-error there is no such device
  await init({ device: "cuda" });
}

export async function training(): Promise<void> {
  const net = new Net();
  const batches = new DataLoader([x, x], { batchSize: 4, shuffle: 1 });
  const trainer = new Trainer(net, optim.adamW(net.parameters()), {
    epochs: 2,
    onProgress: ({ step, metrics }) => {
      same<typeof step, number>(true);
      same<typeof metrics, Record<string, number>>(true);
    },
  });
  const outcome = (model: Net, [x, y]: Tensor[]): Outcome => ({
    loss: model.forward(x as Tensor).mseLoss(y as Tensor),
    count: 4,
  });
  const summary = await trainer.fit(batches, outcome);
  same<typeof summary, Summary>(true);
  same<Summary["stopped"], "done" | "asked" | "early">(true);
  const saved = await trainer.checkpoint(batches);
  same<typeof saved, Uint8Array>(true);
  const read = await io.readSafetensors(new Blob([]), { limit: 10, sha256: "00" });
  same<typeof read, Record<string, Tensor>>(true);
  const onProgress = (epoch: number, loss: number) => console.log(epoch, loss);
  const { accuracy, model: trained } = await train_mnist({ epochs: 1, batch_size: 32, learning_rate: 1e-3, onProgress });
  same<typeof accuracy, number>(true);
  same<typeof trained, nn.Layer>(true);
  // @ts-expect-error an outcome has a count
  await trainer.fit(batches, (model, [x]) => ({ loss: model.forward(x as Tensor) }));
  // @ts-expect-error the short form has names with underscores
  await train_mnist({ batchSize: 32 });
}

export async function workers(): Promise<void> {
  const run = new TrainingWorker(() => new Worker("train.js"), { onPaused: (step) => same<typeof step, number>(true) });
  const options: StartOptions = { epochs: 1, checkpointEvery: 10, name: "mine", settings: { width: 3 } };
  const summary = await run.start(options);
  same<typeof summary, Summary>(true);
  runTraining(() => {
    const model = new Net();
    return {
      model,
      optimizer: optim.sgd(model.parameters()),
      batches: new DataLoader([x]),
      outcome: (model, [x]) => {
        same<typeof model, Net>(true);
        return { loss: model.forward(x as Tensor).sum(), count: 1 };
      },
    };
  });
  // @ts-expect-error a GPUDevice cannot be sent to a worker
  await run.start({ device: gpuDevice });
  // @ts-expect-error a learning rate is a number
  run.setLearningRate("fast");
}

/** What a page and its training worker may say to each other. */
interface Words {
  settings: { width: number };
  note: { seen: number };
  questions: { weights: { ask: undefined; answer: Uint8Array }; test: { ask: { items: number }; answer: number } };
}

export async function dialogues(): Promise<void> {
  const run = new TrainingWorker<Words>(() => new Worker("train.js"), {
    onNote: (note) => same<typeof note, { seen: number }>(true),
  });
  await run.start({ settings: { width: 3 } });
  const [weights, right] = [await run.ask("weights"), await run.ask("test", { items: 3 })];
  same<typeof weights, Uint8Array>(true);
  same<typeof right, number>(true);
  runTraining<Net, Words>(({ width }, tell) => {
    tell({ seen: width });
    const model = new Net();
    return {
      model,
      optimizer: optim.sgd(model.parameters()),
      batches: new DataLoader([x]),
      outcome: (model, [x]) => ({ loss: model.forward(x as Tensor).sum(), count: 1 }),
      answers: { weights: () => new Uint8Array(), test: ({ items }, { step }) => items / step },
    };
  });
  // @ts-expect-error the settings are others
  await run.start({ settings: { height: 3 } });
  // @ts-expect-error there is no such question
  await run.ask("gradients");
  // @ts-expect-error with this question something goes along
  await run.ask("test");
}

type Sums = { add: { ask: number[]; answer: number }; clear: { ask: undefined; answer: unknown } };

export async function protocol(worker: Worker): Promise<void> {
  const client = new WorkerClient<Sums, "full">(worker, { onNote: (note) => same<typeof note, "full">(true) });
  const sum = await client.ask("add", [1, 2]);
  same<typeof sum, number>(true);
  await client.ask("clear");
  const tell = answerQuestions<Sums, "full">({ add: (numbers) => numbers.length, clear: () => undefined });
  tell("full");
  // @ts-expect-error there is no such question
  await client.ask("subtract", [1, 2]);
  // @ts-expect-error the question takes numbers
  await client.ask("add", ["one"]);
  // @ts-expect-error the answer is a number
  answerQuestions<Sums>({ add: () => "three", clear: () => undefined });
  // @ts-expect-error one question has no answer
  answerQuestions<Sums>({ add: () => 3 });
  // @ts-expect-error there is no such note
  tell("empty");
}

export function kernels(): void {
  const double = kernel("double", { source: "", outputs: [{ shape: [3] }], workgroups: [1] });
  const made = double(x);
  same<typeof made, Tensor[]>(true);
  new Generator(3);
  // @ts-expect-error a kernel says what it gives
  kernel("nothing", { source: "", workgroups: [1] });
}
