import assert from "node:assert/strict";
import { test } from "node:test";
import { Checkpoints, type Store } from "../../src/worker/store.js";

/** A store in memory that can be made to fail at a write. */
class Memory implements Store {
  readonly files = new Map<string, Uint8Array>();
  writesLeft = Number.POSITIVE_INFINITY;

  async write(name: string, bytes: Uint8Array): Promise<void> {
    if (this.writesLeft === 0) throw new Error("the tab has ended");
    this.writesLeft -= 1;
    this.files.set(name, bytes);
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    return this.files.get(name);
  }

  async remove(name: string): Promise<void> {
    this.files.delete(name);
  }
}

async function kept(store: Store, name = "run"): Promise<number[]> {
  const found: number[] = [];
  for await (const [first] of new Checkpoints(store, name).latest()) found.push(first ?? -1);
  return found;
}

test("the latest checkpoint comes first, then the one before it", async () => {
  const store = new Memory();
  const checkpoints = new Checkpoints(store, "run");
  for (const value of [1, 2, 3]) await checkpoints.save(Uint8Array.of(value));
  assert.deepEqual(await kept(store), [3, 2]);
});

test("without a checkpoint there is none, and other runs' are others", async () => {
  const store = new Memory();
  await new Checkpoints(store, "other").save(Uint8Array.of(1));
  assert.deepEqual([await kept(store), await kept(store, "other")], [[], [1]]);
});

test("whichever write is cut off, a whole checkpoint is left", async () => {
  for (const writes of [2, 3, 4, 5]) {
    const store = new Memory();
    const checkpoints = new Checkpoints(store, "run");
    store.writesLeft = writes;
    await assert.rejects(async () => {
      for (const value of [1, 2, 3]) await checkpoints.save(Uint8Array.of(value));
    });
    // Two writes make a checkpoint: the bytes, then the note that they are the latest.
    const [latest] = await kept(store);
    assert.equal(latest, Math.floor(writes / 2), `after ${writes} writes`);
  }
});

test("who goes on from a checkpoint does not write over it first", async () => {
  const store = new Memory();
  await new Checkpoints(store, "run").save(Uint8Array.of(1));
  const again = new Checkpoints(store, "run");
  for await (const _ of again.latest()) break;
  await again.save(Uint8Array.of(2));
  assert.deepEqual(await kept(store), [2, 1]);
});

test("what is forgotten is gone", async () => {
  const store = new Memory();
  const checkpoints = new Checkpoints(store, "run");
  await checkpoints.save(Uint8Array.of(1));
  await checkpoints.save(Uint8Array.of(2));
  await checkpoints.clear();
  assert.equal(store.files.size, 0);
});
