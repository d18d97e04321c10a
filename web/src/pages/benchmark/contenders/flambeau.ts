/** Flambeau, on the CPU or on WebGPU. */

import { nn, optim, scope, tensor, useDevice, type Device, type Tensor } from "flambeau";
import type { Contender, Prepared } from "../measure.js";
import { at, RATE, type Named, type Work } from "../tasks.js";

const place = ({ values, shape }: Named) => tensor(values, { shape }).keep().eval();

/** Waits until a tensor is there, by reading one of its numbers. */
async function wait(value: Tensor): Promise<void> {
  const one = scope(() => value.flatten().narrow(0, 0, 1));
  await one.data();
  one.dispose();
}

/** The share of the time in which kernels run; browsers round timestamps, so it is a mean over many. */
async function busyShare(device: Device, run: () => Promise<void>): Promise<number | undefined> {
  if (!device.info.features.includes("timestamp-query")) return undefined;
  device.startTrace();
  try {
    await run();
  } catch (error) {
    // No later run is to be slowed down by it.
    await device.takeTrace();
    throw error;
  }
  const { busy } = await device.takeTrace();
  return Number.isFinite(busy) ? busy : undefined;
}

/** A task without training: a function of tensors. */
function plain(device: Device, inputs: Tensor[], compute: () => Tensor): Prepared {
  const make = () => {
    useDevice(device);
    return scope(compute).eval();
  };
  const run = async (times: number) => {
    let last: Tensor | undefined;
    for (let time = 0; time < times; time += 1) {
      last?.dispose();
      last = make();
      await device.throttle();
    }
    if (last !== undefined) await wait(last);
    last?.dispose();
  };
  return {
    run,
    busy: (times) => busyShare(device, () => run(times)),
    async result() {
      const value = make();
      const data = (await value.data()) as Float32Array;
      value.dispose();
      return [data];
    },
    dispose: () => {
      for (const input of inputs) input.dispose();
    },
  };
}

function network({ task }: Work): nn.Sequential {
  return task.kind === "mlp"
    ? nn.sequential(nn.linear(784, 128), nn.relu(), nn.linear(128, 10))
    : nn.sequential(
        nn.conv2d(1, 32, 3),
        nn.relu(),
        nn.maxPool2d(2),
        nn.conv2d(32, 64, 3),
        nn.relu(),
        nn.maxPool2d(2),
        nn.flatten(),
        nn.linear(1600, 128),
        nn.relu(),
        nn.linear(128, 10),
      );
}

function training(device: Device, work: Work): Prepared {
  const x = place(at(work.inputs, 0));
  const y = tensor(work.labels).keep().eval();
  const net = network(work);
  const parameters = [...net.parameters()];
  for (const [index, parameter] of parameters.entries()) {
    const { values, shape } = at(work.parameters, index);
    parameter.set(tensor(values, { shape }));
  }
  const optimizer = optim.adam(parameters, { lr: RATE });
  const step = (): Tensor => {
    useDevice(device);
    return scope(() => {
      const loss = net.forward(x).crossEntropy(y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    });
  };
  const run = async (times: number) => {
    let loss: Tensor | undefined;
    for (let time = 0; time < times; time += 1) {
      loss?.dispose();
      loss = step();
      await device.throttle();
    }
    await loss?.item();
    loss?.dispose();
  };
  return {
    run,
    busy: (times) => busyShare(device, () => run(times)),
    async result() {
      useDevice(device);
      const loss = net.forward(x).crossEntropy(y);
      loss.backward();
      const all: Float32Array[] = [Float32Array.of(await loss.item())];
      for (const { grad } of parameters) if (grad !== undefined) all.push((await grad.data()) as Float32Array);
      optimizer.zeroGrad();
      return all;
    },
    dispose: () => {
      for (const each of [x, y]) each.dispose();
    },
  };
}

export function flambeau(device: Device): Contender {
  return {
    prepare(work) {
      useDevice(device);
      if (work.parameters.length > 0) return Promise.resolve(training(device, work));
      const inputs = work.inputs.map(place);
      const [a, b] = inputs as [Tensor, Tensor];
      const compute = {
        matmul: () => a.matmul(b),
        elementwise: () => a.mul(b).add(a).relu().mul(0.5),
        convolution: () => a.conv2d(b, undefined, 1, 1),
      }[work.task.kind as "matmul" | "elementwise" | "convolution"];
      return Promise.resolve(plain(device, inputs, compute));
    },
  };
}
