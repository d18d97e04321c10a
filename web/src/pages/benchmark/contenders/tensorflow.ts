/** TensorFlow.js with its WebGPU backend. Its pictures are (N, H, W, C): data are turned before and after, untimed. */

import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-core/dist/register_all_gradients.js";
import "@tensorflow/tfjs-backend-webgpu";
import type { Contender, Prepared } from "../measure.js";
import { at, CLASSES, permuted, RATE, type Named, type Work } from "../tasks.js";

type Shape = [number, ...number[]];

const TO_LAST = [0, 2, 3, 1];
const TO_FIRST = [0, 3, 1, 2];
const WEIGHT_TO_LAST = [2, 3, 1, 0];
const WEIGHT_TO_FIRST = [3, 2, 0, 1];

const plainTensor = ({ values, shape }: Named) => tf.tensor(values, shape as Shape);

/** An array with its dimensions in another order. */
function turned({ name, values, shape }: Named, order: readonly number[]): Named {
  return { name, shape: order.map((dim) => shape[dim] ?? 1), values: permuted(values, shape, order) };
}

async function read(tensor: tf.Tensor, order?: readonly number[]): Promise<Float32Array> {
  const values = (await tensor.data()) as Float32Array;
  return order === undefined ? values : permuted(values, tensor.shape, order);
}

/** Waits until a tensor is there, by reading one of its numbers. */
async function wait(value: tf.Tensor): Promise<void> {
  const one = tf.tidy(() => tf.slice(tf.reshape(value, [-1]), [0], [1]));
  await one.data();
  one.dispose();
}

function plain(inputs: tf.Tensor[], compute: () => tf.Tensor, order?: readonly number[]): Prepared {
  return {
    async run(times) {
      let last: tf.Tensor | undefined;
      for (let time = 0; time < times; time += 1) {
        last?.dispose();
        last = tf.tidy(compute);
      }
      if (last !== undefined) await wait(last);
      last?.dispose();
    },
    async result() {
      const value = tf.tidy(compute);
      const data = await read(value, order);
      value.dispose();
      return [data];
    },
    dispose: () => {
      for (const input of inputs) input.dispose();
    },
  };
}

/** Parameters as TensorFlow.js wants them, and the way back. */
interface Layout {
  to: (named: Named) => Named;
  back: (values: Float32Array, shape: readonly number[]) => Float32Array;
}

const asItIs: Layout = { to: (named) => named, back: (values) => values };
const kernelLayout: Layout = {
  to: (named) => turned(named, WEIGHT_TO_LAST),
  back: (values, shape) => permuted(values, shape, WEIGHT_TO_FIRST),
};
/** The first dense layer after pictures: its columns follow their channels. */
const flattenedLayout: Layout = {
  to: ({ name, values }) => ({
    name,
    shape: [128, 1600],
    values: permuted(values, [128, 64, 5, 5], TO_LAST),
  }),
  back: (values) => permuted(values, [128, 5, 5, 64], TO_FIRST),
};

function layoutOf({ name, shape }: Named): Layout {
  if (shape.length === 4) return kernelLayout;
  return name === "fc1.weight" && shape[1] === 1600 ? flattenedLayout : asItIs;
}

function training(work: Work): Prepared {
  const cnn = work.task.kind === "cnn";
  const input = at(work.inputs, 0);
  const x = plainTensor(cnn ? turned(input, TO_LAST) : input);
  const y = tf.tidy(() => tf.cast(tf.oneHot(tf.tensor1d(work.labels, "int32"), CLASSES), "float32"));
  const layouts = work.parameters.map(layoutOf);
  const variables = work.parameters.map((named, index) => tf.variable(plainTensor((layouts[index] ?? asItIs).to(named))));
  const optimizer = tf.train.adam(RATE);
  const dense = (value: tf.Tensor, weight: number) =>
    tf.add(tf.matMul(value as tf.Tensor2D, variables[weight] as tf.Tensor2D, false, true), variables[weight + 1] as tf.Tensor);
  const block = (value: tf.Tensor, weight: number) =>
    tf.maxPool(
      tf.relu(
        tf.add(tf.conv2d(value as tf.Tensor4D, variables[weight] as tf.Tensor4D, 1, "valid"), variables[weight + 1] as tf.Tensor),
      ) as tf.Tensor4D,
      2,
      2,
      "valid",
    );
  const logits = () => {
    if (!cnn) return dense(tf.relu(dense(x, 0)), 2);
    const pictures = block(block(x, 0), 2);
    return dense(tf.relu(dense(tf.reshape(pictures, [pictures.shape[0] ?? 1, -1]), 4)), 6);
  };
  const lossOf = () => tf.losses.softmaxCrossEntropy(y, logits()) as tf.Scalar;
  return {
    async run(times) {
      let loss: tf.Scalar | null = null;
      for (let time = 0; time < times; time += 1) {
        loss?.dispose();
        loss = optimizer.minimize(lossOf, true, variables);
      }
      await loss?.data();
      loss?.dispose();
    },
    async result() {
      const { value, grads } = tf.variableGrads(lossOf, variables);
      const all = [await read(value)];
      for (const [index, variable] of variables.entries()) {
        const grad = grads[variable.name];
        if (grad === undefined) throw new Error(`no gradient of ${work.parameters[index]?.name ?? index}`);
        all.push((layouts[index] ?? asItIs).back(await read(grad), grad.shape));
        grad.dispose();
      }
      value.dispose();
      return all;
    },
    dispose: () => {
      for (const each of [x, y, ...variables]) each.dispose();
      optimizer.dispose();
    },
  };
}

export async function open(): Promise<Contender> {
  await tf.setBackend("webgpu");
  await tf.ready();
  if (tf.getBackend() !== "webgpu") throw new Error("TensorFlow.js could not open WebGPU");
  return {
    prepare(work) {
      if (work.parameters.length > 0) return Promise.resolve(training(work));
      if (work.task.kind === "convolution") {
        const [x, weight] = [turned(at(work.inputs, 0), TO_LAST), turned(at(work.inputs, 1), WEIGHT_TO_LAST)].map(plainTensor);
        const compute = () => tf.conv2d(x as tf.Tensor4D, weight as tf.Tensor4D, 1, "same");
        return Promise.resolve(plain([x as tf.Tensor, weight as tf.Tensor], compute, TO_FIRST));
      }
      const inputs = work.inputs.map(plainTensor);
      const [a, b] = inputs as [tf.Tensor2D, tf.Tensor2D];
      const compute = () => (work.task.kind === "matmul" ? tf.matMul(a, b) : tf.mul(tf.relu(tf.add(tf.mul(a, b), a)), 0.5));
      return Promise.resolve(plain(inputs, compute));
    },
  };
}
