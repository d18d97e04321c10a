import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { readQuery } from "../../src/app/url.js";
import { forgetSession, freeCheckpoints, lastSession, type Session, saveSession } from "../../src/work/session.js";
import { trainSchema } from "../../src/work/settings.js";

const kept = new Map<string, string>();
let room = Number.POSITIVE_INFINITY;
globalThis.localStorage = {
  getItem: (name: string) => kept.get(name) ?? null,
  setItem: (name: string, text: string) => {
    if (text.length > room) throw new DOMException("no room", "QuotaExceededError");
    kept.set(name, text);
  },
  removeItem: (name: string) => void kept.delete(name),
} as Storage;

const settings = readQuery(trainSchema, new URLSearchParams("seed=7&optimizer=lion"));
const session = (points = 3, checkpoints = "session-0"): Session => {
  const list = (scale: number) => Array.from({ length: points }, (_, at) => scale * at);
  const curve = { step: list(10), loss: list(0.5), accuracy: list(0.1), testStep: [100], testLoss: [0.2], testAccuracy: [0.9] };
  return { checkpoints, settings, device: "cpu", step: 30, steps: 90, curve, date: 5 };
};

beforeEach(() => {
  kept.clear();
  room = Number.POSITIVE_INFINITY;
});

test("a session is kept and read back whole", () => {
  assert.equal(lastSession(), undefined);
  saveSession(session());
  assert.deepEqual(lastSession(), session());
  forgetSession();
  assert.equal(lastSession(), undefined);
});

test("a long curve is thinned evenly, tests stay", () => {
  saveSession(session(4000));
  const curve = lastSession()?.curve;
  assert.ok(curve);
  assert.ok(curve.step.length <= 1500 && curve.step.length > 1000, `${curve.step.length} points`);
  assert.deepEqual([curve.step.slice(0, 3), curve.loss.length, curve.testStep], [[0, 30, 60], curve.step.length, [100]]);
});

test("where there is no room the run is not offered again, rather than an old one", () => {
  saveSession(session());
  room = 10;
  saveSession({ ...session(), step: 60 });
  assert.equal(lastSession(), undefined);
});

test("what is no session is none", () => {
  for (const text of ["{oops", "null", "3", "{}", '{"checkpoints":3}']) {
    kept.set("flambeau.session", text);
    assert.equal(lastSession(), undefined, text);
  }
});

test("a new run's checkpoints are never those of the run that waits to be resumed", () => {
  assert.equal(freeCheckpoints(), "session-0");
  for (const name of ["session-0", "session-1"]) {
    saveSession(session(3, name));
    assert.notEqual(freeCheckpoints(), name);
  }
});
