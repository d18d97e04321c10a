// Figures of the built app in headless Chromium: `node scripts/measure.mjs [device]` (cpu unless told; software takes
// WebGPU on a software adapter). Prints; decides nothing.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { openBrowser } from "../tests/browsers.mjs";
import { serve } from "./serve.mjs";
import { tasksDuring } from "./trace.mjs";

const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const device = process.argv[2] ?? "cpu";
const STEPS = 300;
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;

function sizes() {
  const files = [["index.html", dist], ...readdirSync(`${dist}assets`).map((name) => [name, `${dist}assets/`])];
  const gzipped = files.map(([name, folder]) => [name, gzipSync(readFileSync(folder + name), { level: 9 }).byteLength]);
  const sum = (test) => gzipped.filter(([name]) => test(name)).reduce((total, [, bytes]) => total + bytes, 0);
  const first = sum((name) => /^index[.-]/.test(name) || /^train-/.test(name) || /^uPlot/.test(name));
  console.log(
    `Bundle, gzipped: ${kilobytes(first)} until the page Train stands; ${kilobytes(sum((name) => /^(flambeau_bg|train\.worker)/.test(name)))} WebAssembly and worker at the first run, ${kilobytes(sum((name) => /^flambeau_later/.test(name)))} more after its first step; ${kilobytes(sum(() => true))} all pages.`,
  );
  const mnist = readdirSync(`${dist}mnist`).reduce((total, name) => total + statSync(`${dist}mnist/${name}`).size, 0);
  console.log(`MNIST: ${(mnist / 1e6).toFixed(1)} MB, fetched when a run needs it.`);
}

const server = await serve();
const browser = await openBrowser("chromium");
try {
  sizes();
  const times = [];
  for (let time = 0; time < 5; time += 1) {
    const page = await browser.newPage({ width: 1280, height: 900, dark: false });
    await page.goto(`${server.address}#/train?device=${device}`);
    times.push(
      await page.evaluate(
        () =>
          new Promise((done) => {
            const look = () => {
              const start = [...document.querySelectorAll("button")].find((each) => each.textContent === "Start");
              if (start !== undefined && !start.disabled) done(performance.now());
              else requestAnimationFrame(look);
            };
            look();
          }),
      ),
    );
    await page.close();
  }
  times.sort((a, b) => a - b);
  console.log(`Interactive (Start can be pressed): ${times[2].toFixed(0)} ms, the median of 5 visits with an empty cache.`);

  const page = await browser.newPage({ width: 1280, height: 900, dark: false });
  await page.goto(`${server.address}#/train?device=${device}&steps=${STEPS}`);
  const tasks = await tasksDuring(page, async () => {
    const isOver = () =>
      page.evaluate(() => /(Done|Failed)/.test(document.querySelector(".controls .progress")?.textContent ?? ""));
    await page.evaluate(async () => {
      const button = () =>
        [...document.querySelectorAll("button")].find((each) => each.textContent === "Start" && !each.disabled);
      while (button() === undefined) await new Promise((done) => setTimeout(done, 20));
      button().click();
    });
    const end = performance.now() + 90_000;
    while (!(await isOver()) && performance.now() < end) await new Promise((done) => setTimeout(done, 250));
  });
  const longest = (kind) => Math.max(...tasks.map((task) => task[kind])).toFixed(0);
  console.log(
    `Main thread during ${STEPS} steps on ${device}: the longest of ${tasks.length} tasks computes ${longest("cpu")} ms (${longest("wall")} ms by the clock, waiting for a free core included).`,
  );
} finally {
  await browser.close();
  server.close();
}
