/** Short forms: MNIST in one call, and matrix products to compare the devices by. */

import { correct, Trainer } from "./trainer.js";
import { currentDevice, type Device, init, useDevice, type DeviceInfo } from "./device.js";
import { DataLoader, readIdx, type HostArray } from "./data.js";
import type { Source } from "./io.js";
import * as nn from "./nn/index.js";
import * as optim from "./optim.js";
import { manualSeed } from "./random.js";
import { tensor } from "./tensor.js";

/** How far `train_mnist` has come. */
export interface MnistProgress {
  step: number;
  steps: number;
  /** The share of pictures that were read rightly, as the loss since it was told last. */
  accuracy: number;
}

/** What `train_mnist` has come to. */
export interface TrainedMnist {
  /** The network: rows of 784 numbers from 0 to 1 to ten scores each. */
  model: nn.Layer;
  /** The share of the test pictures that it reads rightly. */
  accuracy: number;
  /** Its loss on the test pictures. */
  loss: number;
  seconds: number;
}

/** What `train_mnist` can be told. */
export interface TrainMnistOptions {
  epochs?: number;
  batch_size?: number;
  learning_rate?: number;
  /** Ends after this many steps, wherever the epoch is. */
  max_steps?: number;
  /** Told every 50 steps: the epoch, from 0, the mean loss since it was told last, and more. */
  onProgress?: (epoch: number, loss: number, progress: MnistProgress) => void;
  /** The four idx files, plain or gzipped; by default they lie in the folder `mnist/` beside the page. */
  data?: { trainImages: Source; trainLabels: Source; testImages: Source; testLabels: Source };
  seed?: number;
}

/** Pictures of 28 × 28 bytes as rows, and their labels. */
async function pictures(images: Source, labels: Source): Promise<HostArray[]> {
  const [x, y] = await Promise.all([readIdx(images), readIdx(labels)]);
  return [{ ...x, shape: [x.shape[0] ?? 0, 784] }, y];
}

/**
 * Trains a perceptron (784, 128, 10) on MNIST with Adam.
 *
 * ```ts
 * const { model, accuracy } = await train_mnist({ onProgress: (epoch, loss) => console.log(epoch, loss) });
 * ```
 */
export async function train_mnist(options: TrainMnistOptions = {}): Promise<TrainedMnist> {
  const { epochs = 1, batch_size = 32, learning_rate = 1e-3, max_steps, onProgress, seed = 1 } = options;
  const folder = "mnist";
  const {
    trainImages = `${folder}/train-images-idx3-ubyte.gz`,
    trainLabels = `${folder}/train-labels-idx1-ubyte.gz`,
    testImages = `${folder}/t10k-images-idx3-ubyte.gz`,
    testLabels = `${folder}/t10k-labels-idx1-ubyte.gz`,
  } = options.data ?? {};
  try {
    currentDevice();
  } catch {
    await init();
  }
  manualSeed(seed);
  const train = new DataLoader(await pictures(trainImages, trainLabels), { batchSize: batch_size, shuffle: seed });
  const test = new DataLoader(await pictures(testImages, testLabels), { batchSize: 1000 });
  const net = nn.mlp(784, 128, 10);
  const trainer = new Trainer(net, optim.adam(net.parameters(), { lr: learning_rate }), {
    epochs,
    ...(max_steps !== undefined && { maxSteps: max_steps }),
    onProgress: ({ step, steps, epoch, metrics }) =>
      onProgress?.(epoch, metrics["loss"] ?? 0, { step, steps, accuracy: metrics["accuracy"] ?? 0 }),
  });
  const summary = await trainer.fit(
    train,
    (model, [x, y]) => {
      if (x === undefined || y === undefined) throw new Error("flambeau: a batch is pictures and labels");
      const logits = model.forward(x.toDtype("f32").div(255));
      const labels = y.toDtype("i32");
      return { loss: logits.crossEntropy(labels), count: x.shape[0] ?? 0, metrics: { accuracy: correct(logits, labels) } };
    },
    test,
  );
  const last = summary.epochs.at(-1)?.test ?? {};
  return { model: net, accuracy: last["test_accuracy"] ?? 0, loss: last["test_loss"] ?? 0, seconds: summary.seconds };
}

/** Opens the GPU, software adapters too; an error where there is none. */
export async function init_gpu(): Promise<void> {
  await init({ device: "software" });
}

/** What the device is. */
export function get_gpu_info(): DeviceInfo {
  return currentDevice().info;
}

async function product(device: Device, a: Float32Array, b: Float32Array, n: number): Promise<Float32Array> {
  const before = currentDevice();
  useDevice(device);
  try {
    const made = tensor(a, { shape: [n, n] }).matmul(tensor(b, { shape: [n, n] }));
    return (await made.data()) as Float32Array;
  } finally {
    useDevice(before);
  }
}

let cpu: Device | undefined;

/** The product of two n × n matrices, on the CPU. */
export async function matmul_cpu(a: Float32Array, b: Float32Array, n: number): Promise<Float32Array> {
  if (cpu === undefined) {
    let before: Device | undefined;
    try {
      before = currentDevice();
    } catch {
      before = undefined;
    }
    cpu = await init({ device: "cpu" });
    if (before !== undefined) useDevice(before);
  }
  return product(cpu, a, b, n);
}

/** The product of two n × n matrices, on the GPU of new tensors; an error where they lie on the CPU. */
export async function matmul_gpu(a: Float32Array, b: Float32Array, n: number): Promise<Float32Array> {
  const device = currentDevice();
  if (device.info.type !== "gpu") {
    throw new Error(
      `flambeau: matmul_gpu needs a GPU, and new tensors lie on the CPU (${device.reason}); await init_gpu() first`,
    );
  }
  return product(device, a, b, n);
}
