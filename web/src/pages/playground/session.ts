/** A network that is being trained on a 2-D set: one step at a time, and what it looks like in between. */

import { cat, evaluate, io, manualSeed, nn, noGrad, type optim, scope, tensor, type Device, type Tensor } from "flambeau";
import { makeOptimizer } from "../../work/optimizer.js";
import { uniform } from "../../work/random.js";
import type { Activation, Config } from "./config.js";
import { gridPoints, inputsOf, makeSet, shuffle, type Split } from "./datasets.js";
import { SIDE, type Snapshot } from "./messages.js";

/** What a snapshot has before the worker says whose it is. */
export type Picture = Omit<Snapshot, "generation" | "stepsPerSecond">;

interface Half {
  inputs: Float32Array;
  labels: Int32Array;
}

/** A set on the device, to be looked at whole. */
interface Placed {
  inputs: Tensor;
  labels: Tensor;
  count: number;
}

export class Session {
  /** Steps taken. */
  steps = 0;
  /** Does it run on a GPU, which must not be flooded? */
  readonly onGpu: boolean;
  readonly #linears: nn.Layer[];
  readonly #optimizer: optim.Optimizer;
  readonly #grid: Tensor;
  readonly #order: number[] = [];
  readonly #random: () => number;
  #config: Config;
  #train!: Half;
  #whole!: { train: Placed; test: Placed | undefined };

  /** A network with its first weights, on the device of new tensors. */
  constructor(
    config: Config,
    readonly device: Device,
  ) {
    this.#config = config;
    this.onGpu = device.info.type === "gpu";
    const split = makeSet(config);
    this.#random = uniform(config.seed + 1);
    manualSeed(config.seed);
    const sizes = [config.features.length, ...config.layers, split.classes];
    this.#linears = sizes.slice(1).map((outputs, index) => nn.linear(sizes[index] ?? 1, outputs));
    const parameters = this.#linears.flatMap((layer) => [...layer.parameters()]);
    this.#optimizer = makeOptimizer(config.optimizer, parameters, { lr: config.lr });
    const cells = gridPoints(SIDE);
    this.#grid = tensor(inputsOf(cells, config.features), { shape: [cells.length, config.features.length] }).keep();
    this.#take(split);
  }

  /** Goes on with settings that leave the network as it is. */
  change(config: Config): void {
    this.#config = config;
    this.#optimizer.lr = config.lr;
    if (config.set !== "own") return;
    const { train, test } = this.#whole;
    for (const each of [train.inputs, train.labels, test?.inputs, test?.labels]) each?.dispose();
    this.#take(makeSet(config));
  }

  #take({ train, test }: Split): void {
    const half = (points: Split["train"]): Half => ({
      inputs: inputsOf(points, this.#config.features),
      labels: Int32Array.from(points, ({ label }) => label),
    });
    const place = ({ inputs, labels }: Half): Placed | undefined =>
      labels.length === 0
        ? undefined
        : {
            inputs: tensor(inputs, { shape: [labels.length, this.#config.features.length] }).keep(),
            labels: tensor(labels).keep(),
            count: labels.length,
          };
    this.#train = half(train);
    const trained = place(this.#train);
    if (trained === undefined) throw new Error("there are no points to train on: click into the plane to add some");
    this.#whole = { train: trained, test: place(half(test)) };
    this.#order.length = 0;
  }

  /** Lets go of what lies on the device. */
  dispose(): void {
    const { train, test } = this.#whole;
    for (const each of [this.#grid, train.inputs, train.labels, test?.inputs, test?.labels]) each?.dispose();
  }

  /** One step of training. */
  step(): void {
    const { inputs, labels } = this.#nextBatch();
    scope(() => {
      const logits = this.#forward(tensor(inputs, { shape: [labels.length, this.#config.features.length] })).logits;
      const loss = logits.crossEntropy(tensor(labels));
      this.#penalised(loss).backward();
      this.#optimizer.step();
      this.#optimizer.zeroGrad();
    });
    this.steps += 1;
  }

  /** Every point once in a random order, then again in another. */
  #nextBatch(): Half {
    const { inputs, labels } = this.#train;
    const width = this.#config.features.length;
    const size = Math.min(this.#config.batch, labels.length);
    if (this.#order.length < size) {
      this.#order.splice(0, this.#order.length, ...labels.keys());
      shuffle(this.#order, this.#random);
    }
    const chosen = this.#order.splice(this.#order.length - size, size);
    const batch: Half = { inputs: new Float32Array(size * width), labels: new Int32Array(size) };
    for (const [row, point] of chosen.entries()) {
      batch.inputs.set(inputs.subarray(point * width, (point + 1) * width), row * width);
      batch.labels[row] = labels[point] ?? 0;
    }
    return batch;
  }

  #forward(inputs: Tensor): { hidden: Tensor[]; logits: Tensor } {
    const hidden: Tensor[] = [];
    let value = inputs;
    for (const [index, layer] of this.#linears.entries()) {
      value = layer.forward(value);
      if (index === this.#linears.length - 1) break;
      value = activate(value, this.#config.activation);
      hidden.push(value);
    }
    return { hidden, logits: value };
  }

  /** The loss with λ₁ Σ|w| + ½ λ₂ Σw² over the weights. */
  #penalised(loss: Tensor): Tensor {
    const { l1, l2 } = this.#config;
    let total = loss;
    for (const layer of this.#linears) {
      const weight = weightOf(layer).get();
      if (l1 > 0) total = total.add(weight.abs().sum().mul(l1));
      if (l2 > 0)
        total = total.add(
          weight
            .square()
            .sum()
            .mul(l2 / 2),
        );
    }
    return total;
  }

  /** What the network is now. It is computed in one plan, and training does not wait for it to be read. */
  async picture(): Promise<Picture> {
    const step = this.steps;
    const { train, test } = this.#whole;
    const seen = noGrad(() =>
      scope(() => {
        const { hidden, logits } = this.#forward(this.#grid);
        return {
          scores: cat([...this.#judge(train), ...this.#judge(test ?? train)], 0),
          probabilities: logits.softmax(1),
          hidden,
          weights: this.#linears.map((layer) => weightOf(layer).value()),
        };
      }),
    );
    const all = [seen.scores, seen.probabilities, ...seen.hidden, ...seen.weights];
    evaluate(all);
    const [scores, probabilities, ...layers] = await Promise.all(all.map(async (each) => (await each.data()) as Float32Array));
    for (const each of all) each.dispose();
    const [trainLoss = 0, trainAccuracy = 0, testLoss = 0, testAccuracy = 0] = scores ?? [];
    const weights = layers.splice(seen.hidden.length);
    return {
      step,
      trainLoss,
      trainAccuracy,
      testLoss: test === undefined ? Number.NaN : testLoss,
      testAccuracy: test === undefined ? Number.NaN : testAccuracy,
      layers,
      probabilities: probabilities ?? new Float32Array(),
      weights,
    };
  }

  /** The weights under the names that PyTorch's Sequential of layers and activations gives them. */
  #named(): Map<string, nn.Parameter> {
    const names = ["weight", "bias"];
    return new Map(
      this.#linears.flatMap((layer, index) =>
        [...layer.parameters()].map((parameter, at) => [`${2 * index}.${names[at]}`, parameter] as const),
      ),
    );
  }

  /** The weights as a safetensors file. */
  save(): Promise<Uint8Array> {
    const { features, layers, activation } = this.#config;
    const values = [...this.#named()].map(([name, parameter]) => [name, parameter.value()] as const);
    return io.writeSafetensors(Object.fromEntries(values), {
      features: features.join(" "),
      layers: layers.join(" "),
      activation,
    });
  }

  /** Takes up weights; an error, and nothing changes, unless they fit. */
  async load(bytes: Uint8Array): Promise<void> {
    const found = await io.readSafetensors(bytes);
    const named = this.#named();
    const shape = (tensor: Tensor | undefined) => (tensor === undefined ? "nothing" : `[${tensor.shape.join(", ")}]`);
    for (const name of new Set([...named.keys(), ...Object.keys(found)])) {
      const [wanted, given] = [shape(named.get(name)?.value()), shape(found[name])];
      if (wanted !== given) throw new Error(`${name}: this network has ${wanted} there, the file has ${given}`);
    }
    for (const [name, parameter] of named) parameter.set(found[name] as Tensor);
  }

  /** Loss and accuracy over a whole set, each as a list of one. */
  #judge({ inputs, labels }: Placed): Tensor[] {
    const { logits } = this.#forward(inputs);
    const right = logits.argmax(1).eq(labels).toDtype("f32").mean();
    return [logits.crossEntropy(labels).reshape([1]), right.reshape([1])];
  }
}

function weightOf(layer: nn.Layer): nn.Parameter {
  const [weight] = layer.parameters();
  if (weight === undefined) throw new Error("a linear layer has a weight");
  return weight;
}

function activate(value: Tensor, activation: Activation): Tensor {
  return activation === "linear" ? value : value[activation]();
}
