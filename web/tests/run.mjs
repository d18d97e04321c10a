// The app's end-to-end tests, on the built app: `node tests/run.mjs [chromium|firefox] [part of a name] [--pictures]`.
// Each tests/<page>.e2e.mjs exports `tests`: objects { name, run(context), browsers?, launch?, page?, seconds? }. A test fails
// when it throws, when the console shows an error, and when it takes too long. `--pictures` saves screenshots in docs/images/.
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { serve } from "../scripts/serve.mjs";
import { openBrowser } from "./browsers.mjs";
import { makeContext } from "./context.mjs";

const BROWSERS = ["chromium", "firefox"];
const MOST_SECONDS = 150;

const args = process.argv.slice(2);
const pictures = args.includes("--pictures");
const words = args.filter((word) => !word.startsWith("--"));
const asked = words.filter((word) => BROWSERS.includes(word));
const part = words.find((word) => !BROWSERS.includes(word)) ?? "";

if (!existsSync(fileURLToPath(new URL("../dist/index.html", import.meta.url)))) {
  console.error("there is no web/dist: run `npm run build` first");
  process.exit(1);
}

const files = (await readdir(new URL(".", import.meta.url))).filter((name) => name.endsWith(".e2e.mjs")).sort();
const found = [];
for (const file of files) {
  const { tests } = await import(new URL(file, import.meta.url));
  const page = file.replace(".e2e.mjs", "");
  for (const test of tests) found.push({ browsers: ["chromium"], ...test, name: `${page}: ${test.name}` });
}

const server = await serve();
let failed = 0;
let ran = 0;
for (const name of BROWSERS) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const own = found.filter((test) => test.browsers.includes(name) && test.name.includes(part));
  if (own.length === 0) continue;
  console.log(`${name}:`);
  // Tests that ask for their own start of the browser get it; the others share one.
  let shared;
  for (const test of own) {
    const start = performance.now();
    if (test.launch === undefined) shared ??= await openBrowser(name);
    const browser = test.launch === undefined ? shared : await openBrowser(name, test.launch);
    const context = await makeContext(browser, server.address, { pictures, page: test.page });
    let problem;
    let late;
    const { seconds = MOST_SECONDS } = test;
    try {
      await Promise.race([
        test.run(context),
        new Promise((_, reject) => (late = setTimeout(() => reject(new Error(`not done after ${seconds} s`)), seconds * 1000))),
      ]);
      if (context.errors.length > 0) problem = `the console shows errors:\n    ${context.errors.join("\n    ")}`;
    } catch (error) {
      problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const seen = await context.seen().catch(() => "");
      problem += context.errors.length > 0 ? `\n    console: ${context.errors.join("\n    ")}` : "";
      problem += `\n    the page shows: ${seen}`;
    }
    clearTimeout(late);
    await context.close().catch(() => undefined);
    if (browser !== shared) await browser.close();
    ran += 1;
    failed += problem === undefined ? 0 : 1;
    const took = `${((performance.now() - start) / 1000).toFixed(1)} s`;
    console.log(problem === undefined ? `  ok      ${test.name} (${took})` : `  FAILED  ${test.name} (${took})\n    ${problem}`);
  }
  await shared?.close();
}
server.close();
console.log(failed === 0 ? `all ${ran} passed` : `${failed} of ${ran} failed`);
process.exit(failed === 0 && ran > 0 ? 0 : 1);
