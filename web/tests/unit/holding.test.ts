import assert from "node:assert/strict";
import { test } from "node:test";
import { type Holding, Locks, Names } from "../../src/work/holding.js";

/** Channels that hear each other, as those of tabs do. */
function channels() {
  const ears = new Set<{ heard: (event: MessageEvent) => void; from: object }>();
  return () => {
    const self = {};
    return {
      postMessage: (data: unknown) => {
        for (const { heard, from } of [...ears]) if (from !== self) queueMicrotask(() => heard({ data } as MessageEvent));
      },
      addEventListener: (_: string, heard: unknown) => {
        ears.add({ heard: heard as (event: MessageEvent) => void, from: self });
      },
      end: () => {
        for (const ear of ears) if (ear.from === self) ears.delete(ear);
      },
    };
  };
}

/** What tabs see of the locks of one origin: as much as is used here. */
function lockManagers() {
  const held = new Map<string, object>();
  const queue: { name: string; go: () => void }[] = [];
  const free = (name: string) => {
    held.delete(name);
    for (const waiting of queue.splice(0)) waiting.name === name ? waiting.go() : queue.push(waiting);
  };
  return () => {
    const self = {};
    const locks = {
      query: () => Promise.resolve({ held: [...held.keys()].map((name) => ({ name })) }),
      async request(name: string, options: LockOptions, granted: (lock: Lock | null) => unknown) {
        if (held.has(name)) {
          if (options.ifAvailable === true) return granted(null);
          await new Promise<void>((go) => queue.push({ name, go }));
          return granted({ name, mode: "shared" });
        }
        held.set(name, self);
        await granted({ name, mode: "exclusive" });
        return free(name);
      },
      end: () => {
        for (const [name, by] of held) if (by === self) free(name);
      },
    };
    return locks as typeof locks & LockManager;
  };
}

/** A storage that tabs share. */
function storage(): Storage {
  const kept = new Map<string, string>();
  return {
    get length() {
      return kept.size;
    },
    key: (place: number) => [...kept.keys()][place] ?? null,
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
    removeItem: (name: string) => void kept.delete(name),
  } as Storage;
}

/** A maker of tabs, and how one of them crashes. */
function tabs(kind: "locks" | "names"): () => { holding: Holding; end: () => void } {
  if (kind === "locks") {
    const make = lockManagers();
    return () => {
      const locks = make();
      return { holding: new Locks(locks), end: () => locks.end() };
    };
  }
  const [make, shared] = [channels(), storage()];
  return () => {
    const channel = make();
    return { holding: new Names(shared, channel, 5), end: () => channel.end() };
  };
}

for (const kind of ["locks", "names"] as const) {
  test(`${kind}: a run is one tab's, and the others know`, async () => {
    const open = tabs(kind);
    const [one, other] = [open(), open()];
    assert.equal(await one.holding.hold("a"), true);
    assert.equal(await one.holding.hold("a"), true, "a tab that has it has it");
    assert.equal(await other.holding.hold("a"), false);
    assert.equal(await other.holding.hold("b"), true);
    assert.deepEqual([...(await one.holding.elsewhere())], ["b"]);
    assert.deepEqual([...(await other.holding.elsewhere())], ["a"]);
    assert.equal(await open().holding.hold("b"), false);
  });

  test(`${kind}: a run that is let go is the others' to take`, async () => {
    const open = tabs(kind);
    const [one, other] = [open(), open()];
    await one.holding.hold("a");
    assert.equal((await other.holding.elsewhere()).has("a"), true);
    one.holding.release("a");
    await new Promise((done) => setTimeout(done, 0));
    assert.equal((await other.holding.elsewhere()).has("a"), false);
    assert.equal(await other.holding.hold("a"), true);
    assert.equal(await one.holding.hold("a"), false);
  });

  test(`${kind}: a tab that ends without a word has nothing any more`, async () => {
    const open = tabs(kind);
    const [one, other] = [open(), open()];
    await one.holding.hold("a");
    assert.equal(await other.holding.hold("a"), false);
    one.end();
    assert.equal(await other.holding.hold("a"), true);
  });
}

test("locks: that a run is let go is told to those who wait for it", async () => {
  const open = tabs("locks");
  const [one, other] = [open(), open()];
  await one.holding.hold("a");
  await other.holding.elsewhere();
  const told = new Promise<void>((done) => {
    other.holding.onChange = done;
  });
  one.holding.release("a");
  await told;
});

test("names: a tab that ends takes its names away, and nobody is waited for", async () => {
  const [make, shared] = [channels(), storage()];
  // With this patience the test would never end if somebody were waited for.
  const [one, other] = [new Names(shared, make(), 1e9), new Names(shared, make(), 1e9)];
  await one.hold("a");
  await one.hold("b");
  assert.deepEqual([...(await other.elsewhere())], ["a", "b"]);
  one.releaseAll();
  assert.equal(shared.length, 0);
  assert.deepEqual([...(await other.elsewhere())], []);
  assert.equal(await other.hold("a"), true);
});

test("names: the name of a tab that is gone is taken away; one that was given up too soon writes its own again", async () => {
  const [make, shared] = [channels(), storage()];
  const [busy, other] = [new Names(shared, make(), 5), new Names(shared, make(), 5)];
  await busy.hold("a");
  await busy.hold("b");
  shared.setItem("flambeau.hold.c", "nobody");
  // As if it had been too busy to answer for it.
  shared.removeItem("flambeau.hold.a");
  assert.deepEqual([...(await other.elsewhere())], ["b"]);
  assert.equal(shared.getItem("flambeau.hold.c"), null);
  assert.deepEqual([...(await other.elsewhere())].sort(), ["a", "b"]);
});
