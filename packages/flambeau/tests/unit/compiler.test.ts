import assert from "node:assert/strict";
import { test } from "node:test";
import { compilerOf, wake } from "../../src/compiler.node.js";
import { EARLY } from "../../src/generated/early.js";

/** A device that writes down what it is asked, and compiles when a test says so. */
function fake() {
  const [beside, here]: [string[], string[]] = [[], []];
  const finish = new Map<string, () => void>();
  const codes = new Map<unknown, string>();
  const bound: number[] = [];
  let isWrong = false;
  const named = ({ compute }: GPUComputePipelineDescriptor) => codes.get(compute.module) ?? "";
  const raw = {
    createShaderModule: ({ code }: GPUShaderModuleDescriptor) => {
      const module = {};
      codes.set(module, code);
      return module;
    },
    createBindGroupLayout: ({ entries }: GPUBindGroupLayoutDescriptor) => void bound.push([...entries].length),
    createPipelineLayout: () => ({}),
    createComputePipelineAsync: (descriptor: GPUComputePipelineDescriptor) => {
      beside.push(named(descriptor));
      return new Promise((resolve) => finish.set(named(descriptor), () => resolve(`pipeline of ${named(descriptor)}`)));
    },
    createComputePipeline: (descriptor: GPUComputePipelineDescriptor) => {
      here.push(named(descriptor));
      return `pipeline of ${named(descriptor)}`;
    },
    pushErrorScope: () => undefined,
    popErrorScope: () => Promise.resolve(isWrong ? { message: "it is wrong" } : null),
  } as unknown as GPUDevice;
  const compiler = compilerOf(raw, false);
  return {
    raw,
    beside,
    here,
    bound,
    compiler,
    fail: () => (isWrong = true),
    done: (code: string) => finish.get(code)?.(),
    /** Asks for a kernel of this text; what stands for it is the text. */
    ask: (code: string) => {
      const module = compiler.module({ code });
      const pipeline = compiler.pipeline(Object(code) as object, { layout: "auto", compute: { module } });
      return pipeline as unknown as Promise<string>;
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("Dawn is handed two kernels at once, then the longest texts, and never more than three", async () => {
  const { beside, here, ask, done } = fake();
  for (const code of ["a", "bb", "c", "dddd", "ee", "fff"]) void ask(code);
  assert.deepEqual(beside, ["a", "bb"]);
  done("a");
  await turn();
  assert.deepEqual(beside, ["a", "bb", "dddd", "fff"]);
  done("fff");
  done("bb");
  await turn();
  assert.deepEqual(beside, ["a", "bb", "dddd", "fff", "ee", "c"]);
  assert.deepEqual(here, [], "nothing waited for them");
});

test("the thread that waits compiles what it waits for, the shortest first, and nothing else", async () => {
  const { compiler, beside, here } = fake();
  const kernels = new Map<string, object>();
  const ask = (code: string) => {
    const kernel = { code };
    kernels.set(code, kernel);
    return compiler.pipeline(kernel, {
      layout: "auto",
      compute: { module: compiler.module({ code }) },
    }) as unknown as Promise<string>;
  };
  const made = ["a", "bb", "cccccc", "eee", "ffff", "g"].map(ask);
  const needed = new Set(["a", "eee", "ffff"].map((code) => kernels.get(code) ?? {}));
  compiler.help(() => needed);
  compiler.help(() => needed);
  assert.deepEqual(here, [], "it goes on first");
  await turn();
  assert.deepEqual(beside, ["a", "bb", "cccccc"]);
  assert.deepEqual(here, ["eee"]);
  assert.equal(await made[3], "pipeline of eee");
  await turn();
  assert.deepEqual(here, ["eee", "ffff"]);
  await turn();
  await turn();
  assert.deepEqual(here, ["eee", "ffff"], "“g” is not waited for");
});

test("a kernel that does not compile here is an error for who asked", async () => {
  const { compiler, ask, fail } = fake();
  const made = ["aa", "bb", "cc", "dd", "e"].map(ask);
  fail();
  compiler.help(() => new Set(["never"].map((code) => Object(code) as object)));
  await turn();
  const kernel = {};
  const wrong = compiler.pipeline(kernel, { layout: "auto", compute: { module: compiler.module({ code: "f" }) } });
  compiler.help(() => new Set([kernel]));
  await assert.rejects(wrong, { message: "it is wrong" });
  assert.equal(made.length, 5);
});

test("what was asked for early is handed out, and nothing is asked for twice", async () => {
  const { raw, beside, bound, ask, done } = fake();
  wake(raw, false);
  assert.deepEqual(beside, EARLY);
  assert.ok(bound.length === EARLY.length && bound.every((count) => count >= 2));
  const [first = "", second = ""] = EARLY;
  const [known, another, again] = [ask(first), ask("another"), ask(second)];
  assert.deepEqual(beside, EARLY, "Dawn has more than enough");
  for (const code of EARLY) done(code);
  assert.equal(await known, `pipeline of ${first}`);
  await turn();
  assert.deepEqual(beside, [...EARLY, "another"]);
  done("another");
  assert.deepEqual([await another, await again], ["pipeline of another", `pipeline of ${second}`]);
});

test("a software adapter has texts of its own, and is asked for all at once", () => {
  const { raw, beside } = fake();
  wake(raw, true);
  assert.deepEqual(beside, []);
  const compiler = compilerOf(raw, true);
  for (const code of ["a", "b", "c", "d", "e", "f"])
    void compiler.pipeline({}, { layout: "auto", compute: { module: compiler.module({ code }) } });
  assert.equal(beside.length, 6);
});
