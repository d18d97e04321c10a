import {
  autocast,
  currentDevice,
  DataLoader,
  deviceInfo,
  getFloat32MatmulPrecision,
  GradScaler,
  type GradScalerState,
  init,
  io,
  isAutocastEnabled,
  manualSeed,
  matmulPrecision,
  nn,
  noGrad,
  ones,
  optim,
  randn,
  setFloat32MatmulPrecision,
  stats,
  tensor,
  type Tensor,
  Trainer,
  useDevice,
} from "flambeau";
import { assert, type Context, equal, near, test, throws } from "../harness.js";

/** What PyTorch gave (tools/reference/amp.py). */
interface Reference {
  curves: Record<string, { mixed: { losses: number[]; scales: number[] } }>;
  trajectories: Record<string, { weights: number[][]; scales: number[]; trackers: number[] }>;
}

const reference = async ({ file }: Context) =>
  JSON.parse(new TextDecoder().decode(await file("crates/flambeau/tests/data/amp.json"))) as Reference;

const hasF16 = () => deviceInfo().type === "cpu" || deviceInfo().features.includes("shader-f16");

/** Runs where there is f16: on the device of this place, or on the CPU. */
async function withF16(body: () => Promise<void>): Promise<void> {
  const before = currentDevice();
  if (!hasF16()) await init({ device: "cpu" });
  try {
    await body();
  } finally {
    useDevice(before);
  }
}

test("without shader-f16, mixed precision is an error that names it; with it, products are f16", async ({ note }) => {
  const product = () => autocast(() => ones([3, 4]).matmul(ones([4, 2])));
  note(`f16 ${hasF16() ? "is" : "is not"} there`);
  if (!hasF16()) {
    const message = "mixed precision (autocast): dtype f16 needs the feature shader-f16";
    await throws(product, message);
    await throws(() => autocast(() => nn.linear(4, 2).forward(randn([3, 4]))), message);
    assert(!isAutocastEnabled(), "the scope has ended");
    near(
      await ones([3, 4])
        .matmul(ones([4, 2]))
        .array(),
      [0, 1, 2].map(() => [4, 4]),
    );
    return;
  }
  equal(product().dtype, "f16");
  near(
    await product().array(),
    [0, 1, 2].map(() => [4, 4]),
  );
});

test("in a scope ops take the dtypes of PyTorch's lists, and scopes nest", () =>
  withF16(async () => {
    const layer = nn.linear(3, 2);
    const x = ones([5, 3]);
    const [y, p, plain, mode] = autocast(() => {
      const y = layer.forward(x);
      return [y, y.softmax(1), autocast(() => layer.forward(x), { enabled: false }), isAutocastEnabled()] as const;
    });
    equal([y.dtype, p.dtype, plain.dtype, mode, isAutocastEnabled()], ["f16", "f32", "f32", true, false]);
    p.square().sum().backward();
    equal(layer.parameter("weight").grad?.dtype, "f32");
    await throws(() => autocast(() => Promise.resolve(1)), "autocast cannot wait");
    assert(!isAutocastEnabled(), "a scope that failed has ended");
  }));

const OPTIMIZERS = {
  sgd: (w: nn.Parameter) => optim.sgd([w], { lr: 0.1, momentum: 0.9, dampening: 0.5 }),
  adam: (w: nn.Parameter) => optim.adam([w], { lr: 0.1 }),
  "adam, clipped": (w: nn.Parameter) => optim.adam([w], { lr: 0.1 }),
  "adam, accumulated": (w: nn.Parameter) => optim.adam([w], { lr: 0.1 }),
};
const BAD: Record<number, number> = { 2: Infinity, 3: Number.NaN, 8: -Infinity, 14: Infinity };

test("the scaler takes PyTorch's steps, skips those with infinities, and finds PyTorch's scales", async (context) => {
  const { trajectories } = await reference(context);
  for (const [name, make] of Object.entries(OPTIMIZERS)) {
    const wanted = trajectories[name];
    assert(wanted !== undefined, `PyTorch's steps of ${name}`);
    const w = nn.parameter(tensor([1, -2, 3]));
    const optimizer = make(w);
    const scaler = new GradScaler({ initScale: 1024, growthInterval: 3 });
    const batches = name === "adam, accumulated" ? 2 : 1;
    const [weights, states]: [number[][], { scale: number; growthTracker: number }[]] = [[], []];
    for (const step of wanted.scales.keys()) {
      for (let part = 0; part < batches; part += 1) {
        const c = [0, 1, 2].map((k) => Math.cos(step + k + 0.5 * part));
        const bad = part === 0 ? BAD[step] : undefined;
        if (bad !== undefined) c[step % 3] = bad;
        scaler
          .scale(
            w
              .get()
              .mul(tensor(Float32Array.from(c)))
              .sum(),
          )
          .backward();
      }
      if (name === "adam, clipped") {
        scaler.unscale(optimizer);
        nn.clipGradNorm([w], 0.5);
      }
      scaler.step(optimizer);
      scaler.update();
      optimizer.zeroGrad();
      weights.push((await w.value().array()) as number[]);
      states.push(await scaler.state());
    }
    equal(
      states,
      wanted.scales.map((scale, step) => ({ scale, growthTracker: wanted.trackers[step] })),
    );
    near(weights, wanted.weights, 2e-5);
  }
});

test("a scaler says what is wrong, can be set, saved and taken up, and does nothing where it is not enabled", async () => {
  await throws(() => new GradScaler({ growthFactor: 1 }), "must be above 1");
  await throws(() => new GradScaler({ grow: 2 } as object), "grow");
  const w = nn.parameter(ones([2]));
  const optimizer = optim.sgd([w], { lr: 1 });
  const scaler = new GradScaler();
  equal(await scaler.getScale(), 65_536);
  await throws(() => scaler.update(), "there was no step");
  scaler.update(8);
  const loss = w.get().sum();
  near(await scaler.scale(loss).item(), 16);
  scaler.scale(loss).backward();
  near(await w.grad?.array(), [8, 8]);
  scaler.unscale(optimizer);
  near(await w.grad?.array(), [1, 1]);
  await throws(() => scaler.unscale(optimizer), "unscaled twice");
  scaler.step(optimizer);
  await throws(() => scaler.step(optimizer), "call update before the next step");
  scaler.update();
  near(await w.value().array(), [0, 0]);
  near(await loss.item(), 2);
  const saved = await scaler.state();
  equal(saved, { scale: 8, growthTracker: 1 });
  const other = new GradScaler();
  other.load({ ...saved, growthTracker: 1999 });
  equal(await other.state(), { scale: 8, growthTracker: 1999 });

  const plain = new GradScaler({ enabled: false });
  equal(await plain.getScale(), 1);
  optimizer.zeroGrad();
  plain.scale(w.get().sum()).backward();
  plain.step(optimizer);
  plain.update();
  near(await w.value().array(), [-1, -1]);
});

/** PyTorch's MLP of golden.py: its weights, and ten batches. */
async function golden({ file }: Context): Promise<{ net: nn.Sequential; x: Tensor; y: Tensor }> {
  const recorded = await io.readSafetensors(await file("crates/flambeau/tests/data/golden.safetensors"));
  const of = (name: string) => {
    const found = recorded[`mlp/${name}`];
    assert(found !== undefined, name);
    return found.keep();
  };
  const net = nn.sequential(nn.linear(12, 16), nn.relu(), nn.linear(16, 5));
  const names = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"];
  for (const [place, parameter] of net.parameters().entries()) parameter.set(of(`state/${names[place]}`));
  return { net, x: of("in/x"), y: of("in/y") };
}

/** Every number within 1 % of the other: what PyTorch's own f16 losses are apart from ours. */
const within = (found: readonly number[], wanted: readonly number[]) =>
  assert(
    found.length === wanted.length && found.every((value, at) => Math.abs(value - (wanted[at] ?? 0)) <= 0.01 * value),
    `found ${found.join(", ")}, wanted ${wanted.join(", ")}`,
  );

test("a perceptron in mixed precision has PyTorch's losses, in one submission a step", (context) =>
  withF16(async () => {
    const { mixed } = (await reference(context)).curves["mlp"] ?? {};
    assert(mixed !== undefined, "PyTorch's losses");
    const { net, x, y } = await golden(context);
    const optimizer = optim.adam(net.parameters(), { lr: 0.01 });
    const scaler = new GradScaler();
    const losses: Tensor[] = [];
    let before = 0;
    for (const step of mixed.losses.keys()) {
      const at = step % 10;
      const [input, labels] = noGrad(() => [x.select(0, at), y.select(0, at)] as const);
      const loss = autocast(() => net.forward(input).crossEntropy(labels));
      scaler.scale(loss).backward();
      scaler.step(optimizer);
      scaler.update();
      optimizer.zeroGrad();
      losses.push(loss);
      if (step === 20) before = stats().runs;
    }
    equal(stats().runs - before, mixed.losses.length - 21);
    within(await Promise.all(losses.map((loss) => loss.item())), mixed.losses);
    equal(await scaler.getScale(), mixed.scales.at(-1));
  }));

test("a trainer with amp trains and goes on as the loop by hand does", (context) =>
  withF16(async () => {
    const wanted = (await reference(context)).curves["mlp"]?.mixed.losses.slice(0, 10) ?? [];
    const { net, x, y } = await golden(context);
    const batches = new DataLoader([x.reshape([80, 12]), y.reshape([80])], { batchSize: 8 });
    const options = { amp: { initScale: 4096, growthInterval: 4 }, gradNorm: true, logEvery: 1 };
    const [losses, norms]: number[][] = [[], []];
    const onProgress = ({ metrics }: { metrics: Record<string, number> }) => {
      losses?.push(metrics["loss"] ?? Number.NaN);
      norms?.push(metrics["gradNorm"] ?? Number.NaN);
    };
    const made = (more: object) =>
      new Trainer(net, optim.adam(net.parameters(), { lr: 0.01 }), { ...options, onProgress, ...more });
    const dtypes = new Set<string>();
    const outcome = (model: nn.Sequential, [input, labels]: Tensor[]) => {
      assert(input !== undefined && labels !== undefined, "a batch");
      const scores = model.forward(input);
      dtypes.add(scores.dtype);
      return { loss: scores.crossEntropy(labels), count: 8 };
    };
    manualSeed(1);
    const first = made({ maxSteps: 6 });
    await first.fit(batches, outcome);
    const saved = await first.checkpoint(batches);
    const second = made({});
    await second.resume(saved, batches);
    await second.fit(batches, outcome);
    within(losses ?? [], wanted);
    equal([...dtypes], ["f16"]);
    assert(
      (norms ?? []).every((norm) => norm > 0.01 && norm < 10),
      `norms of unscaled gradients: ${norms?.join(", ")}`,
    );
    // Ten good steps double it twice, if the six before the checkpoint count.
    const { trainer } = (await io.readCheckpoint(await second.checkpoint(batches), net)) as {
      trainer?: { scaler?: GradScalerState };
    };
    equal([trainer?.scaler?.scale, trainer?.scaler?.growthTracker], [16_384, 2]);
  }));

test("how precise products of f32 are is said for the module, a device or a scope", async () => {
  const before = currentDevice();
  const said = () => deviceInfo().matmulPrecision;
  try {
    equal([getFloat32MatmulPrecision(), said()], ["highest", "highest"]);
    setFloat32MatmulPrecision("high");
    equal([getFloat32MatmulPrecision(), said()], ["high", "high"]);
    equal(matmulPrecision("highest", said), "highest");
    setFloat32MatmulPrecision("highest");
    await init({ device: "cpu", matmulPrecision: "high" });
    equal([getFloat32MatmulPrecision(), said(), matmulPrecision("highest", said)], ["highest", "high", "highest"]);
    // There are no matrix units: products are the same, and a plan says so.
    const x = randn([40, 40]);
    const products = [x.matmul(x), matmulPrecision("highest", () => x.matmul(x))] as const;
    assert(products[0].explain().includes("matrix units are not used: the CPU has none"), products[0].explain());
    equal(await products[0].array(), await products[1].array());
  } finally {
    setFloat32MatmulPrecision("highest");
    useDevice(before);
  }
});
