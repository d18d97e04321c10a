/** Layers that the library implements. */

import { type Args, args } from "../calls.js";
import { adopt } from "../maker.js";
import type { Tensor } from "../tensor.js";
import { wasm } from "../wasm.js";
import { Buffer, Module, Parameter, type Slot } from "./module.js";

const released = new FinalizationRegistry<number>((layer) => wasm().layer_release(layer));

/** Settings as the library takes them: names in its style, nothing undefined. */
export function settings(options: object): string {
  const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return JSON.stringify(Object.fromEntries(Object.entries(options).map(([name, value]) => [snake(name), value as unknown])));
}

/** A layer of the library, by its number. */
export abstract class Native extends Module {
  readonly #number: number;
  readonly #parts: [string, Slot][];

  /** @internal */
  constructor(kind: string, options: object) {
    super();
    const number = wasm().layer_new(kind, settings(options));
    released.register(this, number);
    this.#number = number;
    const names = wasm().layer_slot_names(number);
    const slots = wasm().layer_slots(number);
    this.#parts = names.map((name, index): [string, Slot] => {
      const slot = slots[index] ?? 0;
      return name.startsWith(":") ? [name.slice(1), new Buffer(slot)] : [name, new Parameter(slot)];
    });
  }

  /** @internal */
  get number(): number {
    return this.#number;
  }

  protected override *ownParts(): Iterable<[string, Slot]> {
    yield* this.#parts;
  }

  /** A parameter by its name, such as `weight`. */
  parameter(name: string): Parameter {
    const found = this.#parts.find(([own]) => own === name)?.[1];
    if (found instanceof Parameter) return found;
    throw new Error(`flambeau: ${this.summary()} has no parameter ${name}`);
  }

  override train(training = true): this {
    wasm().layer_train(this.#number, training);
    return super.train(training);
  }

  override summary(): string {
    return wasm().layer_text(this.#number);
  }

  /** @internal */
  protected call({ tensors, numbers }: Args): Tensor[] {
    return Array.from(wasm().layer_call(this.#number, Uint32Array.from(tensors), Float64Array.from(numbers)), adopt);
  }

  /** @internal */
  protected callOne(args: Args): Tensor {
    const [first] = this.call(args);
    if (first === undefined) throw new Error("flambeau: the layer gave no tensor");
    return first;
  }
}

/** A layer with one input and one output. */
export class Layer extends Native {
  /** The output for this input. */
  forward(input: Tensor): Tensor {
    return adopt(wasm().layer_chain(Uint32Array.of(this.number), input.handle));
  }
}

/** A layer of two inputs. */
export class PairLayer extends Native {
  /** The output for these inputs. */
  forward(first: Tensor, second: Tensor): Tensor {
    return this.callOne(args(first).t(second));
  }
}

/** An embedding of bags of rows. */
export class EmbeddingBag extends Native {
  /** One row per bag: bags are the rows of `indices`, or begin at `offsets`. */
  forward(indices: Tensor, offsets: readonly number[] = [], weights?: Tensor): Tensor {
    return this.callOne(args(indices).mt(weights).ns(offsets));
  }
}

/** What attention does not look at. */
export interface Masks {
  /** Broadcast to (…, L, S). Booleans: what is left out. Numbers: what is added to the scores. */
  mask?: Tensor;
  /** (B, S): keys that are padding. */
  keyPaddingMask?: Tensor;
  /** Each place sees only those before it and itself. */
  causal?: boolean;
}

function withMasks(args: Args, { mask, keyPaddingMask, causal = false }: Masks = {}): Args {
  return args.mt(mask).mt(keyPaddingMask).b(causal);
}

/** Attention in several heads. */
export class MultiheadAttention extends Native {
  /** What the queries find. */
  forward(query: Tensor, key: Tensor, value: Tensor, masks: Masks = {}): Tensor {
    return this.callOne(withMasks(args(query).t(key).t(value), masks).b(false));
  }

  /** What the queries find, and how much each looked at each key, as the mean of the heads. */
  forwardWithWeights(query: Tensor, key: Tensor, value: Tensor, masks: Masks = {}): [Tensor, Tensor] {
    const [output, weights] = this.call(withMasks(args(query).t(key).t(value), masks).b(true));
    if (output === undefined || weights === undefined) throw new Error("flambeau: two tensors were expected");
    return [output, weights];
  }
}

/** A recurrent layer with one state: RNN and GRU. */
export class Recurrent extends Native {
  /** The outputs of all steps, and the last state. */
  forward(input: Tensor, hidden?: Tensor): [Tensor, Tensor] {
    const [output, last] = this.call(args(input).mt(hidden));
    if (output === undefined || last === undefined) throw new Error("flambeau: two tensors were expected");
    return [output, last];
  }
}

/** A long short-term memory. */
export class Lstm extends Native {
  /** The outputs of all steps, and the last hidden and cell states. */
  forward(input: Tensor, states?: [Tensor, Tensor]): [Tensor, [Tensor, Tensor]] {
    const [output, hidden, cell] = this.call(args(input).mt(states?.[0]).mt(states?.[1]));
    if (output === undefined || hidden === undefined || cell === undefined) {
      throw new Error("flambeau: three tensors were expected");
    }
    return [output, [hidden, cell]];
  }
}

/** One step of an RNN or a GRU. */
export class Cell extends Native {
  /** The next state. */
  forward(input: Tensor, hidden?: Tensor): Tensor {
    return this.callOne(args(input).mt(hidden));
  }
}

/** One step of an LSTM. */
export class LstmCell extends Native {
  /** The next hidden and cell states. */
  forward(input: Tensor, states?: [Tensor, Tensor]): [Tensor, Tensor] {
    const [hidden, cell] = this.call(args(input).mt(states?.[0]).mt(states?.[1]));
    if (hidden === undefined || cell === undefined) throw new Error("flambeau: two tensors were expected");
    return [hidden, cell];
  }
}

/** A transformer's encoder, or one layer of it. */
export class Encoder extends Native {
  /** (S, B, width) to the same; the batch first with `batchFirst`. */
  forward(source: Tensor, masks: Masks = {}): Tensor {
    return this.callOne(withMasks(args(source), masks));
  }
}

/** A transformer's decoder, or one layer of it. */
export class Decoder extends Native {
  /** (T, B, width) to the same, looking at a memory (S, B, width). */
  forward(target: Tensor, memory: Tensor, masks: { target?: Masks; memory?: Masks } = {}): Tensor {
    return this.callOne(withMasks(withMasks(args(target).t(memory), masks.target), masks.memory));
  }
}

/** How a token is chosen. */
export interface SampleOptions {
  /** Scores are divided by it: below 1 the likely tokens become likelier. 0 takes the likeliest. */
  temperature?: number;
  /** Only so many of the likeliest tokens are considered; all of them if it is left out. */
  topK?: number;
}

/** A transformer that continues text. */
export class Gpt extends Native {
  /** Tokens (B, T) to the scores (B, T, vocabulary) of the token after each. */
  forward(tokens: Tensor): Tensor {
    return this.callOne(args(tokens).n(0));
  }

  /** Tokens (B, T) and `count` that follow, (B, T + count), drawn by the default generator. The context must have room for them. */
  generate(tokens: Tensor, count: number, { temperature = 1, topK = 0 }: SampleOptions = {}): Tensor {
    if (!Number.isInteger(count) || count < 1) throw new RangeError(`flambeau: ${count} tokens cannot follow`);
    return this.callOne(args(tokens).n(count).n(temperature).n(topK));
  }
}

/** An encoder and a decoder. */
export class Transformer extends Native {
  /** (S, B, width) and (T, B, width) to (T, B, width). */
  forward(source: Tensor, target: Tensor, masks: { source?: Masks; target?: Masks; memory?: Masks } = {}): Tensor {
    const given = withMasks(withMasks(args(source).t(target), masks.source), masks.target);
    return this.callOne(withMasks(given, masks.memory));
  }
}

/** Calls one module after the other. Its parts are named 0, 1, 2, … */
export class Sequential extends Module {
  readonly #modules: (Module & { forward(input: Tensor): Tensor })[];

  constructor(...modules: (Module & { forward(input: Tensor): Tensor })[]) {
    super();
    this.#modules = modules;
  }

  protected override *ownParts(): Iterable<[string, Module]> {
    for (const [index, module] of this.#modules.entries()) yield [String(index), module];
  }

  /** The output of the last for this input. Neighbouring layers of the library are one call. */
  forward(input: Tensor): Tensor {
    let x = input;
    let chain: number[] = [];
    const flush = () => {
      if (chain.length > 0) x = adopt(wasm().layer_chain(Uint32Array.from(chain), x.handle));
      chain = [];
    };
    for (const module of this.#modules) {
      if (module instanceof Layer) {
        chain.push(module.number);
      } else {
        flush();
        x = module.forward(x);
      }
    }
    flush();
    return x;
  }

  /** The number of modules. */
  get length(): number {
    return this.#modules.length;
  }

  /** The module at this place. */
  at(index: number): Module | undefined {
    return this.#modules.at(index);
  }
}
