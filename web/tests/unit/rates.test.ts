import assert from "node:assert/strict";
import { test } from "node:test";
import { rateAt, RatePlan, ratesParam, withChange } from "../../src/work/rates.js";

test("rates are written into an address and read back", () => {
  assert.deepEqual(ratesParam.read("100-0.003_250-1e-7"), [
    { step: 100, lr: 0.003 },
    { step: 250, lr: 1e-7 },
  ]);
  assert.equal(
    ratesParam.write([
      { step: 100, lr: 0.003 },
      { step: 250, lr: 1e-7 },
    ]),
    "100-0.003_250-1e-7",
  );
  assert.deepEqual([ratesParam.read(""), ratesParam.write([])], [[], ""]);
});

test("rates that make no sense are none", () => {
  for (const text of ["x", "5", "5-", "-5-1", "5-x", "1.5-1", "5--1", "5-101", "5-NaN", "5-1_5-2", "9-1_5-2", "5-1_", "5- "])
    assert.equal(ratesParam.read(text), undefined, text);
});

test("the rate of a step is that of the last change before it", () => {
  const rates = [
    { step: 10, lr: 2 },
    { step: 20, lr: 3 },
  ];
  assert.deepEqual(
    [0, 9, 10, 19, 20, 99].map((step) => rateAt(1, rates, step)),
    [1, 1, 2, 2, 3, 3],
  );
});

test("a change takes the place of what was planned from its step on", () => {
  const rates = [
    { step: 10, lr: 2 },
    { step: 20, lr: 3 },
  ];
  assert.deepEqual(withChange(rates, { step: 10, lr: 9 }), [{ step: 10, lr: 9 }]);
  assert.deepEqual(withChange(rates, { step: 15, lr: 9 }), [
    { step: 10, lr: 2 },
    { step: 15, lr: 9 },
  ]);
});

test("a plan repeated from its changes sets the same rates, also from the middle on", () => {
  const taken = (plan: RatePlan, steps: number, at: Record<number, number> = {}) =>
    Array.from({ length: steps }, () => {
      const by = at[plan.steps];
      if (by !== undefined) assert.equal(plan.change(by), plan.steps);
      const { lr } = plan.optimizer;
      plan.step();
      return lr;
    });
  const live = new RatePlan({ lr: 7 }, 0.1, []);
  const rates = taken(live, 6, { 0: 0.2, 3: 0.3, 4: 0.4 });
  assert.deepEqual(rates, [0.2, 0.2, 0.2, 0.3, 0.4, 0.4]);
  assert.deepEqual(taken(new RatePlan({ lr: 7 }, 0.1, live.rates), 6), rates);
  const middle = new RatePlan({ lr: 7 }, 0.1, live.rates);
  middle.load({ steps: 3 });
  assert.deepEqual(taken(middle, 3), rates.slice(3));
  assert.equal(middle.state().steps, 6);
});
