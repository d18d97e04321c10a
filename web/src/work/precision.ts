/** Mixed precision: where it can be had, and where not. */

import { canHaveF16, type Offer, type Used } from "../app/device.js";
import { type OptimizerName, titleOf } from "./optimizers.js";

/** Optimizers whose formulas need the number of the step on the host, which only the device knows where steps may be skipped. */
const COUNTING: readonly OptimizerName[] = ["nadam", "radam"];

/** Why a run cannot be in mixed precision; undefined if it can. */
export function ampProblem(used: Used, offer: Offer, optimizer: OptimizerName): string | undefined {
  if (!canHaveF16(used, offer)) return `Needs numbers of 16 bits: the adapter (${offer.about}) lacks shader-f16`;
  if (COUNTING.includes(optimizer)) return `${titleOf(optimizer)} cannot skip steps: choose another optimizer`;
  return undefined;
}
