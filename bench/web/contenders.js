// The contenders: each opens its device, and gives a function that takes steps and ends with the loss's value.

const [BATCH, INPUTS, HIDDEN, CLASSES] = [32, 784, 128, 10];
const WARM_UP = 3000; // milliseconds
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

/** Microseconds per step, and milliseconds until the device is open and until the first loss. */
async function measure(open, steps, rounds = 5) {
  const start = performance.now();
  let init;
  const train = await open(() => (init = performance.now() - start));
  const loss = await train(1);
  const first = performance.now() - start;
  // Engines compile what runs often anew, and better, for a while.
  for (const from = performance.now(); performance.now() - from < WARM_UP; ) await train(steps);
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const from = performance.now();
    await train(steps);
    times.push((1000 * (performance.now() - from)) / steps);
  }
  return { step: median(times), init, first, loss };
}

export async function flambeau(steps, options) {
  const { init, nn, optim, rand, zeros } = await import("flambeau");
  return measure(async (opened) => {
    const device = await init(options);
    opened();
    const net = nn.sequential(nn.linear(INPUTS, HIDDEN), nn.relu(), nn.linear(HIDDEN, CLASSES));
    const optimizer = optim.adam(net.parameters(), { lr: 1e-3 });
    const [x, y] = [rand([BATCH, INPUTS]).keep().eval(), zeros([BATCH], "i32").keep().eval()];
    return async (count) => {
      let loss;
      for (let step = 0; step < count; step += 1) {
        await device.throttle();
        loss?.dispose();
        loss = net.forward(x).crossEntropy(y);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
      }
      return loss.item();
    };
  }, steps);
}

export async function tensorflow(steps) {
  const tf = await import("@tensorflow/tfjs");
  await import("@tensorflow/tfjs-backend-webgpu");
  return measure(async (opened) => {
    await tf.setBackend("webgpu");
    await tf.ready();
    opened();
    const net = tf.sequential();
    net.add(tf.layers.dense({ inputShape: [INPUTS], units: HIDDEN, activation: "relu" }));
    net.add(tf.layers.dense({ units: CLASSES }));
    const optimizer = tf.train.adam(1e-3);
    const x = tf.randomUniform([BATCH, INPUTS]);
    const y = tf.oneHot(tf.zeros([BATCH], "int32"), CLASSES);
    return async (count) => {
      let loss;
      for (let step = 0; step < count; step += 1) {
        loss?.dispose();
        loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(y, net.apply(x, { training: true })), true);
      }
      return (await loss.data())[0];
    };
  }, steps);
}

export async function jaxjs(steps) {
  const { init, defaultDevice, numpy: np, valueAndGrad, jit, nn, random, tree } = await import("@jax-js/jax");
  return measure(async (opened) => {
    await init();
    defaultDevice("webgpu");
    opened();
    let p = {
      w1: random.uniform(random.key(3), [INPUTS, HIDDEN]).mul(0.03),
      b1: np.zeros([HIDDEN]),
      w2: random.uniform(random.key(4), [HIDDEN, CLASSES]).mul(0.08),
      b2: np.zeros([CLASSES]),
    };
    const x = random.uniform(random.key(5), [BATCH, INPUTS]);
    const y = nn.oneHot(np.zeros([BATCH], { dtype: np.int32 }), CLASSES);
    const lossOf = (p, x, y) => {
      const hidden = nn.relu(np.matmul(x, p.w1).add(p.b1));
      const logits = np.matmul(hidden, p.w2).add(p.b2);
      return np.mean(np.sum(nn.logSoftmax(logits, -1).mul(y), -1)).mul(-1);
    };
    const update = jit((p, m, v, x, y) => {
      const [loss, grads] = valueAndGrad(lossOf)(tree.ref(p), x, y);
      const [np_, nm, nv] = [{}, {}, {}];
      for (const key of ["w1", "b1", "w2", "b2"]) {
        const grad = grads[key];
        const mean = m[key].mul(0.9).add(grad.ref.mul(0.1));
        const square = v[key].mul(0.999).add(grad.ref.mul(grad).mul(0.001));
        nm[key] = mean.ref;
        nv[key] = square.ref;
        np_[key] = p[key].sub(mean.mul(1e-3).div(np.sqrt(square).add(1e-8)));
      }
      return [np_, nm, nv, loss];
    });
    let [m, v] = [{}, {}];
    for (const key in p) {
      m[key] = np.zerosLike(p[key].ref);
      v[key] = np.zerosLike(p[key].ref);
    }
    return async (count) => {
      let loss;
      for (let step = 0; step < count; step += 1) {
        loss?.dispose?.();
        [p, m, v, loss] = update(p, m, v, x.ref, y.ref);
      }
      const value = await loss.ref.data();
      loss.dispose();
      return value[0];
    };
  }, steps);
}

/** Runs all, and tells a line for each. */
export async function compare({ steps, options, tell }) {
  for (const [name, run] of [
    ["Flambeau", flambeau],
    ["TensorFlow.js", tensorflow],
    ["jax-js", jaxjs],
  ]) {
    try {
      const { step, init, first, loss } = await run(steps, options);
      tell(
        `${name.padEnd(14)} ${step.toFixed(0).padStart(8)} µs a step   device open after ${init.toFixed(0).padStart(5)} ms, first loss after ${first.toFixed(0).padStart(6)} ms   loss ${loss.toFixed(4)}`,
      );
    } catch (error) {
      tell(`${name.padEnd(14)} failed: ${error?.stack ?? error}`);
    }
  }
}
