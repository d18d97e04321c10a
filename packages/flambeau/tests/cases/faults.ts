import { currentDevice, init, io, nn, ones, optim, randn, tensor, useDevice, zeros, type Device, type Tensor } from "flambeau";
import { assert, equal, gpuTest, near, test, throws } from "../harness.js";

/** Three steps on the device of new tensors; the losses. */
async function train(): Promise<number[]> {
  const net = nn.mlp(8, 6, 2);
  const optimizer = optim.adam(net.parameters(), { lr: 0.05 });
  const [x, y] = [ones([4, 8]).keep(), zeros([4], "i32").keep()];
  const losses: number[] = [];
  for (let step = 0; step < 3; step += 1) {
    const loss = net.forward(x).crossEntropy(y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    losses.push(await loss.item());
  }
  return losses;
}

async function trains(): Promise<void> {
  const losses = await train();
  assert((losses[2] ?? 9) < (losses[0] ?? 0), `the loss falls: ${losses.join(", ")}`);
}

/** Reads a new tensor, and lets it go: one that could not be computed would be tried again by the next step. */
async function read(...shape: number[]): Promise<{ readonly length: number }> {
  const made = randn(shape);
  try {
    return await made.data();
  } finally {
    made.dispose();
  }
}

/** Runs with another device as the one of new tensors. */
async function on(device: Device, body: () => Promise<void>): Promise<void> {
  const before = currentDevice();
  useDevice(device);
  try {
    await body();
  } finally {
    useDevice(before);
  }
}

test("a tensor beyond what the device can hold is an exception with its size, and training goes on", async ({ gpu }) => {
  const huge = () => read(40_000, 20_000);
  await throws(huge, gpu ? "above the device's limit max" : "out of memory: 3200000000 bytes requested");
  await throws(huge, "3200000000");
  // One that a step finds.
  const held = randn([40_000, 20_000]).keep();
  await throws(train, "3200000000");
  equal(held.shape, [40_000, 20_000]);
  held.dispose();
  // More than WebAssembly can count.
  await throws(() => randn([65_536, 65_536]), "shape [65536, 65536] has more than 2147483647 elements");
  equal(currentDevice().error, undefined);
  await trains();
});

gpuTest("an allocation beyond the limit that was set is an exception with the sizes, and training goes on", async ({ open }) => {
  const limited = await open({ memoryLimit: 8 << 20 });
  await on(limited, async () => {
    await trains();
    const kept = randn([512, 1024]).keep();
    await kept.data();
    await throws(() => read(1024, 2048), "out of memory: 8388608 bytes requested with");
    await throws(() => read(1024, 2048), "(limit 8388608)");
    equal(limited.error, undefined);
    await trains();
    // What was refused fits once there is room.
    kept.dispose();
    equal((await read(512, 1024)).length, 512 * 1024);
    assert(limited.memory.inUse + limited.memory.pooled <= 8 << 20, JSON.stringify(limited.memory));
  });
});

gpuTest("a GPUDevice that exists trains, and stays its owner's", async ({ adapter }) => {
  const found = await adapter();
  const own = await found.requestDevice();
  const errors: string[] = [];
  own.addEventListener("uncapturederror", (event) => void errors.push((event as GPUUncapturedErrorEvent).error.message));
  const before = currentDevice();
  const device = await init({ device: own });
  useDevice(before);
  equal([device.info.type, device.reason], ["gpu", "the GPUDevice that was handed in"]);
  await on(device, trains);

  // The owner's own work on it, in the same queue.
  const usage = { STORAGE: 0x80, COPY_SRC: 4, COPY_DST: 8, MAP_READ: 1 };
  const shader = own.createShaderModule({
    code: "@group(0) @binding(0) var<storage, read_write> x: array<f32>; @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3u) { x[id.x] = 2.0 * x[id.x]; }",
  });
  const pipeline = own.createComputePipeline({ layout: "auto", compute: { module: shader } });
  const buffer = own.createBuffer({ size: 16, usage: usage.STORAGE | usage.COPY_SRC | usage.COPY_DST });
  const back = own.createBuffer({ size: 16, usage: usage.MAP_READ | usage.COPY_DST });
  own.queue.writeBuffer(buffer, 0, Float32Array.of(1, 2, 3, 4));
  const encoder = own.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(
    0,
    own.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries: [{ binding: 0, resource: { buffer } }] }),
  );
  pass.dispatchWorkgroups(1);
  pass.end();
  encoder.copyBufferToBuffer(buffer, 0, back, 0, 16);
  own.queue.submit([encoder.finish()]);
  await back.mapAsync(usage.MAP_READ);
  equal(Array.from(new Float32Array(back.getMappedRange())), [2, 4, 6, 8]);
  back.unmap();
  equal(errors, []);
  await on(device, trains);
});

test("damaged weights and checkpoints are refused with a reason, and what was there stays", async () => {
  const net = nn.mlp(4, 3, 2);
  const optimizer = optim.adam(net.parameters());
  net
    .forward(ones([1, 4]))
    .sum()
    .backward();
  optimizer.step();
  const answer = await net.forward(ones([1, 4])).array();
  const whole = {
    weights: await io.writeSafetensors(net.stateDict()),
    checkpoint: await io.writeCheckpoint(net, optimizer, { step: 3 }),
  };
  const readers = {
    weights: (bytes: Uint8Array) => io.readSafetensors(bytes),
    checkpoint: (bytes: Uint8Array) => io.readCheckpoint(bytes, net, optimizer),
  };
  for (const kind of ["weights", "checkpoint"] as const) {
    const bytes = whole[kind];
    const damaged = (change: (copy: Uint8Array) => void) => {
      const copy = bytes.slice();
      change(copy);
      return copy;
    };
    const bad: [string, Uint8Array][] = [
      ["nothing", new Uint8Array()],
      ["seven bytes", bytes.subarray(0, 7)],
      ["half of the header", bytes.subarray(0, 40)],
      ["all but the last byte", bytes.subarray(0, bytes.length - 1)],
      ["a header longer than the file", damaged((copy) => new DataView(copy.buffer).setBigUint64(0, 1n << 40n, true))],
      ["a header that is no JSON", damaged((copy) => copy.fill(0x7b, 8, 16))],
      ["another kind of file", new TextEncoder().encode("<!doctype html><title>404</title>")],
    ];
    for (const [what, file] of bad) {
      let said: unknown;
      try {
        await readers[kind](file);
      } catch (error) {
        said = error;
      }
      assert(said instanceof Error && !(said instanceof WebAssembly.RuntimeError), `${kind}, ${what}: ${String(said)}`);
      assert(said.message.length > 20, `${kind}, ${what}: “${said.message}” tells little`);
    }
  }
  near(await net.forward(ones([1, 4])).array(), answer, 0);
  equal(await readers.checkpoint(whole.checkpoint), { step: 3 });
  near(await net.forward(ones([1, 4])).array(), answer, 0);
  await throws(() => io.readCheckpoint(whole.checkpoint, nn.mlp(4, 5, 2)), "shape");
});

test("bad shapes and numbers are exceptions everywhere, and the module lives on", async () => {
  const x = randn([2, 3]).keep();
  const wrong: [() => unknown, string][] = [
    [() => x.matmul(randn([4, 2])), "matmul"],
    [() => x.reshape([5]), "reshape"],
    [() => x.permute([0, 0]), "permute"],
    [() => x.add(randn([2, 4])), "cannot be broadcast"],
    [() => x.sum(2), "sum"],
    [() => nn.conv2d(3, 4, 3).forward(randn([1, 2, 8, 8])), "Conv2d"],
    [() => x.crossEntropy(tensor([0, 1, 1], { dtype: "i32" })), "cross_entropy"],
    [() => tensor(Float32Array.of(1, 2, 3), { shape: [2, 2] }), "12 bytes"],
    [() => zeros([-1]), "must not be negative"],
    [() => zeros([2 ** 40]), "1099511627776 is too large"],
    [() => x.gather(0, tensor([[0]])), "gather"],
    [() => optim.adam([], {}), "parameter"],
  ];
  for (const [body, message] of wrong) await throws(body, message);
  await trains();
  const index = tensor([0, 7], { dtype: "i32" });
  const picked: Tensor = x.indexSelect(0, index);
  await throws(() => picked.data(), "7");
  currentDevice().clearFault();
  await trains();
});
