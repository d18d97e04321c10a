import { assert, equal, test } from "../harness.js";

const ask = (way: string) =>
  new Promise<{ seen: string[][]; value: number }>((resolve, reject) => {
    const worker = new Worker(`/packages/flambeau/tests/.build/parts.mjs?way=${way}`, { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<{ seen: string[][]; value: number }>) => {
      worker.terminate();
      resolve(data);
    };
    worker.onerror = (event) => reject(new Error(event.message));
  });
const [FIRST, LATER, FFT, LINALG, FUNC, NUMERIC] = ["bg", "later", "fft", "linalg", "func", "numeric"].map(
  (name) => `flambeau_${name}.wasm`,
);

test("a model trains on the GPU with the first part of the module; the second comes after the step", async () => {
  const { seen, value } = await ask("train");
  equal(seen, [[FIRST], [FIRST, LATER]]);
  assert(Number.isFinite(value), `the loss is ${value}`);
});

test("what is in the second part can be called before it is there", async () => {
  equal(await ask("ask"), { seen: [[FIRST], [FIRST, LATER]], value: 6 });
});

test("parts that few pages need are fetched once, and when they are first used", async () => {
  const { seen, value } = await ask("arrays");
  const every = [FIRST, LATER, FFT, LINALG, FUNC, NUMERIC];
  const steps = [1, 3, 4, 5, 6, 6, 6, 6, 6, 6].map((count) => every.slice(0, count));
  equal(seen, steps);
  equal(value, 2 * (16 + 2 + 8 + 0));
});

test("a part can be fetched ahead, in the background", async () => {
  const { seen, value } = await ask("ahead");
  const every = [FIRST, FFT, LATER];
  equal(
    seen.map((names) => [...names].sort()),
    [[FIRST], [...every].sort(), [...every].sort()],
  );
  equal(value, 10);
});
