// Figures of the built app in headless Chromium: `node scripts/measure.mjs [device]` (cpu unless told; software takes
// WebGPU on a software adapter). Prints; decides nothing.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { openBrowser } from "../tests/browsers.mjs";
import { serve } from "./serve.mjs";

const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const device = process.argv[2] ?? "cpu";
const STEPS = 300;
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;

function sizes() {
  const files = [["index.html", dist], ...readdirSync(`${dist}assets`).map((name) => [name, `${dist}assets/`])];
  const gzipped = files.map(([name, folder]) => [name, gzipSync(readFileSync(folder + name), { level: 9 }).byteLength]);
  const sum = (test) => gzipped.filter(([name]) => test(name)).reduce((total, [, bytes]) => total + bytes, 0);
  const first = sum((name) => /^index[.-]/.test(name) || /^train-/.test(name) || /^uPlot/.test(name));
  console.log(`Bundle, gzipped: ${kilobytes(first)} until the page Train stands; ${kilobytes(sum((name) => name.endsWith(".wasm")))} WebAssembly and ${kilobytes(sum((name) => /^train\.worker/.test(name)))} of its worker at the first run; ${kilobytes(sum(() => true))} all pages.`);
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
    times.push(await page.evaluate(() => new Promise((done) => {
      const look = () => {
        const start = [...document.querySelectorAll("button")].find((each) => each.textContent === "Start");
        if (start !== undefined && !start.disabled) done(performance.now());
        else requestAnimationFrame(look);
      };
      look();
    })));
    await page.close();
  }
  times.sort((a, b) => a - b);
  console.log(`Interactive (Start can be pressed): ${times[2].toFixed(0)} ms, the median of 5 visits with an empty cache.`);

  const page = await browser.newPage({ width: 1280, height: 900, dark: false });
  await page.goto(`${server.address}#/train?device=${device}&steps=${STEPS}`);
  const { long, gap, seconds } = await page.evaluate(async (steps) => {
    const long = [];
    let begun = performance.now();
    new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration, startTime }) => ({ duration, at: startTime - begun })))).observe({ type: "longtask", buffered: false });
    const button = () => [...document.querySelectorAll("button")].find((each) => each.textContent === "Start" && !each.disabled);
    while (button() === undefined) await new Promise((done) => setTimeout(done, 20));
    button().click();
    begun = performance.now();
    let [gap, last] = [0, performance.now()];
    const { port1, port2 } = new MessageChannel();
    let ended = false;
    port1.onmessage = () => {
      const now = performance.now();
      gap = Math.max(gap, now - last);
      last = now;
      if (!ended) setTimeout(() => port2.postMessage(0), 1);
    };
    port2.postMessage(0);
    await new Promise((done) => setTimeout(done, 300));
    while (button() === undefined && performance.now() - begun < 90_000) await new Promise((done) => setTimeout(done, 100));
    ended = true;
    return { long, gap, seconds: (performance.now() - begun) / 1000, steps };
  }, STEPS);
  const [longest] = long.sort((a, b) => b.duration - a.duration);
  console.log(`Main thread during ${STEPS} steps on ${device} (${seconds.toFixed(1)} s): ${long.length === 0 ? "no task of 50 ms or more" : `${long.length} tasks of 50 ms or more, the longest ${longest.duration.toFixed(0)} ms, ${(longest.at / 1000).toFixed(1)} s after the start`}; the longest gap between two turns of its loop ${gap.toFixed(0)} ms (waiting for a free core included).`);
} finally {
  await browser.close();
  server.close();
}
