import { train_mnist } from "flambeau";
import { assert, test } from "../harness.js";

/** Steps where the long tests do not run in full, and what they must reach. */
const SHORT = { max_steps: 100, accuracy: 0.8 };

test("MNIST: a perceptron reads the 10,000 test pictures: over 95 % after an epoch, over 80 % after 100 steps", async ({
  file,
  note,
  thorough,
}) => {
  const folder = "data/mnist";
  const [trainImages, trainLabels, testImages, testLabels] = await Promise.all([
    file(`${folder}/train-images-idx3-ubyte.gz`),
    file(`${folder}/train-labels-idx1-ubyte.gz`),
    file(`${folder}/t10k-images-idx3-ubyte.gz`),
    file(`${folder}/t10k-labels-idx1-ubyte.gz`),
  ]);
  const { accuracy, seconds } = await train_mnist({
    epochs: 1,
    batch_size: 32,
    ...(thorough ? {} : { max_steps: SHORT.max_steps }),
    data: { trainImages, trainLabels, testImages, testLabels },
  });
  note(`${(100 * accuracy).toFixed(2)} % after ${thorough ? "one epoch" : `${SHORT.max_steps} steps`}, ${seconds.toFixed(1)} s`);
  const least = thorough ? 0.95 : SHORT.accuracy;
  assert(accuracy > least, `${accuracy} is not over ${least}`);
});
