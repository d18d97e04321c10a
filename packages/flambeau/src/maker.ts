/** How ops make tensors without importing them: tensors have the ops, so the class comes later. */

import type { Tensor } from "./tensor.js";

let make: ((handle: number) => Tensor) | undefined;

/** Told by the class. */
export function setMaker(maker: (handle: number) => Tensor): void {
  make = maker;
}

/** Makes a tensor of a number the module gave. */
export function adopt(handle: number): Tensor {
  if (make === undefined) throw new Error("flambeau: the class of tensors has not been loaded");
  return make(handle);
}
