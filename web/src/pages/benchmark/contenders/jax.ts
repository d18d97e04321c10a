/** jax-js on WebGPU: every task as one jitted function. An array is used up by the function it is given to; `ref` keeps it. */

import { blockUntilReady, defaultDevice, init, jit, lax, nn, numpy as np, tree, valueAndGrad } from "@jax-js/jax";
import type { Contender, Prepared } from "../measure.js";
import { at, CLASSES, RATE, type Named, type Work } from "../tasks.js";

type JaxArray = np.Array;
type Parameters = Record<string, JaxArray>;

const place = ({ values, shape }: Named) => np.array(values, { shape: [...shape] });

function plain(inputs: JaxArray[], compute: (...inputs: JaxArray[]) => JaxArray): Prepared {
  const compiled = jit(compute);
  const make = () => compiled(...inputs.map((input) => input.ref));
  return {
    async run(times) {
      let last: JaxArray | undefined;
      for (let time = 0; time < times; time += 1) {
        last?.dispose();
        last = make();
      }
      await last?.blockUntilReady();
      last?.dispose();
    },
    result: async () => [(await make().data()) as Float32Array],
    dispose: () => {
      for (const input of inputs) input.dispose();
    },
  };
}

/** x Wᵀ + b. */
const dense = (x: JaxArray, weight: JaxArray, bias: JaxArray) => np.matmul(x, np.transpose(weight)).add(bias);

/** A convolution, ReLU, and the largest of every 2 × 2 pixels. */
function block(x: JaxArray, weight: JaxArray, bias: JaxArray): JaxArray {
  const channels = weight.shape[0] ?? 1;
  const made = nn.relu(lax.conv(x, weight, [1, 1], "VALID").add(bias.reshape([channels, 1, 1])));
  const [batch = 1, , height = 2, width = 2] = made.shape;
  const [high, wide] = [height >> 1, width >> 1];
  const even = height % 2 === 0 && width % 2 === 0 ? made : made.slice([], [], [0, 2 * high], [0, 2 * wide]);
  return np.max(even.reshape([batch, channels, high, 2, wide, 2]), [3, 5]);
}

function taken(parameters: Parameters, name: string): JaxArray {
  const found = parameters[name];
  if (found === undefined) throw new Error(`there is no parameter ${name}`);
  return found;
}

function logits(p: Parameters, x: JaxArray, cnn: boolean): JaxArray {
  const layer = (value: JaxArray, name: string) => dense(value, taken(p, `${name}.weight`), taken(p, `${name}.bias`));
  if (!cnn) return layer(nn.relu(layer(x, "fc1")), "fc2");
  const first = block(x, taken(p, "conv1.weight"), taken(p, "conv1.bias"));
  const second = block(first, taken(p, "conv2.weight"), taken(p, "conv2.bias"));
  const flat = second.reshape([second.shape[0] ?? 1, -1]);
  return layer(nn.relu(layer(flat, "fc1")), "fc2");
}

function training(work: Work): Prepared {
  const cnn = work.task.kind === "cnn";
  const x = place(at(work.inputs, 0));
  const y = nn.oneHot(np.array(work.labels, { shape: [work.labels.length], dtype: np.int32 }), CLASSES);
  const names = work.parameters.map(({ name }) => name);
  const zeros = (): Parameters => Object.fromEntries(work.parameters.map(({ name, shape }) => [name, np.zeros([...shape])]));
  let p: Parameters = Object.fromEntries(work.parameters.map((named) => [named.name, place(named)]));
  let [m, v] = [zeros(), zeros()];
  const lossOf = (p: Parameters, x: JaxArray, y: JaxArray): JaxArray =>
    np.mean(np.sum(nn.logSoftmax(logits(p, x, cnn), -1).mul(y), -1)).mul(-1);
  const gradients = jit((p: Parameters, x: JaxArray, y: JaxArray) => valueAndGrad(lossOf)(p, x, y));
  const update = jit((p: Parameters, m: Parameters, v: Parameters, x: JaxArray, y: JaxArray) => {
    const [loss, grads] = valueAndGrad(lossOf)(tree.ref(p), x, y) as [JaxArray, Parameters];
    const [nextP, nextM, nextV]: [Parameters, Parameters, Parameters] = [{}, {}, {}];
    for (const name of names) {
      const grad = taken(grads, name);
      const mean = taken(m, name).mul(0.9).add(grad.ref.mul(0.1));
      const square = taken(v, name).mul(0.999).add(grad.ref.mul(grad).mul(0.001));
      nextM[name] = mean.ref;
      nextV[name] = square.ref;
      nextP[name] = taken(p, name).sub(mean.mul(RATE).div(np.sqrt(square).add(1e-8)));
    }
    return [nextP, nextM, nextV, loss] as [Parameters, Parameters, Parameters, JaxArray];
  });
  return {
    async run(times) {
      let loss: JaxArray | undefined;
      for (let time = 0; time < times; time += 1) {
        loss?.dispose();
        [p, m, v, loss] = update(p, m, v, x.ref, y.ref);
      }
      await blockUntilReady(p);
      await loss?.data();
    },
    async result() {
      const [loss, grads] = gradients(tree.ref(p), x.ref, y.ref) as [JaxArray, Parameters];
      const all = [(await loss.data()) as Float32Array];
      for (const name of names) all.push((await taken(grads, name).data()) as Float32Array);
      return all;
    },
    dispose: () => {
      for (const each of [x, y, ...[p, m, v].flatMap((group) => Object.values(group))]) each.dispose();
    },
  };
}

export async function open(): Promise<Contender> {
  const devices = await init("webgpu");
  if (!devices.includes("webgpu")) throw new Error("jax-js could not open WebGPU");
  defaultDevice("webgpu");
  return {
    prepare(work) {
      if (work.parameters.length > 0) return Promise.resolve(training(work));
      const compute = {
        matmul: (a: JaxArray, b: JaxArray) => np.matmul(a, b),
        elementwise: (a: JaxArray, b: JaxArray) => nn.relu(a.ref.mul(b).add(a)).mul(0.5),
        convolution: (x: JaxArray, weight: JaxArray) => lax.conv(x, weight, [1, 1], "SAME"),
      }[work.task.kind as "matmul" | "elementwise" | "convolution"];
      return Promise.resolve(plain(work.inputs.map(place), compute as (...inputs: JaxArray[]) => JaxArray));
    },
  };
}
