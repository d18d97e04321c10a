/** When handles end: by hand, with a scope, or when the collector finds them. */

import { wasm } from "./wasm.js";

/** Something that holds a tensor in the module. */
export interface Disposable {
  dispose(): void;
}

/** Handles whose tensor the next step would still compute: freed only after it, so that the collector cannot change
 * the step's plan. */
let deferred: number[] = [];
const MOST_DEFERRED = 256;

const collected = new FinalizationRegistry<number>((handle) => {
  if (!wasm().tensor_counts(handle)) {
    wasm().tensor_release(handle);
    return;
  }
  deferred.push(handle);
  if (deferred.length >= MOST_DEFERRED) releaseDeferred();
});

/** Frees what the collector found while a step was being built. */
export function releaseDeferred(): void {
  if (deferred.length === 0) return;
  for (const handle of deferred) wasm().tensor_release(handle);
  deferred = [];
}

const scopes: Set<Disposable>[] = [];

/** Notes a new handle. */
export function opened(owner: Disposable, handle: number): void {
  collected.register(owner, handle, owner);
  scopes.at(-1)?.add(owner);
}

/** Notes that a handle has been disposed of. */
export function closed(owner: Disposable): void {
  collected.unregister(owner);
  for (const scope of scopes) scope.delete(owner);
}

/** Takes a handle out of the scopes it is in. */
export function leaveScopes(owner: Disposable): void {
  for (const scope of scopes) scope.delete(owner);
}

/** Takes what a scope returns out of it; the scope around it has it from then on. */
function hand(result: unknown, scope: Set<Disposable>, outer: Set<Disposable> | undefined): void {
  if (typeof result !== "object" || result === null) return;
  if (scope.has(result as Disposable)) {
    scope.delete(result as Disposable);
    outer?.add(result as Disposable);
    return;
  }
  if (Array.isArray(result) || Object.getPrototypeOf(result) === Object.prototype) {
    for (const value of Object.values(result)) hand(value, scope, outer);
  }
}

/**
 * Runs a function and disposes of every tensor made in it, except those it returns (alone, in a list or in an object)
 * and those that were kept.
 *
 * ```ts
 * const mean = scope(() => x.sub(x.mean()).square().mean());
 * ```
 */
export function scope<T>(body: () => T): T {
  const own = new Set<Disposable>();
  scopes.push(own);
  try {
    const result = body();
    if (result instanceof Promise) {
      throw new TypeError("flambeau: a scope cannot wait; await outside of it");
    }
    hand(result, own, scopes.at(-2));
    return result;
  } finally {
    scopes.pop();
    for (const tensor of [...own]) tensor.dispose();
  }
}
