// Does a long run stay as light as it began? `node scripts/hour.mjs [minutes] [device]` (60, cpu) trains in headless Chromium with batches so
// small that the page gets very many reports, and notes every minute what the main thread has computed, what its heap holds and what the
// tab's processes (the page and its worker) hold in memory. It fails if one of them grows: memory, or the time for as many reports and
// drawings. Not the clock but the thread's own time is counted, so other work on the machine, which makes reports come slower, disturbs less.
// Each minute is written as it ends; a run that is interrupted (Ctrl-C) is judged by the minutes that it had.
import { readFileSync } from "node:fs";
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
/** A report comes after so many steps. */
const REPORT = 10;
/** Bytes of a report in the curve: four numbers, and the step, which is a small one. */
const POINT = 4 * 8 + 4;
/** Bytes of each bucket of 16, 32, 64 … reports from which three curves are drawn: the least and the greatest value. */
const RANGES = 3 * 2 * 8;
const LOWEST = 16;
/** The page draws at most so often in a minute; where fewer reports come, each is drawn. */
const MOST_FRAMES = 600;

const server = await serve();
const browser = await openBrowser("chromium");
const context = await makeContext(browser, server.address, { pictures: false });
const { page } = context;
const session = await page.raw.context().newCDPSession(page.raw);
const chromium = page.raw.context().browser();
const processes = await chromium.newBrowserCDPSession();

/** The room of a list to which so many values were added one by one: V8 gives a list that is full half as much again. */
function roomOf(count) {
  let room = 0;
  while (room < count) room = room + 1 + ((room + 1) >> 1) + 16;
  return room;
}

/** The MB that the curve takes after so many reports: it must grow, all else must not. */
function curveSize(reports) {
  let bytes = roomOf(reports) * POINT;
  for (let bucket = LOWEST; bucket < reports; bucket *= 2) bytes += roomOf(Math.floor(reports / bucket)) * RANGES;
  return bytes / 1e6;
}

/** The MB that the tab's processes have for themselves, as Linux counts them; not a number elsewhere. */
async function processSize() {
  const { processInfo } = await processes.send("SystemInfo.getProcessInfo");
  const sizes = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => anonymous(id));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function anonymous(id) {
  try {
    return Number(/RssAnon:\s*(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, "utf8"))[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}

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
  const rest = heap - curveSize(step / REPORT);
  return { thread: of.TaskDuration, heap, rest, processes: await processSize(), nodes: of.Nodes, drawn, step };
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
let interrupt;
const interrupted = new Promise((resolve) => {
  interrupt = () => resolve(true);
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, interrupt);
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
  console.log(`Chromium ${chromium.version()}, device ${device}, ${new Date().toISOString()}`);
  console.log("minute     steps  main thread (s)  heap (MB)  without the curve  processes (MB)  elements  points drawn");
  for (let minute = 1; minute <= Number(minutes); minute += 1) {
    const over = new Promise((done) => setTimeout(done, 60_000));
    if (await Promise.race([over, interrupted])) break;
    const now = await look();
    const thread = now.thread - before.thread;
    const reports = (now.step - before.step) / REPORT;
    rows.push({ thread, reports, rest: now.rest, processes: now.processes });
    console.log(
      [
        String(minute).padStart(6),
        String(now.step).padStart(9),
        thread.toFixed(2).padStart(16),
        now.heap.toFixed(1).padStart(10),
        now.rest.toFixed(2).padStart(18),
        now.processes.toFixed(1).padStart(15),
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
if (kept.length < 3) throw new Error(`${rows.length} minutes are too few: at least ${WARM + 3}`);
const thread = kept.map((row) => row.thread);
const reports = kept.map((row) => row.reports);
const frames = reports.map((count) => Math.min(count, MOST_FRAMES));
// Where every report is drawn, one of the two says it all.
const slower = rise(thread, frames.every((count, place) => count === reports[place]) ? [reports] : [reports, frames]);
const percent = (share) => `${share >= 0 ? "+" : ""}${(100 * share).toFixed(1)} %`;
console.log(
  `main thread: ${mean(thread).toFixed(2)} s a minute; for as many reports and drawings ${percent(slower)} over ${kept.length} minutes`,
);
/** Does memory stay as it is? */
function stays(name, sizes) {
  const larger = rise(sizes, [sizes.map(() => 1)]);
  console.log(`${name}: ${mean(sizes).toFixed(2)} MB; ${percent(larger)} over ${kept.length} minutes`);
  return larger <= SHARE || larger * mean(sizes) <= LEAST;
}
const rest = kept.map((row) => row.rest);
const sizes = kept.map((row) => row.processes);
const isFlat = [
  slower <= SHARE,
  stays("heap without the curve", rest),
  sizes.some(Number.isNaN) || stays("processes of the tab", sizes),
].every(Boolean);
console.log(isFlat ? "flat" : "it grows");
process.exit(isFlat ? 0 : 1);
