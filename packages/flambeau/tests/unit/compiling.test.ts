import assert from "node:assert/strict";
import { test } from "node:test";
import { compiling } from "../../src/compiling.js";

/** A pipeline under way at the fake device. */
interface Asked {
  name: string;
  resolve: () => void;
  reject: () => void;
}

/** A device that writes down what it is asked, and compiles when a test says so. */
function fake() {
  const log: string[] = [];
  const asked: Asked[] = [];
  let lose: (info: unknown) => void = () => undefined;
  const lost = new Promise((resolve) => (lose = resolve));
  const encoder = () => {
    const commands: string[] = [];
    const pass = {
      setPipeline: (pipeline: { name: string }) => void commands.push(pipeline.name),
      setBindGroup: (_: number, group: string) => void commands.push(group),
      dispatchWorkgroups: (...groups: number[]) => void commands.push(groups.join("×")),
      end: () => undefined,
    };
    return {
      label: "",
      beginComputePass: () => pass,
      copyBufferToBuffer: (from: string, to: string) => void commands.push(`${from}→${to}`),
      finish: () => commands.join(" "),
    };
  };
  const raw = {
    lost,
    limits: { maxBufferSize: 7 },
    onuncapturederror: null as unknown,
    queue: {
      submit: (commands: string[]) => void log.push(`submit ${commands.join()}`),
      writeBuffer: (buffer: { name: string }, offset: number, bytes: Uint8Array) =>
        void log.push(`write ${buffer.name} ${offset} ${bytes.join()}`),
      onSubmittedWorkDone: () => {
        log.push("done?");
        return Promise.resolve();
      },
    },
    createBuffer: ({ label }: { label: string }) => ({
      name: label,
      destroy: () => void log.push(`destroy ${label}`),
      mapAsync: (mode: number) => {
        log.push(`map ${label} ${mode}`);
        return Promise.resolve();
      },
    }),
    createCommandEncoder: encoder,
    createComputePipelineAsync: ({ label = "" }: { label?: string }) =>
      new Promise((resolve, reject) => {
        asked.push({
          name: label,
          resolve: () => resolve({ name: label }),
          reject: () => reject(new Error(`${label} is wrong`)),
        });
      }),
    createComputePipeline: ({ label = "" }: { label?: string }) => {
      log.push(`create ${label}`);
      return { name: `bad ${label}` };
    },
    pushErrorScope: (filter: string) => void log.push(`push ${filter}`),
    popErrorScope: () => {
      log.push("pop");
      return Promise.resolve(log.at(-2)?.startsWith("create") === true ? { message: "it is wrong" } : null);
    },
    destroy: () => lose({ reason: "destroyed" }),
  };
  return { raw, log, asked, device: (tell?: (done: number, all: number) => void) => compiling(raw as never, false, tell) };
}

/** Lets everything happen that is under way. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

function kernel(device: GPUDevice, label: string): GPUComputePipeline {
  return device.createComputePipeline({ label } as GPUComputePipelineDescriptor);
}

function run(device: GPUDevice, ...pipelines: GPUComputePipeline[]): void {
  const encoder = device.createCommandEncoder({});
  const pass = encoder.beginComputePass();
  for (const pipeline of pipelines) {
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, "group" as never);
    pass.dispatchWorkgroups(2, 3);
  }
  pass.end();
  device.queue.submit([encoder.finish()]);
}

test("all kernels are asked for at once, and what comes after them waits in its order", async () => {
  const { device: open, log, asked } = fake();
  const told: string[] = [];
  const device = open((done, all) => void told.push(`${done} of ${all}`));
  const buffer = device.createBuffer({ label: "b" } as GPUBufferDescriptor);
  const bytes = Uint8Array.of(1, 2);
  device.queue.writeBuffer(buffer, 0, bytes);
  const [first, second] = [kernel(device, "first"), kernel(device, "second")];
  assert.deepEqual(
    asked.map(({ name }) => name),
    ["first", "second"],
  );
  run(device, first, second);
  device.queue.writeBuffer(buffer, 4, bytes);
  // The module's memory goes on changing.
  bytes.fill(9);
  const mapped = buffer.mapAsync(1);
  const done = device.queue.onSubmittedWorkDone();
  const copy = device.createCommandEncoder({});
  assert.equal(copy.label, "");
  copy.copyBufferToBuffer("x" as never, "y" as never);
  device.queue.submit([copy.finish()]);
  buffer.destroy();
  // It has the browser look for what is done, and does not wait.
  device.queue.submit([]);
  assert.deepEqual(log, ["write b 0 1,2", "submit "]);

  asked[1]?.resolve();
  await settle();
  assert.deepEqual([log.length, told], [2, ["1 of 2"]]);
  asked[0]?.resolve();
  await Promise.all([mapped, done]);
  assert.deepEqual(told, ["1 of 2", "2 of 2"]);
  assert.deepEqual(log.slice(2), [
    "submit first group 2×3 second group 2×3",
    "write b 4 1,2",
    "map b 1",
    "done?",
    "submit x→y",
    "destroy b",
  ]);

  log.length = 0;
  run(device, second);
  assert.deepEqual(log, ["submit second group 2×3"], "what is there does not wait");
});

test("a kernel that nothing uses yet keeps nothing waiting", async () => {
  const { device: open, log, asked } = fake();
  const device = open();
  const first = kernel(device, "first");
  asked[0]?.resolve();
  await settle();
  kernel(device, "second");
  run(device, first);
  assert.deepEqual(log, ["submit first group 2×3"]);
});

test("a kernel that does not compile is created where it fails as before", async () => {
  const { device: open, log, asked } = fake();
  const device = open();
  run(device, kernel(device, "wrong"));
  asked[0]?.reject();
  await settle();
  assert.deepEqual(log, ["create wrong", "submit bad wrong group 2×3"]);
});

test("error scopes end when the kernels asked for in them are there, and hold their errors", async () => {
  const { device: open, log, asked } = fake();
  const device = open();
  device.pushErrorScope("internal");
  device.pushErrorScope("validation");
  kernel(device, "wrong");
  let ended = 0;
  const errors = [device.popErrorScope(), device.popErrorScope()].map(async (scope) => {
    const error = await scope;
    ended += 1;
    return error?.message;
  });
  await settle();
  assert.equal(ended, 0);
  asked[0]?.reject();
  assert.deepEqual(await Promise.all(errors), ["it is wrong", undefined]);
  assert.deepEqual(log.slice(4), ["push internal", "push validation", "create wrong", "pop", "pop"]);
});

test("a lost device ends what waits, and submits none of it", async () => {
  const { device: open, log } = fake();
  const device = open();
  const buffer = device.createBuffer({ label: "b" } as GPUBufferDescriptor);
  run(device, kernel(device, "never"));
  const [mapped, done] = [buffer.mapAsync(1), device.queue.onSubmittedWorkDone()];
  device.destroy();
  await Promise.all([mapped, done]);
  run(device, kernel(device, "later"));
  assert.deepEqual(log, ["map b 1", "done?"]);
});

test("work that cannot be done ends the device: nothing is computed without it", async () => {
  const { raw, device: open, log, asked } = fake();
  const device = open();
  raw.queue.submit = () => {
    throw new TypeError("not this");
  };
  const buffer = device.createBuffer({ label: "b" } as GPUBufferDescriptor);
  const { error } = console;
  const printed: unknown[] = [];
  console.error = (what: unknown) => void printed.push(what);
  try {
    run(device, kernel(device, "first"));
    const mapped = buffer.mapAsync(1);
    asked[0]?.resolve();
    await Promise.all([mapped, raw.lost]);
  } finally {
    console.error = error;
  }
  assert.match(String(printed[0]), /not this/);
  assert.deepEqual(log, ["map b 1"]);
});

test("everything else is the device's own", () => {
  const { raw, device: open } = fake();
  const device = open();
  assert.deepEqual(device.limits, { maxBufferSize: 7 });
  const handler = () => undefined;
  device.onuncapturederror = handler;
  assert.equal(raw.onuncapturederror, handler);
});
