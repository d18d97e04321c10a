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
const [FIRST, LATER] = ["flambeau_bg.wasm", "flambeau_later.wasm"];

test("a model trains on the GPU with the first part of the module; the second comes after the step", async () => {
  const { seen, value } = await ask("train");
  equal(seen, [[FIRST], [FIRST, LATER]]);
  assert(Number.isFinite(value), `the loss is ${value}`);
});

test("what is in the second part can be called before it is there", async () => {
  equal(await ask("ask"), { seen: [[FIRST], [FIRST, LATER]], value: 6 });
});
