import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { getFloat32MatmulPrecision, matmulPrecision, type Precision, setFloat32MatmulPrecision } from "../../src/precision.js";
import { load } from "../../src/wasm.js";
import { bindings, EMPTY } from "./parts.js";

let isHigh = false;
let scopes: boolean[] = [];

before(async () => {
  await load(EMPTY);
  bindings["precision_set"] = (high: boolean) => {
    isHigh = high;
  };
  bindings["precision_is_high"] = () => isHigh;
  bindings["precision_enter"] = (high: boolean) => scopes.push(high);
  bindings["precision_leave"] = () => scopes.pop();
});

beforeEach(() => {
  [isHigh, scopes] = [false, []];
});

test("the page's word is the one that was said last", () => {
  assert.equal(getFloat32MatmulPrecision(), "highest");
  setFloat32MatmulPrecision("high");
  assert.equal(getFloat32MatmulPrecision(), "high");
  setFloat32MatmulPrecision("highest");
  assert.equal(getFloat32MatmulPrecision(), "highest");
});

test("a scope holds for its function, nests, and ends with an error too", () => {
  const seen = matmulPrecision("high", () => [...scopes, ...matmulPrecision("highest", () => [...scopes])]);
  assert.deepEqual(seen, [true, true, false]);
  assert.throws(
    () =>
      matmulPrecision("high", () => {
        throw new Error("inside");
      }),
    /inside/,
  );
  assert.throws(() => matmulPrecision("high", () => Promise.resolve()), /matmulPrecision cannot wait/);
  assert.deepEqual(scopes, []);
});

test("another word is an error, and changes nothing", () => {
  const medium = "medium" as Precision;
  assert.throws(() => setFloat32MatmulPrecision(medium), /there is no precision medium: highest or high/);
  assert.throws(() => matmulPrecision(medium, () => 1), /there is no precision medium/);
  assert.equal(getFloat32MatmulPrecision(), "highest");
  assert.deepEqual(scopes, []);
});
