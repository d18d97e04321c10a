// The longest task of the main thread while each page opens, and while a run is trained, watched and looked into, in headless Chromium:
// `node scripts/tasks.mjs [device] [most] [part of a name]` (cpu; 50 ms). Fails if a task computes longer. For a quiet machine: no part of the tests.
import { openBrowser } from "../tests/browsers.mjs";
import { finishes } from "../tests/training.mjs";
import { makeContext } from "../tests/context.mjs";
import { serve } from "./serve.mjs";
import { longestOf, tasksDuring } from "./trace.mjs";

const [device = "cpu", most = "50", part = ""] = process.argv.slice(2);
const PAGES = ["train", "train?data=csv", "draw", "try", "playground", "learn", "benchmark", "device"];
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

const server = await serve();
const browser = await openBrowser("chromium");
let failed = 0;

/** Measures what is done with a fresh page. */
async function measure(name, body, before = async () => undefined) {
  if (!name.includes(part)) return;
  const context = await makeContext(browser, server.address, { pictures: false });
  await before(context);
  const tasks = await tasksDuring(context.page, () => body(context));
  const { cpu, wall, inside } = longestOf(tasks);
  const over = tasks.filter((task) => task.cpu > Number(most)).length;
  failed += over;
  console.log(
    `${name.padEnd(34)} ${cpu.toFixed(0).padStart(4)} ms computed, ${wall.toFixed(0).padStart(4)} ms by the clock, of ${tasks.length} tasks${over > 0 ? `; ${over} over ${most} ms: ${inside().join(" > ")}` : ""}`,
  );
  await context.close();
}

try {
  for (const place of PAGES)
    await measure(`opening ${place}`, async ({ open, until }) => {
      await open(place.includes("?") ? `${place}&device=${device}` : `${place}?device=${device}`);
      await until(() => document.querySelector(".progress-fill.unknown") === null, undefined, place);
      await wait(1500);
    });
  const ready = ({ open }) => open(`train?device=${device}&steps=400`);
  await measure(
    "a run of 400 steps, to its end",
    async (context) => {
      await context.press("Start");
      await finishes(context, 300);
      await wait(500);
    },
    ready,
  );
  await measure(
    "share, show as code, details of a run",
    async ({ press, until }) => {
      await press("Share link");
      await until(() => document.querySelector("svg.qr") !== null, undefined, "the QR code");
      await press("Show as code");
      await until(() => document.querySelector("pre.code") !== null, undefined, "the program");
      await press("Details of run 1");
      await wait(1000);
    },
    async (context) => {
      await ready(context);
      await context.press("Start");
      await finishes(context, 300);
    },
  );
} finally {
  await browser.close();
  server.close();
}
console.log(failed === 0 ? `no task over ${most} ms` : `${failed} tasks over ${most} ms`);
process.exit(failed === 0 ? 0 : 1);
