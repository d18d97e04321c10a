import { wasm } from "./wasm.js";

/** A source of random numbers: the same seed gives the same numbers on every device. */
export class Generator {
  /** @internal */
  readonly number: number;

  constructor(readonly seed: number) {
    this.number = wasm().generator_new(seed);
  }

  /** How far it has come; set it to go on where another run stopped. */
  get counter(): number {
    return wasm().generator_counter(this.number);
  }

  /** The numbers below `count` in a random order. */
  permutation(count: number): Uint32Array {
    return wasm().generator_permutation(this.number, count);
  }

  set counter(value: number) {
    wasm().generator_set_counter(this.number, value);
  }
}

/** Seeds the generator that is used where none is given. */
export function manualSeed(seed: number): void {
  wasm().manual_seed(seed);
}

/** @internal How far the default generator has come. */
export function generatorCounter(): number {
  return wasm().generator_counter(0);
}

/** @internal */
export function setGeneratorCounter(counter: number): void {
  wasm().generator_set_counter(0, counter);
}
