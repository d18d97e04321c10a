import assert from "node:assert/strict";
import { test } from "node:test";
import { Asking, type Holding, Locks } from "../../src/work/holding.js";

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

/** A maker of tabs, and how one of them ends. */
function tabs(kind: "locks" | "asking"): () => { holding: Holding; end: () => void } {
  if (kind === "locks") {
    const make = lockManagers();
    return () => {
      const locks = make();
      return { holding: new Locks(locks), end: () => locks.end() };
    };
  }
  const make = channels();
  return () => {
    const channel = make();
    return { holding: new Asking(channel, 5), end: () => channel.end() };
  };
}

for (const kind of ["locks", "asking"] as const) {
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

  test(`${kind}: a run that is let go is told to the others, and theirs to take`, async () => {
    const open = tabs(kind);
    const [one, other] = [open(), open()];
    await one.holding.hold("a");
    assert.equal((await other.holding.elsewhere()).has("a"), true);
    const told = new Promise<void>((done) => {
      other.holding.onChange = done;
    });
    one.holding.release("a");
    await told;
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

test("asking: two tabs that want a run at once do not both get it", async () => {
  const open = tabs("asking");
  const [one, other] = [open(), open()];
  const got = await Promise.all([one.holding.hold("a"), other.holding.hold("a")]);
  assert.ok(got.filter((each) => each).length <= 1, got.join());
});

test("asking: an answer that comes late is news, one that was asked for is none", async () => {
  const make = channels();
  const [asker, channel] = [make(), make()];
  const holding = new Asking(asker, 5);
  let news = 0;
  holding.onChange = () => {
    news += 1;
  };
  const first = holding.elsewhere();
  channel.postMessage({ kind: "mine", runs: ["a"] });
  assert.deepEqual([...(await first)], ["a"]);
  assert.equal(news, 0);
  channel.postMessage({ kind: "mine", runs: ["a"] });
  await new Promise((done) => setTimeout(done, 0));
  assert.equal(news, 1);
});
