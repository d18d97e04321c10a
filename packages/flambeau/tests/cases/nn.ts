import {
  cat,
  data,
  io,
  manualSeed,
  memory,
  nn,
  optim,
  ones,
  randn,
  stats,
  tensor,
  type Tensor,
  zeros,
  DataLoader,
  Trainer,
  correct,
} from "flambeau";
import { assert, equal, near, test, throws } from "../harness.js";

test("a linear layer has PyTorch's names, and computes x Wᵀ + b", async () => {
  const layer = nn.linear(3, 2);
  equal(
    layer.namedParameters().map(([name]) => name),
    ["weight", "bias"],
  );
  layer.parameter("weight").set(
    tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]),
  );
  layer.parameter("bias").set(tensor([10, 20]));
  near(await layer.forward(tensor([[1, 1, 1]])).array(), [[16, 35]]);
  equal(layer.summary(), "Linear(in_features=3, out_features=2, bias=True)");
  await throws(() => layer.forward(zeros([1, 4])), "must end in 3 features");
  await throws(() => nn.linear(-1, 2), "not negative");
  await throws(() => nn.linear(2, 2, { bias: 3 as unknown as boolean }), "true or false");
});

class Residual extends nn.Module {
  first = nn.linear(4, 4);
  second = nn.sequential(nn.linear(4, 4), nn.relu());
  scale = nn.parameter(ones([1]));

  forward(x: Tensor): Tensor {
    return x.add(this.second.forward(this.first.forward(x)).mul(this.scale.get()));
  }
}

test("modules written as classes", async () => {
  const net = new Residual();
  equal(
    net.namedParameters().map(([name]) => name),
    ["first.weight", "first.bias", "second.0.weight", "second.0.bias", "scale"],
  );
  equal(net.parameterCount(), 41);
  net
    .forward(ones([2, 4]))
    .sum()
    .backward();
  assert(
    net.parameters().every((parameter) => parameter.grad !== undefined),
    "every parameter has a gradient",
  );
  const other = new Residual();
  other.loadStateDict(net.stateDict());
  near(await other.forward(ones([1, 4])).array(), await net.forward(ones([1, 4])).array());
  await throws(() => other.loadStateDict({ nonsense: zeros([1]) }), "unexpected: nonsense");
});

test("every kind of layer can be made and called", async () => {
  const picture = randn([2, 4, 8, 8]);
  const plain: [nn.Layer, Tensor, number[]][] = [
    [nn.conv2d(4, 6, 3, { padding: 1 }), picture, [2, 6, 8, 8]],
    [nn.conv2d(4, 6, 3, { padding: "same" }), picture, [2, 6, 8, 8]],
    [nn.conv1d(4, 6, 3), randn([2, 4, 8]), [2, 6, 6]],
    [nn.convTranspose2d(4, 3, 2, { stride: 2 }), picture, [2, 3, 16, 16]],
    [nn.maxPool2d(2), picture, [2, 4, 4, 4]],
    [nn.avgPool2d(2, { stride: 1 }), picture, [2, 4, 7, 7]],
    [nn.adaptiveAvgPool2d([1, 1]), picture, [2, 4, 1, 1]],
    [nn.batchNorm2d(4), picture, [2, 4, 8, 8]],
    [nn.instanceNorm2d(4), picture, [2, 4, 8, 8]],
    [nn.groupNorm(2, 4), picture, [2, 4, 8, 8]],
    [nn.layerNorm([8, 8]), picture, [2, 4, 8, 8]],
    [nn.rmsNorm(8), picture, [2, 4, 8, 8]],
    [nn.dropout(), picture, [2, 4, 8, 8]],
    [nn.embedding(10, 5), tensor([[1, 2]], { dtype: "i32" }), [1, 2, 5]],
    [nn.flatten(), picture, [2, 256]],
    [nn.gelu(), picture, [2, 4, 8, 8]],
    [nn.softmax(1), picture, [2, 4, 8, 8]],
    [nn.prelu(), picture, [2, 4, 8, 8]],
    [nn.zeroPad2d(1), picture, [2, 4, 10, 10]],
    [nn.upsample({ factor: [2, 2], mode: "bilinear" }), picture, [2, 4, 16, 16]],
    [nn.pixelShuffle(2), picture, [2, 1, 16, 16]],
    [nn.cnn(), randn([2, 1, 28, 28]), [2, 10]],
  ];
  for (const [layer, input, shape] of plain) equal(layer.forward(input).shape, shape);
  const [outputs, [hidden, cell]] = nn.lstm(3, 5, { batchFirst: true }).forward(randn([2, 4, 3]));
  equal(
    [outputs.shape, hidden.shape, cell.shape],
    [
      [2, 4, 5],
      [1, 2, 5],
      [1, 2, 5],
    ],
  );
  equal(nn.gru(3, 5).forward(randn([4, 2, 3]))[0].shape, [4, 2, 5]);
  equal(
    nn.multiheadAttention(8, 2).forward(randn([5, 3, 8]), randn([5, 3, 8]), randn([5, 3, 8]), { causal: true }).shape,
    [5, 3, 8],
  );
  equal(nn.transformerEncoder(8, 2, { layers: 2, feedForward: 16 }).forward(randn([5, 3, 8])).shape, [5, 3, 8]);
  equal(
    nn.transformer(8, 2, { encoderLayers: 1, decoderLayers: 1, feedForward: 16 }).forward(randn([5, 3, 8]), randn([4, 3, 8]))
      .shape,
    [4, 3, 8],
  );
  equal(nn.bilinear(3, 4, 2).forward(randn([5, 3]), randn([5, 4])).shape, [5, 2]);
  near(
    await nn
      .relu()
      .forward(tensor([-1, 2]))
      .array(),
    [0, 2],
  );
});

test("losses", async () => {
  const [logits, labels] = [
    tensor([
      [2, 1],
      [0, 3],
    ]),
    tensor([0, 1], { dtype: "i32" }),
  ];
  near(await logits.crossEntropy(labels).item(), 0.18092465);
  near(await logits.crossEntropy(labels, undefined, -100, "sum").item(), 0.3618493);
  near(
    await tensor([1, 2])
      .mseLoss(tensor([0, 0]))
      .item(),
    2.5,
  );
  near(
    await tensor([1, 2])
      .huberLoss(tensor([0, 0]))
      .item(),
    1,
  );
  await throws(() => logits.crossEntropy(labels, undefined, -100, "middle" as "mean"), "none of mean, sum, none");
});

test("an optimizer that requires finite numbers moves nothing where there is a NaN", async () => {
  const w = nn.parameter(tensor([1, 2]));
  const optimizer = optim.sgd([w], { lr: 0.5 }).requireFinite();
  const step = async (factor: number[]): Promise<number> => {
    optimizer.zeroGrad();
    const loss = w.get().mul(tensor(factor)).sum();
    loss.backward();
    optimizer.step();
    return loss.item();
  };
  equal(await step([1, 1]), 3);
  await throws(() => step([1, NaN]), "gradient of parameter 0 is not finite at element 1");
  near(await w.value().sum().item(), 2);
  equal(await step([1, 1]), 2);
  near(await w.value().sum().item(), 1);
});

test("every optimizer lowers a loss, and its rate can be changed without a new plan", async () => {
  const makers = [
    optim.sgd,
    optim.adam,
    optim.adamW,
    optim.adadelta,
    optim.adagrad,
    optim.adamax,
    optim.lion,
    optim.nadam,
    optim.radam,
    optim.rmsprop,
  ];
  for (const make of makers) {
    const w = nn.parameter(tensor([1, -2]));
    const optimizer = make([w], { lr: 0.05 });
    const losses: number[] = [];
    let plans = 0;
    for (let step = 0; step < 8; step += 1) {
      const loss = w.get().square().sum();
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      losses.push(await loss.item());
      optimizer.lr = 0.04;
      if (step === 3) plans = stats().planMisses;
    }
    assert((losses.at(-1) ?? 0) < (losses[0] ?? 0), `${make.name}: ${losses.join(", ")}`);
    equal(stats().planMisses, plans);
  }
  await throws(() => optim.adam([nn.parameter(zeros([1]))], { lr: -1 }), "must not be negative");
  await throws(() => optim.sgd([nn.parameter(zeros([1]))], { betas: 1 } as object), "there is no option betas");
});

test("lbfgs finds the minimum of a parabola", async () => {
  const w = nn.parameter(tensor([3, -1]));
  const optimizer = optim.lbfgs([w], { lineSearch: "strong_wolfe" });
  await optimizer.step(() => {
    w.grad = undefined;
    const loss = w
      .get()
      .sub(tensor([1, 2]))
      .square()
      .sum();
    loss.backward();
    return loss;
  });
  near(await w.value().array(), [1, 2], 1e-4);
});

test("schedules", () => {
  const optimizer = optim.sgd([nn.parameter(zeros([1]))], { lr: 1 });
  const steps = optim.scheduler(optimizer, { kind: "step", size: 2, gamma: 0.5 });
  const rates = Array.from({ length: 5 }, () => {
    const { lr } = optimizer;
    steps.step();
    return lr;
  });
  near(rates, [1, 1, 0.5, 0.5, 0.25]);
  const plateau = optim.reduceOnPlateau(optimizer, { patience: 0, factor: 0.1 });
  optimizer.lr = 1;
  plateau.step(1);
  plateau.step(2);
  near(optimizer.lr, 0.1);
});

test("weights go through safetensors, and a cut file is refused", async () => {
  const net = nn.mlp(4, 3, 2);
  const file = await io.writeSafetensors(net.stateDict(), { made: "here" });
  const other = nn.mlp(4, 3, 2);
  other.loadStateDict(await io.readSafetensors(new Blob([file as Uint8Array<ArrayBuffer>])));
  near(await other.forward(ones([1, 4])).array(), await net.forward(ones([1, 4])).array());
  await throws(() => io.readSafetensors(file.subarray(0, file.length - 5)), "safetensors");
  await throws(() => io.readSafetensors(file, { sha256: "00" }), "SHA-256");
  await throws(() => io.readSafetensors(file, { limit: 10 }), "limit");
});

/** A small regression, with a trainer. */
function regression(seed: number, options: object = {}) {
  manualSeed(seed);
  const x = randn([64, 3]);
  const y = x.matmul(tensor([[1], [-2], [0.5]])).add(3);
  const loader = new DataLoader([x, y], { batchSize: 16, shuffle: seed });
  const test = new DataLoader([x, y], { batchSize: 64 });
  const net = nn.sequential(nn.linear(3, 8), nn.tanh(), nn.linear(8, 1));
  const trainer = new Trainer(net, optim.adam(net.parameters(), { lr: 0.02 }), { logEvery: 4, ...options });
  const outcome = (model: typeof net, [x, y]: Tensor[]) => {
    const loss = model.forward(x as Tensor).mseLoss(y as Tensor);
    return { loss, count: (x as Tensor).shape[0] ?? 0 };
  };
  return { loader, test, net, trainer, outcome };
}

test("the trainer trains, reports, and goes on from a checkpoint as if it had never stopped", async () => {
  const seen: number[] = [];
  const whole = regression(7, {
    epochs: 6,
    onProgress: ({ metrics }: { metrics: Record<string, number> }) => void seen.push(metrics["loss"] ?? 0),
  });
  const summary = await whole.trainer.fit(whole.loader, whole.outcome, whole.test);
  equal([summary.steps, summary.epochs.length, summary.stopped], [24, 6, "done"]);
  assert((seen.at(-1) ?? 9) < (seen[0] ?? 0), `the loss falls: ${seen.join(", ")}`);
  assert(Number.isFinite(summary.epochs[5]?.test["test_loss"] ?? Number.NaN), "there is a test loss");

  const half = regression(7, { epochs: 3 });
  await half.trainer.fit(half.loader, half.outcome, half.test);
  const saved = await half.trainer.checkpoint(half.loader);
  const rest = regression(7, { epochs: 6 });
  await rest.trainer.resume(saved, rest.loader);
  await rest.trainer.fit(rest.loader, rest.outcome, rest.test);
  equal(rest.trainer.step, 24);
  near(await rest.net.forward(ones([1, 3])).array(), await whole.net.forward(ones([1, 3])).array(), 1e-6);
});

test("a batch that was drawn when a run is saved or stopped comes again", async () => {
  const ask = async (net: nn.Module & { forward: (x: Tensor) => Tensor }) => net.forward(ones([1, 3])).array();
  const whole = regression(7, { epochs: 6 });
  await whole.trainer.fit(whole.loader, whole.outcome);
  const wanted = await ask(whole.net);
  // Before the first step of an epoch, in the middle of one, and before the last.
  for (const place of [4, 6, 7]) {
    let saved: Uint8Array | undefined;
    const cut: ReturnType<typeof regression> = regression(7, {
      epochs: 6,
      shouldStop: async () => {
        if (cut.trainer.step !== place || saved !== undefined) return false;
        saved = await cut.trainer.checkpoint(cut.loader);
        return true;
      },
    });
    const { stopped, steps } = await cut.trainer.fit(cut.loader, cut.outcome);
    equal([stopped, steps], ["asked", place]);
    const [onTheWay, afterwards] = [saved, await cut.trainer.checkpoint(cut.loader)];
    // The same trainer goes on, and so do others, from either checkpoint.
    await cut.trainer.fit(cut.loader, cut.outcome);
    near(await ask(cut.net), wanted, 1e-6);
    for (const bytes of [onTheWay, afterwards]) {
      const other = regression(7, { epochs: 6 });
      await other.trainer.resume(bytes ?? new Uint8Array(), other.loader);
      await other.trainer.fit(other.loader, other.outcome);
      near(await ask(other.net), wanted, 1e-6);
    }
  }
});

test("the norm of all gradients is that of one vector; reports have it, before clipping, and read nothing more for it", async ({
  gpu,
}) => {
  const [w, b, frozen] = [nn.parameter(tensor([3, 4])), nn.parameter(tensor([6])), nn.parameter(tensor([9]))];
  near(await nn.gradNorm([w, b]).array(), 0);
  w.get().square().sum().add(b.get().square().mul(2).sum()).backward();
  // The gradients are [6, 8] and [24].
  near(await nn.gradNorm([w, b, frozen]).array(), 26);

  const norms = async (options: object) => {
    const seen: (number | undefined)[] = [];
    const run = regression(5, {
      epochs: 2,
      ...options,
      onProgress: ({ metrics }: { metrics: Record<string, number> }) => void seen.push(metrics["gradNorm"]),
    });
    const before = stats();
    await run.trainer.fit(run.loader, run.outcome);
    const after = stats();
    return { seen, submissions: after.submissions - before.submissions, runs: after.runs - before.runs };
  };
  // The first report follows four steps, which are taken here by hand.
  const twin = regression(5);
  const batches = twin.loader[Symbol.asyncIterator]();
  let expected = 0;
  for (let index = 0; index < 4; index += 1) {
    const { value: batch } = await batches.next();
    twin.outcome(twin.net, batch as Tensor[]).loss.backward();
    const lists = await Promise.all(twin.net.parameters().map((each) => (each.grad as Tensor).flatten().array()));
    expected = Math.hypot(...(lists.flat() as number[]));
    twin.trainer.optimizer.step();
    twin.trainer.optimizer.zeroGrad();
  }
  const [without, alone] = [await norms({}), await norms({ gradNorm: true })];
  equal(without.seen, [undefined, undefined]);
  near(alone.seen[0], expected, 1e-5);
  const [each, clipped] = [
    await norms({ gradNorm: true, logEvery: 1 }),
    await norms({ gradNorm: true, logEvery: 1, clipGradNorm: 0.01 }),
  ];
  near(each.seen[3], expected, 1e-5);
  near(clipped.seen[0], each.seen[0], 1e-5);
  equal(alone.runs, without.runs);
  if (gpu) equal(alone.submissions, without.submissions);
});

test("a training step is one submission and no new plan, whatever the collector does", async ({ gpu }) => {
  manualSeed(1);
  const net = nn.mlp(20, 16, 4);
  const optimizer = optim.adam(net.parameters());
  const [x, y] = [randn([8, 20]).keep(), zeros([8], "i32").keep()];
  let total = zeros([]);
  const step = () => {
    const logits = net.forward(x);
    const hidden = logits.relu();
    hidden.mul(2);
    const loss = logits.crossEntropy(y);
    total = total.add(loss.detach());
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  for (let index = 0; index < 5; index += 1) step();
  const before = stats();
  for (let index = 0; index < 20; index += 1) step();
  const after = stats();
  equal([after.runs - before.runs, after.planMisses - before.planMisses], [20, 0]);
  if (gpu) equal(after.submissions - before.submissions, 20);
  assert(Number.isFinite(await total.item()), "the sum of all losses is a number");
});

test("an intermediate ends two steps later, and says so; one that is used again stays", async () => {
  const w = nn.parameter(ones([3]));
  const optimizer = optim.sgd([w], { lr: 0.1 });
  const mask = tensor([1, 0, 1]).mul(2).add(1);
  const kept: Tensor[] = [];
  for (let index = 0; index < 4; index += 1) {
    const hidden = w.get().mul(mask);
    kept.push(hidden);
    hidden.sum().backward();
    optimizer.step();
    optimizer.zeroGrad();
    // Numbers that are given back are taken by the next step's tensors, whose age is their own all the same.
    for (const passing of [ones([1]), ones([1]), ones([1])]) passing.dispose();
  }
  for (const hidden of kept.slice(0, 2)) await throws(() => hidden.array(), "ended with it");
  near(await mask.array(), [3, 1, 3]);
});

test("memory stays flat over ten thousand steps", async ({ gpu, note, thorough }) => {
  manualSeed(2);
  // A step in a browser's GPU process takes milliseconds: there are fewer where the long tests do not run in full.
  const quarter = thorough || !gpu ? 2500 : 500;
  const net = nn.sequential(nn.linear(4, 8), nn.relu(), nn.linear(8, 3));
  const optimizer = optim.adam(net.parameters());
  const loader = new DataLoader([randn([quarter, 4]), zeros([quarter], "i32")], { batchSize: 1, shuffle: 1 });
  const outcome = (model: typeof net, [x, y]: Tensor[]) => {
    const logits = model.forward(x as Tensor);
    return { loss: logits.crossEntropy(y as Tensor), count: 1, metrics: { accuracy: correct(logits, y as Tensor) } };
  };
  const seen: ReturnType<typeof now>[] = [];
  const now = () => {
    const [{ inUse, tensors, wasm }, { planMisses, pipelines, buffers, bindGroups }] = [memory(), stats()];
    return { inUse, tensors, wasm, planMisses, pipelines, buffers, bindGroups };
  };
  for (let half = 1; half <= 2; half += 1) {
    const run = new Trainer(net, optimizer, { logEvery: 500, epochs: 2 * half });
    await run.fit(loader, outcome);
    seen.push(now());
  }
  note(`after ${2 * quarter} and ${4 * quarter} steps: ${JSON.stringify(seen)}`);
  const [middle, end] = seen;
  assert(middle !== undefined && end !== undefined, "two halves");
  assert(end.tensors <= middle.tensors, `tensors: ${middle.tensors}, then ${end.tensors}`);
  // How many steps are on their way at once, and so which buffers and which work of other tests meet, depends on the
  // machine; a leak has no bound. That a step makes no plan is the test of one submission.
  const most = { inUse: 32_768, wasm: 8 * 65_536, planMisses: 4, pipelines: 16, buffers: 100, bindGroups: 300 };
  for (const what of Object.keys(most) as (keyof typeof most)[]) {
    assert(end[what] - middle[what] <= most[what], `${what}: ${middle[what]}, and ${end[what]} after ${2 * quarter} more steps`);
  }
});

test("idx and csv", async ({ file }) => {
  const labels = await data.readIdx(await file("data/mnist/t10k-labels-idx1-ubyte.gz"));
  equal([labels.shape, labels.dtype], [[10000], "u8"]);
  const table = await data.readCsv(new TextEncoder().encode("a,b,kind\n1,2,x\n3,4,y\n5,6,x\n"));
  equal([table.names, table.length], [["a", "b", "kind"], 3]);
  equal(Array.from(table.numbers("a", "b").data as Float32Array), [1, 2, 3, 4, 5, 6]);
  const kinds = table.classes("kind");
  equal(
    [Array.from(kinds.labels.data as Int32Array), kinds.names],
    [
      [0, 1, 0],
      ["x", "y"],
    ],
  );
});

test("residual networks have torchvision's names, and GPTs continue text", async () => {
  manualSeed(3);
  const net = nn.resnet18(10, { width: 4, stem: "cifar" });
  const names = net.namedParameters().map(([name]) => name);
  // torchvision's resnet18 has 62 parameters.
  equal([names.length, names[0], names.at(-1)], [62, "conv1.weight", "fc.bias"]);
  assert(names.includes("layer2.0.downsample.0.weight"), names.join(" "));
  equal(net.forward(randn([2, 3, 32, 32])).shape, [2, 10]);
  equal(
    [nn.resnet34(2, { width: 2 }), nn.resnet50(2, { width: 2 })].map((deep) => deep.namedParameters().length),
    [110, 161],
  );
  await throws(() => nn.resnet18(10, { stem: "vgg" as "cifar" }), "one of imagenet, cifar");

  const gpt = nn.gpt({ vocabulary: 11, context: 12, layers: 2, heads: 2, width: 8 });
  gpt.eval();
  const tokens = tensor([[1, 2, 3]], { dtype: "i32" });
  equal(gpt.forward(tokens).shape, [1, 3, 11]);
  // The likeliest token each time, by the scores of all that is there.
  let text = tokens;
  for (let k = 0; k < 4; k += 1) {
    const next = gpt
      .forward(text)
      .narrow(1, 2 + k, 1)
      .argmax(-1)
      .toDtype("i32");
    text = cat([text, next], 1);
  }
  equal(await gpt.generate(tokens, 4, { temperature: 0 }).array(), await text.array());
  const drawn = (await gpt.generate(tokens, 9, { temperature: 0.8, topK: 3 }).array()) as number[][];
  equal(
    drawn.map((row) => row.length),
    [12],
  );
  await throws(() => gpt.generate(tokens, 0), "cannot follow");
  await throws(() => gpt.generate(tokens, 11), "context");
});
