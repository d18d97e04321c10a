import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { readKept } from "../../src/work/kept.js";

const ADDRESS = "http://localhost/data.gz";
const kept = new Map<string, Uint8Array>();
let fetched = 0;
let content = "good";

const cache = {
  match: async (address: string) => {
    const bytes = kept.get(address);
    return bytes === undefined ? undefined : new Response(bytes as Uint8Array<ArrayBuffer>);
  },
  put: async (address: string, response: Response) => void kept.set(address, new Uint8Array(await response.arrayBuffer())),
  delete: async (address: string) => kept.delete(address),
};

beforeEach(() => {
  kept.clear();
  fetched = 0;
  content = "good";
  Object.assign(globalThis, {
    caches: { open: async () => cache },
    fetch: async () => {
      fetched += 1;
      return new Response(content);
    },
  });
});

const read = async (bytes: Uint8Array) => {
  const text = new TextDecoder().decode(bytes);
  if (text !== "good") throw new Error(`cannot read ${text}`);
  return text.toUpperCase();
};
const settled = () => new Promise((done) => setTimeout(done));

test("a file is fetched once, and its length told each time", async () => {
  for (let time = 0; time < 3; time += 1) {
    let told = 0;
    assert.equal(
      await readKept(ADDRESS, read, (loaded) => {
        told = loaded;
      }),
      "GOOD",
    );
    assert.equal(told, 4);
    await settled();
  }
  assert.equal(fetched, 1);
});

test("what cannot be read is not kept", async () => {
  content = "half";
  await assert.rejects(
    readKept(ADDRESS, read, () => undefined),
    /cannot read half/,
  );
  await settled();
  assert.equal(kept.size, 0);
});

test("what was kept and cannot be read is fetched again", async () => {
  kept.set(ADDRESS, new TextEncoder().encode("torn"));
  assert.equal(await readKept(ADDRESS, read, () => undefined), "GOOD");
  await settled();
  assert.deepEqual([fetched, new TextDecoder().decode(kept.get(ADDRESS))], [1, "good"]);
});

test("without a place to keep it, it is fetched each time", async () => {
  Object.assign(globalThis, { caches: { open: () => Promise.reject(new Error("no storage")) } });
  for (let time = 0; time < 2; time += 1) assert.equal(await readKept(ADDRESS, read, () => undefined), "GOOD");
  Object.assign(globalThis, { caches: undefined });
  assert.equal(await readKept(ADDRESS, read, () => undefined), "GOOD");
  assert.equal(fetched, 3);
});
