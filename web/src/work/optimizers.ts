/** The optimizers that one can choose: the library's, and SGD with momentum. */

import { OPTIMIZERS } from "./generated/catalogue.js";

type LibraryName = keyof typeof OPTIMIZERS;
export type OptimizerName = LibraryName | "momentum";

const library = Object.keys(OPTIMIZERS) as LibraryName[];

/** Their names, those that are used most first. */
export const OPTIMIZER_NAMES: readonly OptimizerName[] = [
  ...new Set<OptimizerName>(["adam", "adamw", "sgd", "momentum", ...library]),
];

/** What the one of a name is called. */
export const titleOf = (name: OptimizerName) => (name === "momentum" ? "SGD with momentum" : OPTIMIZERS[name][0]);
