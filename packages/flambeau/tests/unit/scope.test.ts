import assert from "node:assert/strict";
import { test } from "node:test";
import { closed, type Disposable, leaveScopes, opened, scope } from "../../src/scope.js";

class Thing implements Disposable {
  disposed = 0;
  constructor() {
    opened(this, 1);
  }
  dispose(): void {
    this.disposed += 1;
    closed(this);
  }
}

test("what is made in a scope ends with it, but for what it returns", () => {
  const inner: Thing[] = [];
  const kept = scope(() => {
    inner.push(new Thing(), new Thing());
    return new Thing();
  });
  assert.deepEqual([inner.map(({ disposed }) => disposed), kept.disposed], [[1, 1], 0]);
});

test("a scope returns things in lists and in objects", () => {
  const { list, one } = scope(() => ({ list: [new Thing(), [new Thing()]] as const, one: new Thing() }));
  assert.deepEqual([list[0].disposed, list[1][0]?.disposed, one.disposed], [0, 0, 0]);
});

test("what a scope returns belongs to the scope around it", () => {
  let seen: Thing | undefined;
  scope(() => {
    seen = scope(() => new Thing());
    assert.equal(seen.disposed, 0);
  });
  assert.equal(seen?.disposed, 1);
});

test("what was kept outlives every scope around it", () => {
  const made: Thing[] = [];
  scope(() =>
    scope(() => {
      const thing = new Thing();
      made.push(thing);
      leaveScopes(thing);
    }),
  );
  assert.equal(made[0]?.disposed, 0);
});

test("an error ends what was made before it, and leaves the scope", () => {
  const made: Thing[] = [];
  assert.throws(
    () =>
      scope(() => {
        made.push(new Thing());
        throw new Error("on the way");
      }),
    /on the way/,
  );
  assert.equal(made[0]?.disposed, 1);
  scope(() => {
    assert.throws(() => scope(() => assert.fail()));
    made.push(new Thing());
  });
  assert.equal(made[1]?.disposed, 1, "what comes after it belongs to the scope around it");
});

test("a scope cannot wait, and says so", () => {
  assert.throws(() => scope(() => Promise.resolve(1)), /cannot wait/);
});

test("what has ended by hand is not ended again", () => {
  const made: Thing[] = [];
  scope(() => {
    const thing = new Thing();
    made.push(thing);
    thing.dispose();
  });
  assert.equal(made[0]?.disposed, 1);
});
