import {
  cat,
  currentDevice,
  einsum,
  items,
  kernel,
  manualSeed,
  memory,
  noGrad,
  rand,
  randn,
  scope,
  stats,
  tensor,
  zeros,
  arange,
  grad,
  Generator,
  type Tensor,
} from "flambeau";
import { assert, equal, near, test, throws } from "../harness.js";

test("tensors are made from lists and typed arrays, and read back", async () => {
  const x = tensor([
    [1, 2],
    [3, 4],
  ]);
  equal(x.shape, [2, 2]);
  equal(x.dtype, "f32");
  equal(await x.array(), [
    [1, 2],
    [3, 4],
  ]);
  equal(await tensor(Int32Array.of(1, -2, 3)).array(), [1, -2, 3]);
  equal(await tensor([true, false]).array(), [true, false]);
  equal(await tensor(5).item(), 5);
  equal(await x.text().then((text) => text.split(", device")[0]?.split(")")[0]), "tensor([[1., 2.],\n        [3., 4.]]");
  await throws(() => tensor([[1, 2], [3]]), "a list of 1");
});

test("ops of the table and composites", async () => {
  const x = tensor([
    [1, 2],
    [3, 4],
  ]);
  near(await x.add(1).array(), [
    [2, 3],
    [4, 5],
  ]);
  near(await x.mul(x).array(), [
    [1, 4],
    [9, 16],
  ]);
  near(await x.rsub(10).array(), [
    [9, 8],
    [7, 6],
  ]);
  near(await x.matmul(x).array(), [
    [7, 10],
    [15, 22],
  ]);
  near(await x.sum().item(), 10);
  near(await x.sum(0).array(), [4, 6]);
  near(await x.mean(1, true).array(), [[1.5], [3.5]]);
  near(await x.softmax().array(), [
    [0.26894143, 0.73105857],
    [0.26894143, 0.73105857],
  ]);
  near(await x.t().array(), [
    [1, 3],
    [2, 4],
  ]);
  near(await x.gt(2).where(x, 0).array(), [
    [0, 0],
    [3, 4],
  ]);
  near(
    await x.pow(2).sqrt().array(),
    [
      [1, 2],
      [3, 4],
    ],
    1e-4,
  );
  near(await cat([x, x], 1).array(), [
    [1, 2, 1, 2],
    [3, 4, 3, 4],
  ]);
  near(await einsum("ij,jk->ik", [x, x]).array(), [
    [7, 10],
    [15, 22],
  ]);
  near(await x.slice(1, -1).array(), [[2], [4]]);
  near(await x.reshape([-1]).array(), [1, 2, 3, 4]);
  const [values, positions] = x.reshape([4]).topk(2);
  near(await values.array(), [4, 3]);
  near(await positions.array(), [3, 2]);
  equal((await arange(0, 6, 1).array()) as number[], [0, 1, 2, 3, 4, 5]);
  near(await x.std().item(), 1.2909944);
  equal(
    x.split(1).map((part: Tensor) => part.shape),
    [
      [1, 2],
      [1, 2],
    ],
  );
  near(await items([x.sum(), x.mean()]), [10, 2.5]);
  equal(
    await x
      .gt(2)
      .nonzero()
      .then((found) => found.array()),
    [
      [1, 0],
      [1, 1],
    ],
  );
  near(await x.maskedSelect(x.gt(2)).then((found) => found.array()), [3, 4]);
});

test("the same seed gives the same numbers", async () => {
  manualSeed(3);
  const first = await rand([4]).array();
  manualSeed(3);
  equal(await rand([4]).array(), first);
  near(await rand([4], new Generator(3)).array(), first, 0);
});

test("bad input is an exception with the library's message, and the module lives on", async () => {
  const x = zeros([2, 3]);
  await throws(() => x.matmul(x), "matmul");
  await throws(() => x.add(zeros([4])), "cannot be broadcast");
  await throws(() => x.reshape([7]), "reshape");
  await throws(() => x.sum(5), "sum");
  await throws(() => x.narrow(0, 1.5, 1), "whole number");
  await throws(() => zeros([2]).item(), "single element");
  await throws(() => x.matmul(3 as unknown as Tensor), "a tensor was expected");
  equal(await x.sum().item(), 0);
});

test("a disposed tensor says so", async () => {
  const x = zeros([2]);
  x.dispose();
  x.dispose();
  await throws(() => x.add(1), "disposed");
});

test("gradients of first and second order", async () => {
  const x = tensor([1, 2, 3]).requiresGrad();
  x.pow(3).sum().backward();
  near(await (x.grad as Tensor).array(), [3, 12, 27], 1e-4);
  const y = tensor([2]).requiresGrad();
  const [first] = grad(y.pow(3).sum(), [y], { createGraph: true });
  const [second] = grad((first as Tensor).sum(), [y]);
  near(await (second as Tensor).array(), [12], 1e-4);
  equal(noGrad(() => y.mul(2)).isTracked, false);
  equal(y.mul(2).isTracked, true);
  await throws(() => zeros([2]).sum().backward(), "autograd");
});

test("a scope ends what it made, and keeps what it returns", async () => {
  const before = memory().tensors;
  const kept = scope(() => {
    const x = randn([10]);
    return { mean: x.mul(2).mean(), list: [x.sum()] };
  });
  equal(memory().tensors - before, 2);
  assert(Number.isFinite(await kept.mean.item()), "the mean is a number");
  await throws(() => scope(() => Promise.resolve(1)), "cannot wait");
});

test("kernels of one's own", async ({ gpu }) => {
  const double = kernel("double", {
    source: `@group(0) @binding(0) var<storage, read> x: array<f32>;
      @group(0) @binding(1) var<storage, read_write> y: array<f32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        if (id.x < arrayLength(&x)) { y[id.x] = 2.0 * x[id.x]; }
      }`,
    outputs: [{ shape: [3] }],
    workgroups: [1],
  });
  const call = async () => (double(tensor([1, 2, 3]))[0] as Tensor).add(1).array();
  if (gpu) near(await call(), [3, 5, 7]);
  else await throws(call, "double");
});

test("reading a value is one run, and equal graphs share a plan", async () => {
  const run = () => tensor([1, 2, 3]).mul(2).exp().sum().item();
  await run();
  const before = stats();
  await run();
  equal([stats().runs - before.runs, stats().planMisses - before.planMisses], [1, 0]);
});

test("a trace tells when kernels ran, where the GPU has timestamps", async () => {
  const device = currentDevice();
  if (!device.info.features.includes("timestamp-query")) {
    await throws(() => device.startTrace(), "trace");
    return;
  }
  const x = rand([256, 256]).keep().eval();
  device.startTrace();
  for (let time = 0; time < 20; time += 1) await x.matmul(x).relu().sum().item();
  const { kernels, busy } = await device.takeTrace();
  assert(
    kernels.some(({ name }) => name.includes("matmul")),
    kernels.map(({ name }) => name).join(", "),
  );
  assert(
    kernels.every(({ start, duration }) => start >= 0 && duration >= 0),
    JSON.stringify(kernels),
  );
  assert(busy > 0 && busy <= 1, `the GPU was busy for ${busy}`);
  // The trace has ended.
  await x.sum().item();
  equal((await device.takeTrace()).kernels, []);
  x.dispose();
});
