// Does a long run stay as light as it began? `node scripts/hour.mjs [minutes] [device]` (60, cpu) trains in headless Chromium with batches so
// small that the page gets very many reports, and notes every minute what the main thread has computed and what memory it holds. It fails
// if either grows: memory, or the time for as many reports and drawings. Not the clock but the thread's own time is counted, so other work on the
// machine, which makes reports come slower, disturbs less.
import { openBrowser } from "../tests/browsers.mjs";
import { makeContext } from "../tests/context.mjs";
import { stepNow } from "../tests/training.mjs";
import { serve } from "./serve.mjs";

const [minutes = "60", device = "cpu"] = process.argv.slice(2);
/** Minutes at the beginning that do not count: code is compiled, caches fill. */
const WARM = 2;
/** What is still flat: from the first minute to the last at most this share of the mean more, of memory also so many MB. */
const SHARE = 0.15;
const LEAST = 3;
/** A report comes after so many steps, and its point in the curve takes so much: four numbers, in MB. The curve must grow, all else must not. */
const REPORT = 10;
const POINT = 32e-6;
/** The page draws at most so often in a minute; where fewer reports come, each is drawn. */
const MOST_FRAMES = 600;

const server = await serve();
const browser = await openBrowser("chromium");
const context = await makeContext(browser, server.address, { pictures: false });
const { page } = context;
const session = await page.raw.context().newCDPSession(page.raw);

/** What the browser knows of the page: seconds of the thread's time, bytes after a collection, elements, points that are drawn. */
async function look() {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const of = Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  const drawn = await page.evaluate(() =>
    [...document.querySelectorAll(".uplot")].reduce((sum, each) => sum + Number(each.dataset.points ?? 0), 0),
  );
  const step = await stepNow(context);
  const heap = of.JSHeapUsedSize / 1e6;
  return { thread: of.TaskDuration, heap, rest: heap - (step / REPORT) * POINT, nodes: of.Nodes, drawn, step };
}

/** The factors by which the columns add up to the values as nearly as can be (least squares). */
function fit(columns, values) {
  const dot = (one, other) => one.reduce((sum, value, place) => sum + value * other[place], 0);
  const rows = columns.map((column) => [...columns.map((other) => dot(column, other)), dot(column, values)]);
  for (const [place, row] of rows.entries()) {
    for (const other of rows) {
      if (other === row) continue;
      const share = other[place] / row[place];
      for (const [at, value] of row.entries()) other[at] -= share * value;
    }
  }
  return rows.map((row, place) => row.at(-1) / row[place]);
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** How much values rise from the first to the last, as a share of their mean, beyond what the columns explain. */
function rise(values, columns) {
  const along = values.map((_, place) => mean(values) * (place / (values.length - 1) - 0.5));
  return fit([...columns, along], values).at(-1);
}

const rows = [];
try {
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await context.open(`train?device=${device}&batch=8&epochs=1000&layers=flatten_linear-16_relu_linear-10`);
  await context.press("Start");
  await context.until(
    () => /step [1-9]/.test(document.querySelector(".controls .progress")?.textContent ?? ""),
    undefined,
    "the first steps",
  );
  let before = await look();
  console.log("minute     steps  main thread (s)  heap (MB)  without the curve  elements  points drawn");
  for (let minute = 1; minute <= Number(minutes); minute += 1) {
    await new Promise((done) => setTimeout(done, 60_000));
    const now = await look();
    const thread = now.thread - before.thread;
    const reports = (now.step - before.step) / REPORT;
    rows.push({ thread, reports, rest: now.rest });
    console.log(
      [
        String(minute).padStart(6),
        String(now.step).padStart(9),
        thread.toFixed(2).padStart(16),
        now.heap.toFixed(1).padStart(10),
        now.rest.toFixed(1).padStart(18),
        String(now.nodes).padStart(9),
        String(now.drawn).padStart(13),
      ].join(" "),
    );
    before = now;
  }
} finally {
  await context.close();
  await browser.close();
  server.close();
}
const kept = rows.slice(WARM);
if (kept.length < 3) throw new Error(`${minutes} minutes are too few: at least ${WARM + 3}`);
const thread = kept.map((row) => row.thread);
const reports = kept.map((row) => row.reports);
const frames = reports.map((count) => Math.min(count, MOST_FRAMES));
const slower = rise(thread, [reports, frames]);
const rest = kept.map((row) => row.rest);
const larger = rise(rest, [rest.map(() => 1)]);
const percent = (share) => `${share >= 0 ? "+" : ""}${(100 * share).toFixed(1)} %`;
const isFlat = slower <= SHARE && (larger <= SHARE || larger * mean(rest) <= LEAST);
console.log(
  `main thread: ${mean(thread).toFixed(2)} s a minute; for as many reports ${percent(slower)} over ${kept.length} minutes`,
);
console.log(`heap without the curve: ${mean(rest).toFixed(2)} MB; ${percent(larger)} over ${kept.length} minutes`);
console.log(isFlat ? "flat" : "it grows");
process.exit(isFlat ? 0 : 1);
