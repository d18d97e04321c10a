import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery } from "../../src/app/url.js";
import { whatItNeeds } from "../../src/work/needs.js";
import { trainSchema } from "../../src/work/settings.js";

const settings = readQuery(trainSchema, new URLSearchParams("data=csv"));
const run = { settings, fingerprint: "0123456789abcdef" };

function given(fingerprint?: string) {
  const part = { items: new Uint8Array(2), labels: new Uint8Array(1) };
  const preparation = { kind: "picture" } as const;
  const set = { name: "a.csv", shape: [2], classes: ["a"], preparation, train: part, test: part };
  return { kind: "given" as const, set: { ...set, ...(fingerprint !== undefined && { fingerprint }) } };
}

test("a run says which data it needs, and by their fingerprint that others were chosen", () => {
  assert.match(whatItNeeds(run, undefined) ?? "", /^Choose the data .* \(a table, fingerprint 01234567\)/);
  assert.match(whatItNeeds(run, given("fedcba9876543210")) ?? "", /fingerprint fedcba98, not 01234567/);
  assert.equal(whatItNeeds(run, given(run.fingerprint)), undefined);
});

test("what is not known hinders nothing: the training worker looks at the data itself", () => {
  assert.equal(whatItNeeds(run, given()), undefined);
  assert.equal(whatItNeeds({ settings, fingerprint: undefined }, given("fedcba9876543210")), undefined);
  assert.equal(whatItNeeds(run, { kind: "included", name: "mnist", folder: "mnist/" }), undefined);
});
