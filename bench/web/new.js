// What is new to a process: three networks, as each contender writes them. A contender opens its device, and gives a function that
// takes one training step with so many samples: it calls `described` when the step has been described, and ends with the loss.

const CLASSES = 10;

/** Input shape without the batch, channels first, and the usual batch. */
export const NETS = {
  mlp: { input: [784], batch: 32 },
  cnn: { input: [1, 28, 28], batch: 32 },
  eight: { input: [3, 32, 32], batch: 64 },
};

/** The channels of the eight convolutions; each has a batch norm, and each second one a pooling. */
const CHANNELS = [3, 64, 64, 128, 128, 256, 256, 512, 512];

export async function flambeau(name, { gpu, device, moments }) {
  const { init, nn, optim, rand, zeros } = await import("flambeau");
  const block = (place) => {
    const [from, to] = CHANNELS.slice(place, place + 2);
    const layers = [nn.conv2d(from, to, 3, { padding: 1, bias: false }), nn.batchNorm2d(to), nn.relu()];
    return place % 2 === 1 ? [...layers, nn.maxPool2d(2)] : layers;
  };
  const nets = {
    mlp: () => [nn.linear(784, 128), nn.relu(), nn.linear(128, CLASSES)],
    cnn: () => [
      ...[nn.conv2d(1, 32, 3), nn.relu(), nn.maxPool2d(2), nn.conv2d(32, 64, 3), nn.relu(), nn.maxPool2d(2)],
      ...[nn.flatten(), nn.linear(1600, 128), nn.relu(), nn.linear(128, CLASSES)],
    ],
    eight: () => [...CHANNELS.slice(1).flatMap((_, place) => block(place)), nn.flatten(), nn.linear(512 * 2 * 2, CLASSES)],
  };
  moments.start();
  await init({ device, gpu, onProgress: (message) => message.startsWith("looking") && moments.loaded() });
  moments.opened();
  const net = nn.sequential(...nets[name]());
  const optimizer = optim.adam(net.parameters(), { lr: 1e-3 });
  return async (samples, described) => {
    const [x, y] = [rand([samples, ...NETS[name].input]).eval(), zeros([samples], "i32").eval()];
    moments.step();
    const loss = net.forward(x).crossEntropy(y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    described();
    return loss.item();
  };
}

export async function tensorflow(name, { moments }) {
  const tf = await import("@tensorflow/tfjs");
  await import("@tensorflow/tfjs-backend-webgpu");
  const { conv2d, dense, flatten, maxPooling2d, batchNormalization, reLU } = tf.layers;
  const nets = {
    mlp: () => [dense({ inputShape: [784], units: 128, activation: "relu" }), dense({ units: CLASSES })],
    cnn: () => [
      conv2d({ inputShape: [28, 28, 1], filters: 32, kernelSize: 3, activation: "relu" }),
      maxPooling2d({ poolSize: 2 }),
      conv2d({ filters: 64, kernelSize: 3, activation: "relu" }),
      maxPooling2d({ poolSize: 2 }),
      flatten(),
      dense({ units: 128, activation: "relu" }),
      dense({ units: CLASSES }),
    ],
    eight: () => [
      ...CHANNELS.slice(1).flatMap((filters, place) => [
        conv2d({ ...(place === 0 && { inputShape: [32, 32, 3] }), filters, kernelSize: 3, padding: "same", useBias: false }),
        batchNormalization(),
        reLU(),
        ...(place % 2 === 1 ? [maxPooling2d({ poolSize: 2 })] : []),
      ]),
      flatten(),
      dense({ units: CLASSES }),
    ],
  };
  moments.start();
  await tf.setBackend("webgpu");
  await tf.ready();
  moments.opened();
  const net = tf.sequential({ layers: nets[name]() });
  const optimizer = tf.train.adam(1e-3);
  const [channels, ...size] = NETS[name].input;
  const input = size.length === 0 ? [channels] : [...size, channels];
  return async (samples, described) => {
    const x = tf.randomUniform([samples, ...input]);
    const y = tf.oneHot(tf.zeros([samples], "int32"), CLASSES);
    moments.step();
    const loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(y, net.apply(x, { training: true })), true);
    described();
    return (await loss.data())[0];
  };
}

export async function jaxjs(name, { moments }) {
  const { init, defaultDevice, numpy: np, valueAndGrad, jit, lax, nn, random, tree } = await import("@jax-js/jax");
  const dense = (x, w, b) => np.matmul(x, w).add(b);
  const pool = (x) => lax.reduceWindow(x, (window) => np.max(window), [2, 2], [2, 2]);
  const conv = (x, w, b) => pool(nn.relu(lax.conv(x, w, [1, 1], "VALID").add(b)));
  // A batch norm over images and positions; running statistics, which training does not read, are left out.
  const norm = (x, scale, shift) => nn.standardize(x, [0, 2, 3]).mul(scale).add(shift);
  const places = CHANNELS.slice(1).map((_, place) => place);
  const nets = {
    mlp: {
      shapes: { w1: [784, 128], b1: [128], w2: [128, CLASSES], b2: [CLASSES] },
      logits: (p, x) => dense(nn.relu(dense(x, p.w1, p.b1)), p.w2, p.b2),
    },
    cnn: {
      shapes: {
        ...{ k1: [32, 1, 3, 3], c1: [32, 1, 1], k2: [64, 32, 3, 3], c2: [64, 1, 1] },
        ...{ w1: [1600, 128], b1: [128], w2: [128, CLASSES], b2: [CLASSES] },
      },
      logits: (p, x) => {
        const seen = conv(conv(x, p.k1, p.c1), p.k2, p.c2);
        return dense(nn.relu(dense(seen.reshape([seen.shape[0], 1600]), p.w1, p.b1)), p.w2, p.b2);
      },
    },
    eight: {
      shapes: {
        ...Object.fromEntries(
          places.flatMap((place) => {
            const [from, to] = CHANNELS.slice(place, place + 2);
            return [
              [`k${place}`, [to, from, 3, 3]],
              [`s${place}`, [to, 1, 1]],
              [`t${place}`, [to, 1, 1]],
            ];
          }),
        ),
        ...{ w: [512 * 2 * 2, CLASSES], b: [CLASSES] },
      },
      logits: (p, x) => {
        const block = (x, place) => {
          const made = norm(lax.conv(x, p[`k${place}`], [1, 1], "SAME"), p[`s${place}`], p[`t${place}`]);
          return place % 2 === 1 ? pool(nn.relu(made)) : nn.relu(made);
        };
        const seen = places.reduce(block, x);
        return dense(seen.reshape([seen.shape[0], 512 * 2 * 2]), p.w, p.b);
      },
    },
  };
  const { shapes, logits } = nets[name];
  moments.start();
  await init();
  defaultDevice("webgpu");
  moments.opened();
  const keys = Object.keys(shapes);
  const made = (make) => Object.fromEntries(keys.map((key, place) => [key, make(shapes[key], place)]));
  let p = made((shape, place) => random.uniform(random.key(place), shape).mul(0.05));
  let [m, v] = [made((shape) => np.zeros(shape)), made((shape) => np.zeros(shape))];
  const lossOf = (p, x, y) => np.mean(np.sum(nn.logSoftmax(logits(p, x), -1).mul(y), -1)).mul(-1);
  const update = jit((p, m, v, x, y) => {
    const [loss, grads] = valueAndGrad(lossOf)(tree.ref(p), x, y);
    const next = [{}, {}, {}];
    for (const key of keys) {
      const mean = m[key].mul(0.9).add(grads[key].ref.mul(0.1));
      const square = v[key].mul(0.999).add(grads[key].ref.mul(grads[key]).mul(0.001));
      next[1][key] = mean.ref;
      next[2][key] = square.ref;
      next[0][key] = p[key].sub(mean.mul(1e-3).div(np.sqrt(square).add(1e-8)));
    }
    return [...next, loss];
  });
  return async (samples, described) => {
    const x = random.uniform(random.key(5), [samples, ...NETS[name].input]);
    const y = nn.oneHot(np.zeros([samples], { dtype: np.int32 }), CLASSES);
    moments.step();
    let loss;
    [p, m, v, loss] = update(p, m, v, x, y);
    described();
    return (await loss.data())[0];
  };
}
