import assert from "node:assert/strict";
import { test } from "node:test";
import { arrived, load } from "../../src/wasm.js";
import { bindings, EMPTY } from "./parts.js";

let panic: (message: string) => void = () => undefined;
bindings["on_panic"] = (tell: typeof panic) => {
  panic = tell;
};

test("a module that does not load is an error, and loading can be tried again", async () => {
  await assert.rejects(load(Uint8Array.of(1, 2, 3, 4)), WebAssembly.CompileError);
  await load(EMPTY);
});

test("what arrives is handed on, and so is an error", async () => {
  assert.equal(await arrived(Promise.resolve(3)), 3);
  await assert.rejects(arrived(Promise.reject(new Error("lost"))), /lost/);
});

test("a panic ends all that is waited for, under a trap's name", async () => {
  const waiting = [arrived(new Promise(() => undefined)), arrived(new Promise(() => undefined))];
  panic("index out of range");
  for (const each of waiting) {
    await assert.rejects(each, { name: "RuntimeError", message: /flambeau has stopped: index out of range/ });
  }
});
