/** Makes the optimizer that was chosen, in a worker. */

import { type nn, optim } from "flambeau";
import { OPTIMIZERS } from "./generated/catalogue.js";
import type { OptimizerName } from "./optimizers.js";

/** The optimizer of these parameters; what is not given is the library's default. */
export function makeOptimizer(
  name: OptimizerName,
  parameters: readonly nn.Parameter[],
  options: { lr: number; weightDecay?: number },
): optim.Optimizer {
  if (name === "momentum") return optim.sgd(parameters, { ...options, momentum: 0.9 });
  return optim[OPTIMIZERS[name][1]](parameters, options);
}
