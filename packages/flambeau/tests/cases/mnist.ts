import { train_mnist } from "flambeau";
import { assert, test } from "../harness.js";

test("MNIST: a perceptron reads over 95 % of the 10,000 test pictures", async ({ file, note }) => {
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
    data: { trainImages, trainLabels, testImages, testLabels },
  });
  note(`${(100 * accuracy).toFixed(2)} % after one epoch, ${seconds.toFixed(1)} s`);
  assert(accuracy > 0.95, `${accuracy} is not over 0.95`);
});
