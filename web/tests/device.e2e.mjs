// The Device page: what it shows, and a self-test that passes on a GPU and covers every op.
import { readFileSync } from "node:fs";
import { assert } from "./context.mjs";

/** The ops that the package's table has. */
function opsOfThePackage() {
  const source = readFileSync(new URL("../../packages/flambeau/src/generated/ops.ts", import.meta.url), "utf8");
  return [...source.matchAll(/^(?:export function |\s+)([a-zA-Z0-9]+)\(.*\{$/gm)].map(([, name]) => name);
}

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
    name: "the self-test compares every op with the CPU, and all pass",
    async run({ open, press, until, accessible, page, picture }) {
      await open("device?device=software");
      await press("Run the self-test");
      const outcome = await until(
        () =>
          [...document.querySelectorAll(".notice")]
            .map((each) => each.innerText)
            .find((text) => /ops (passed|failed)/.test(text)),
        undefined,
        "the self-test's end",
        95,
      );
      const failures = await page.evaluate(() =>
        [...document.querySelectorAll(".ops .field-problem")].map((each) => each.parentElement.textContent),
      );
      assert(outcome.startsWith("All "), `${outcome}\n${failures.join("\n")}`);
      assert(outcome.includes("Every op of the package has a test"), outcome);
      const tested = await page.evaluate(() => [...document.querySelectorAll(".ops tbody code")].map((each) => each.textContent));
      const missing = opsOfThePackage().filter((op) => !tested.includes(op));
      assert(missing.length === 0, `not tested: ${missing.join(", ")}`);
      const pipelines = await page.evaluate(() => {
        const term = [...document.querySelectorAll(".figures dt")].find((each) => each.textContent === "Pipelines");
        return Number(term.nextElementSibling.textContent.replace(/\D/g, ""));
      });
      assert(pipelines > 100, `only ${pipelines} pipelines were made`);
      await accessible();
      await picture("device");
    },
  },
  {
    name: "on the CPU it says that there is nothing to compare with",
    async run({ open, sees, press }) {
      await open("device?device=cpu");
      await sees("nothing to compare with");
      await press("Run the self-test");
      await sees("ops passed", 40);
    },
  },
];
