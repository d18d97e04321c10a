/**
 * Transforms of functions: derivatives and batches of whole functions, as `torch.func` and JAX have them. A transform takes a
 * function and gives one, so they compose in any order.
 *
 * ```ts
 * import { grad, hessian, vmap } from "flambeau/func";
 * const energy = (x: Tensor) => x.sin().mul(x).sum();
 * const forces = vmap(grad(energy))(points);
 * const stiffness = vmap(hessian(energy))(points);
 * ```
 *
 * Functions take and give tensors, alone, in lists or in plain objects, of any depth. They run once, must not wait, and tensors
 * that are made in them end with them.
 *
 * @packageDocumentation
 */

import { adopt } from "./maker.js";
import type { Module } from "./nn/module.js";
import { scope } from "./scope.js";
import { Tensor } from "./tensor.js";
import { loadPart, wasm } from "./wasm.js";

/** Fetches this part of the module ahead of its first use, which otherwise waits for it. */
export function load(): Promise<void> {
  return loadPart("func");
}

/** One tensor or several, in a structure that results have again. */
export type Tensors = Tensor | readonly Tensors[] | { readonly [name: string]: Tensors };

/** The structure `Y` with `X` in place of each tensor. */
export type Each<Y, X> = Y extends Tensor ? X : { [K in keyof Y]: Each<Y[K], X> };

/** How `vmap` batches a function. */
export interface VmapOptions {
  /** The dimension that has the samples, for all arguments or for each; `null` for one that is the same for all (default: 0). */
  inDims?: number | null | readonly (number | null)[];
  /** The dimension that gets the samples, in all results or in each of a list (default: 0). */
  outDims?: number | readonly number[];
  /** What random numbers samples draw: their own, the same, or none (default: `"error"`). */
  randomness?: "error" | "different" | "same";
}

type Dim = number | null;

/** `Array.isArray` for lists that are not written to. */
const isList = (dims: Dim | readonly Dim[]): dims is readonly Dim[] => Array.isArray(dims);

/** The tensors of a structure, in order. */
function listed(name: string, tensors: unknown): Tensor[] {
  if (tensors instanceof Tensor) return [tensors];
  const isPlain = Array.isArray(tensors) || (tensors instanceof Object && Object.getPrototypeOf(tensors) === Object.prototype);
  if (isPlain) return Object.values(tensors as object).flatMap((part) => listed(name, part));
  if (tensors instanceof Promise) throw new TypeError(`flambeau: ${name}: the function must not wait; await outside of it`);
  throw new TypeError(`flambeau: ${name}: tensors were expected, alone, in lists or in plain objects, not ${String(tensors)}`);
}

/** The same structure with something else in place of each tensor, as the caller knows it. */
function rebuilt<R>(like: unknown, next: () => unknown): R {
  const part = (like: unknown): unknown => {
    if (like instanceof Tensor) return next();
    if (Array.isArray(like)) return like.map(part);
    return Object.fromEntries(Object.entries(like as object).map(([name, each]) => [name, part(each)]));
  };
  return part(like) as R;
}

/** Gives the elements of a list one after the other. */
function queue<T>(list: readonly T[]): () => T {
  let at = 0;
  return () => list[at++] as T;
}

const numbers = (tensors: readonly Tensor[]) => Uint32Array.from(tensors, (tensor) => tensor.handle);

const adopted = (handles: Uint32Array) => queue(Array.from(handles, adopt));

/** A function as the module calls it: with numbers of tensors, for numbers. It remembers what was returned. */
class Called<X, Y> {
  #output: Y | undefined;

  constructor(
    readonly name: string,
    readonly f: (x: X) => Y,
    readonly x: X,
  ) {}

  get call(): (handles: Uint32Array) => Uint32Array {
    return (handles) => {
      this.#output = this.f(rebuilt<X>(this.x, adopted(handles)));
      return numbers(listed(this.name, this.#output));
    };
  }

  get inputs(): Uint32Array {
    return numbers(listed(this.name, this.x));
  }

  /** The structure of the results. */
  get output(): Y {
    return this.#output as Y;
  }

  /** Runs one of the module's transforms; the tensors it gives, one after the other. */
  run(kind: string, along: readonly Tensor[] = []): () => Tensor {
    return adopted(wasm().func_transform(kind, this.call, this.inputs, numbers(along)));
  }
}

/**
 * The gradient of a function that returns a number, with respect to its first argument: in the same structure. The others are
 * handed on. It can be differentiated again.
 *
 * ```ts
 * const slope = grad((x: Tensor) => x.pow(3).sum());
 * const curvature = grad((x: Tensor) => slope(x).sum());
 * ```
 */
export function grad<X extends Tensors, R extends unknown[]>(f: (x: X, ...rest: R) => Tensor): (x: X, ...rest: R) => X {
  const both = gradAndValue(f);
  return (x, ...rest) => scope(() => both(x, ...rest)[0]);
}

/** The gradient of a function that returns a number, as `grad` has it, and the number. */
export function gradAndValue<X extends Tensors, R extends unknown[]>(
  f: (x: X, ...rest: R) => Tensor,
): (x: X, ...rest: R) => [X, Tensor] {
  return (x, ...rest) =>
    scope(() => {
      const next = new Called("grad", (x: X) => f(x, ...rest), x).run("grad");
      return [rebuilt<X>(x, next), next()];
    });
}

function derivative<X extends Tensors, Y extends Tensors, V extends Tensors, W extends Tensors>(
  called: Called<X, Y>,
  backward: boolean,
  given: () => V,
  wanted: () => W,
): [Y, (v: V) => W] {
  return scope(() => {
    const { Derivative } = wasm();
    const linear = new Derivative(called.call, called.inputs, backward);
    const times = (v: V) => {
      const list = listed(called.name, v);
      if (list.length !== listed(called.name, given()).length) {
        throw new TypeError(`flambeau: ${called.name}: the structure is not that of the function's`);
      }
      return rebuilt<W>(wanted(), adopted(linear.times(numbers(list))));
    };
    return [rebuilt<Y>(called.output, adopted(linear.value())), times];
  });
}

/**
 * The value of a function, and the function that multiplies the transpose of its Jacobian J by a vector: g ↦ Jᵀ g.
 *
 * ```ts
 * const [y, pullBack] = vjp((x: Tensor) => x.mul(x), x);
 * const gradient = pullBack(y.onesLike());
 * ```
 */
export function vjp<X extends Tensors, Y extends Tensors>(f: (x: X) => Y, x: X): [Y, (g: Y) => X] {
  const called = new Called("vjp", f, x);
  return derivative(
    called,
    true,
    () => called.output,
    () => x,
  );
}

/** The value of a function, and its linear approximation: v ↦ J v. The function runs once, however often its approximation is asked. */
export function linearize<X extends Tensors, Y extends Tensors>(f: (x: X) => Y, x: X): [Y, (v: X) => Y] {
  const called = new Called("linearize", f, x);
  return derivative(
    called,
    false,
    () => x,
    () => called.output,
  );
}

/** The value of a function, and its Jacobian times a vector: how f(x) changes when x moves along `v`. */
export function jvp<X extends Tensors, Y extends Tensors>(f: (x: X) => Y, x: X, v: X): [Y, Y] {
  return scope(() => {
    const called = new Called("jvp", f, x);
    const next = called.run("jvp", listed("jvp", v));
    return [rebuilt<Y>(called.output, next), rebuilt<Y>(called.output, next)];
  });
}

function jacobian(kind: "jacrev" | "jacfwd") {
  return <X extends Tensors, Y extends Tensors, R extends unknown[]>(f: (x: X, ...rest: R) => Y) =>
    (x: X, ...rest: R): Each<Y, X> =>
      scope(() => {
        const called = new Called(kind, (x: X) => f(x, ...rest), x);
        const next = called.run(kind);
        return rebuilt<Each<Y, X>>(called.output, () => rebuilt(x, next));
      });
}

/**
 * The Jacobian of a function by reverse mode: one backward pass for all elements of the output, batched. Right where outputs have
 * fewer elements than inputs. For a tensor y of a tensor x it is a tensor of y's shape followed by x's; else it has the
 * output's structure, and the input's in place of each of its tensors.
 */
export const jacrev: <X extends Tensors, Y extends Tensors, R extends unknown[]>(
  f: (x: X, ...rest: R) => Y,
) => (x: X, ...rest: R) => Each<Y, X> = jacobian("jacrev");

/** The Jacobian of a function by forward mode: right where inputs have fewer elements than outputs. It looks as that of `jacrev`. */
export const jacfwd: <X extends Tensors, Y extends Tensors, R extends unknown[]>(
  f: (x: X, ...rest: R) => Y,
) => (x: X, ...rest: R) => Each<Y, X> = jacobian("jacfwd");

/** The Hessian of a function that returns a number: the second derivatives, forward over reverse. */
export function hessian<X extends Tensors, R extends unknown[]>(
  f: (x: X, ...rest: R) => Tensor,
): (x: X, ...rest: R) => Each<X, X> {
  return (x, ...rest) =>
    scope(() => {
      const next = new Called("hessian", (x: X) => f(x, ...rest), x).run("hessian");
      return rebuilt<Each<X, X>>(x, () => rebuilt(x, next));
    });
}

/**
 * A function of one sample for a batch of them: it runs once, for one sample, and what it did is done for all along a new dimension.
 * Derivatives flow through the results, and may be taken inside. The function sees tensors without numbers: reading one is an
 * error. Numbers, texts and functions among the arguments are handed on.
 *
 * ```ts
 * const ofEach = vmap(grad((w: Tensor, x: Tensor) => w.mul(x).sum()), { inDims: [null, 0] });
 * ```
 */
export function vmap<A extends unknown[], Y extends Tensors>(f: (...args: A) => Y, options: VmapOptions = {}): (...args: A) => Y {
  const { inDims = 0, outDims = 0, randomness = "error" } = options;
  const dimOf = (dims: Dim | readonly Dim[], at: number): Dim => (isList(dims) ? (dims[at] ?? null) : dims);
  const moved = (tensors: unknown, from: number, to: number): unknown => {
    const list = listed("vmap", tensors).map((tensor) => (from === to ? tensor : tensor.movedim(from, to)));
    return rebuilt<unknown>(tensors, queue(list));
  };
  return (...args) => {
    if (isList(inDims) && inDims.length !== args.length) {
      throw new RangeError(`flambeau: vmap: inDims has ${inDims.length} entries for ${args.length} arguments`);
    }
    const isBatch = (at: number) => typeof args[at] === "object" && dimOf(inDims, at) !== null;
    const places = args.map((_, at) => at).filter(isBatch);
    return scope(() => {
      const batches = places.map((at) => moved(args[at], dimOf(inDims, at) ?? 0, 0));
      const ofSample = (samples: unknown[]) =>
        f(...(args.map((arg, at) => (isBatch(at) ? samples[places.indexOf(at)] : arg)) as A));
      const called = new Called<unknown[], unknown>("vmap", ofSample, batches);
      const next = called.run(`vmap_${randomness}`);
      const results = rebuilt<unknown>(called.output, next);
      return (
        isList(outDims) && Array.isArray(results)
          ? results.map((result: unknown, at: number) => moved(result, 0, outDims[at] ?? 0))
          : moved(results, 0, dimOf(outDims, 0) ?? 0)
      ) as Y;
    });
  };
}

/** The values of a module's parameters under their names: what a function of them takes. */
export function parameters(module: Module): Record<string, Tensor> {
  return Object.fromEntries(module.namedParameters().map(([name, parameter]) => [name, parameter.value()]));
}

/**
 * Calls a function in which a module has other parameters and buffers than its own, those that are named; afterwards it is as it was. So a
 * module is a function of its parameters, for `grad`, `vmap` and the others: here the gradients of every sample.
 *
 * ```ts
 * const loss = (p: Record<string, Tensor>, x: Tensor, y: Tensor) => functionalCall(net, p, () => net.forward(x)).mseLoss(y);
 * const ofEach = vmap(grad(loss), { inDims: [null, 0, 0] })(parameters(net), xs, ys);
 * ```
 */
export function functionalCall<Y extends Tensors>(module: Module, values: Readonly<Record<string, Tensor>>, f: () => Y): Y {
  const slots = [...module.namedParameters(), ...module.namedBuffers()];
  const unknown = Object.keys(values).find((name) => !slots.some(([known]) => known === name));
  if (unknown !== undefined) throw new Error(`flambeau: functionalCall: the module has no parameter or buffer ${unknown}`);
  return scope(() => {
    const called = new Called("functionalCall", f, []);
    const numbers = Uint32Array.from(slots, ([, { slot }]) => slot);
    const handles = Uint32Array.from(slots, ([name]) => values[name]?.handle ?? 0);
    const made = adopted(wasm().func_call(called.call, numbers, handles));
    return rebuilt<Y>(called.output, made);
  });
}
