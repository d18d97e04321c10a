// The Device page: what it shows, and a self-test that passes and runs every primitive.
import { assert } from "./context.mjs";

/** What the self-test says when it has ended or was stopped: no op may have failed. */
async function outcomeOf({ until, page }) {
  const outcome = await until(
    () =>
      [...document.querySelectorAll(".notice")].map((each) => each.innerText).find((text) => /ops (passed|failed)/.test(text)),
    undefined,
    "the self-test's end",
    100,
  );
  const failures = await page.evaluate(() =>
    [...document.querySelectorAll(".ops .field-problem")].map((each) => each.parentElement.textContent),
  );
  assert(/All \d+ ops passed/.test(outcome), `${outcome}\n${failures.join("\n")}`);
  const checks = Number(/([\d\s,.\u202f]+) comparisons/.exec(outcome)?.[1].replace(/\D/g, ""));
  assert(checks > 1000, `only ${checks} comparisons: ${outcome}`);
  return outcome;
}

/** The ops that the page has results of. */
const tested = (page) => page.evaluate(() => [...document.querySelectorAll(".ops tbody code")].map((each) => each.textContent));

export const tests = [
  {
    name: "the adapter, its limits and the ledger are shown",
    async run({ open, sees, accessible, until }) {
      await open("device?device=software");
      await sees("a CPU that plays a GPU");
      await sees("max storage buffers per shader stage");
      await sees("Plans and pipelines");
      await until(() => document.querySelectorAll(".chips li").length > 3, undefined, "features");
      await accessible();
    },
  },
  {
    // A CPU that plays a GPU compiles for minutes: the package's tests run all of the suite on it.
    name: "the self-test runs on the GPU, can be stopped, and what ran has passed",
    async run(context) {
      const { open, press, until, accessible, page } = context;
      await open("device?device=software");
      await press("Run the self-test");
      const many = () => [...document.querySelectorAll(".ops tbody code")].some((each) => each.textContent === "matmul");
      await until(many, undefined, "products", 100);
      await press("Stop");
      const outcome = await outcomeOf(context);
      assert(outcome.startsWith("Stopped."), outcome);
      const ops = await tested(page);
      assert(ops.length > 100 && ops.includes("add") && ops.includes("sum"), `tested: ${ops.join(", ")}`);
      await accessible();
    },
  },
  {
    name: "the self-test runs every primitive on the CPU, and all pass",
    async run(context) {
      const { open, press, page } = context;
      await open("device?device=cpu");
      await press("Run the self-test");
      const outcome = await outcomeOf(context);
      assert(outcome.includes("Every primitive of the library was run"), outcome);
      const ops = await tested(page);
      const missing = ["add", "exp", "matmul", "cumsum", "argsort", "attention", "recurrence", "refusals"].filter(
        (op) => !ops.includes(op),
      );
      assert(missing.length === 0, `not tested: ${missing.join(", ")}`);
    },
  },
];
