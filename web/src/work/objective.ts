/** What training makes small, and what it counts: classes by cross entropy, a number by its squared error. */

import { correct, type Tensor } from "flambeau";

interface Outcome {
  loss: Tensor;
  count: number;
  metrics: { accuracy: Tensor };
}

/**
 * Of a batch's outputs and labels: bytes are classes, floats a number with mean 0 and deviation 1. The accuracy of a number is R²,
 * the share of its variation that is explained: 1 minus the mean squared error, as the variance is 1.
 */
export function outcomeOf(outputs: Tensor, y: Tensor): Outcome {
  const count = y.shape[0] ?? 0;
  if (y.dtype !== "f32") {
    const labels = y.toDtype("i32");
    return { loss: outputs.crossEntropy(labels), count, metrics: { accuracy: correct(outputs, labels) } };
  }
  const loss = outputs.reshape([count]).mseLoss(y);
  return { loss, count, metrics: { accuracy: loss.detach().neg().add(1).mul(count) } };
}
