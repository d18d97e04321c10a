import { currentDevice, get_gpu_info, init, matmul_cpu, matmul_gpu, tensor, train_mnist, useDevice } from "flambeau";
import { assert, equal, near, test, throws } from "../harness.js";

/** Steps on software adapters where the long tests do not run in full, and what they must reach. */
const SHORT = { max_steps: 100, accuracy: 0.8 };

test("MNIST: a perceptron reads the 10,000 test pictures: over 95 % after an epoch, over 80 % after 100 steps", async ({
  file,
  gpu,
  note,
  thorough,
}) => {
  const whole = thorough || !gpu;
  const folder = "data/mnist";
  const [trainImages, trainLabels, testImages, testLabels] = await Promise.all([
    file(`${folder}/train-images-idx3-ubyte.gz`),
    file(`${folder}/train-labels-idx1-ubyte.gz`),
    file(`${folder}/t10k-images-idx3-ubyte.gz`),
    file(`${folder}/t10k-labels-idx1-ubyte.gz`),
  ]);
  const told: { epoch: number; loss: number; step: number }[] = [];
  const { model, accuracy, loss, seconds } = await train_mnist({
    epochs: 1,
    batch_size: 32,
    ...(whole ? {} : { max_steps: SHORT.max_steps }),
    onProgress: (epoch, mean, { step }) => told.push({ epoch, loss: mean, step }),
    data: { trainImages, trainLabels, testImages, testLabels },
  });
  note(`${(100 * accuracy).toFixed(2)} % after ${whole ? "one epoch" : `${SHORT.max_steps} steps`}, ${seconds.toFixed(1)} s`);
  const least = whole ? 0.95 : SHORT.accuracy;
  assert(accuracy > least, `${accuracy} is not over ${least}`);
  const [first, last] = [told[0], told.at(-1)];
  assert(first !== undefined && last !== undefined, "progress was told");
  equal([first.epoch, first.step], [0, 50]);
  assert(last.loss < first.loss, `the loss went from ${first.loss} to ${last.loss}`);
  assert(loss < first.loss, `the test's loss is ${loss}`);
  // The network that is given back is the trained one: of ten rows it scores, each has ten numbers, and none is as it began.
  equal(model.forward(tensor(new Float32Array(7840), { shape: [10, 784] })).shape, [10, 10]);
});

test("the short forms say where they compute, and matmul_gpu computes nowhere else", async ({ gpu }) => {
  const [a, b] = [Float32Array.of(1, 2, 3, 4), Float32Array.of(5, 6, 7, 8)];
  const product = [19, 22, 43, 50];
  near(Array.from(await matmul_cpu(a, b, 2)), product);
  const { type, backend, vendor, name, driver } = get_gpu_info();
  equal([type, backend], gpu ? ["gpu", "webgpu"] : ["cpu", "cpu"]);
  equal([typeof vendor, typeof name, typeof driver], ["string", "string", "string"]);
  if (gpu) near(Array.from(await matmul_gpu(a, b, 2)), product);
  const before = currentDevice();
  await init({ device: "cpu" });
  try {
    await throws(() => matmul_gpu(a, b, 2), "needs a GPU");
  } finally {
    useDevice(before);
  }
});
