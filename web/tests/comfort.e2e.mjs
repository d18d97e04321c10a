// What everybody feels: pages that do not jump while they open, and targets that a finger hits.
import { assert } from "./context.mjs";
import { finishes } from "./training.mjs";

const PAGES = [
  "train",
  "train?data=csv",
  "draw",
  "try",
  "playground",
  "together",
  "learn",
  "benchmark",
  "device",
  "device?device=software",
];

/** Notes every layout shift that no input has caused, with what moved. */
function watchShifts() {
  globalThis.shifts = [];
  const told = (list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
      const moved = sources.map(({ node, previousRect, currentRect }) => {
        const name = node?.className || node?.nodeName;
        return `${name} from ${Math.round(previousRect.top)} to ${Math.round(currentRect.top)}`;
      });
      if (!hadRecentInput) globalThis.shifts.push({ value, moved });
    }
  };
  new PerformanceObserver(told).observe({ type: "layout-shift", buffered: true });
}

/** Opens a place anew, and fails where it jumps: `when` says how it is looked at. */
async function opensStill({ open, until, page }, place, when) {
  await page.goto("about:blank");
  await open(place);
  await until(() => document.querySelector(".progress-fill.unknown") === null, undefined, `${place} is there`);
  // Whatever comes late has come two frames after nothing moved for a while.
  let before = -1;
  for (let now = 0; now !== before; now = await page.evaluate(() => globalThis.shifts.length)) {
    before = now;
    await new Promise((done) => setTimeout(done, 400));
  }
  const shifts = await page.evaluate(() => globalThis.shifts);
  const sum = shifts.reduce((total, { value }) => total + value, 0);
  const moved = shifts.map(({ value, moved }) => `${value.toFixed(3)}: ${moved.join(", ")}`).join("; ");
  assert(sum < 0.1, `${place} ${when} shifts by ${sum.toFixed(3)}: ${moved}`);
}

/** Runs in the page: what can be pressed and is smaller than a finger. Links inside of sentences are as high as their line. */
function smallTargets() {
  const found = [...document.querySelectorAll("button, select, summary, a[href], input, label.check")];
  return found
    .filter((each) => {
      const isInside = each.matches("p a, label.check input, .visually-hidden, .skip, [tabindex='-1']") || each.closest("p");
      return !isInside && each.checkVisibility();
    })
    .map((each) => {
      const { width, height } = each.getBoundingClientRect();
      const name = each.getAttribute("aria-label") ?? (each.innerText || each.id || each.className);
      return {
        name: `${each.tagName.toLowerCase()} “${name.slice(0, 30)}” ${Math.round(width)} × ${Math.round(height)}`,
        width,
        height,
      };
    })
    .filter(({ width, height }) => width < 43.5 || height < 43.5)
    .map(({ name }) => name);
}

export const tests = [
  {
    name: "no page jumps while it opens: layout shift under 0.1, at a desk and on a phone",
    async run(context) {
      const { page } = context;
      await page.raw.addInitScript(watchShifts);
      for (const [width, height] of [
        [1280, 900],
        [360, 740],
      ]) {
        await page.setViewport({ width, height });
        for (const place of PAGES) {
          await opensStill(context, place, `at ${width} × ${height}`);
        }
      }
    },
  },
  {
    name: "a link's result, kept runs, seeds and a sweep neither make the page jump nor have targets that are too small",
    page: { width: 390, height: 844, touch: true },
    // Five runs, one after the other.
    seconds: 300,
    async run(context) {
      const { open, press, fill, until, page, accessible } = context;
      await page.raw.addInitScript(watchShifts);
      await open("train?device=cpu&steps=10&seeds=3&layers=flatten_linear-10");
      await press("Start");
      for (const run of [2, 3])
        await until((run) => document.querySelectorAll(".run-name").length === run, run, `run ${run} after another`, 90);
      await finishes(context);
      await press("Set up a sweep");
      await fill("Values down", "0.1 0.01");
      await fill("Values across", "8");
      await press("Train 2 runs");
      for (const run of [4, 5])
        await until((run) => document.querySelectorAll(".run-name").length === run, run, `run ${run} of the sweep`, 90);
      await finishes(context);
      await press("Details of run 1");
      await press("Share run 1");
      await until(() => document.body.innerText.includes("The link is on the clipboard"), undefined, "the link");
      const link = await page.evaluate(() => navigator.clipboard.readText());
      for (const [width, height] of [
        [1280, 900],
        [390, 844],
      ]) {
        await page.setViewport({ width, height });
        await opensStill(context, link.split("#/")[1], `at ${width} × ${height}`);
        assert(await page.evaluate(() => document.body.innerText.includes("Yours reached")), "the link's result is not shown");
        assert((await page.evaluate(() => document.querySelectorAll(".sweep-cell").length)) === 2, "the sweep is not shown");
      }
      await press("Details of run 1");
      await press("Result card: the run as a picture, to copy or save");
      await press("Network");
      await until(
        () =>
          document.querySelector(".result-card")?.naturalWidth === 1200 && document.querySelector(".network-drawing") !== null,
        undefined,
        "the card and the drawing",
      );
      const small = await page.evaluate(smallTargets);
      assert(small.length === 0, small.join("; "));
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert(over <= 0, `the page is ${over} px too wide`);
      await accessible();
    },
  },
  {
    name: "fingers have targets of 44 pixels on every page",
    page: { width: 390, height: 844, touch: true },
    async run({ open, until, page, press }) {
      const coarse = await page.evaluate(() => matchMedia("(pointer: coarse)").matches);
      assert(coarse, "the browser has no fingers");
      for (const place of PAGES) {
        await page.goto("about:blank");
        await open(place);
        await until(() => document.querySelector(".progress-fill.unknown") === null, undefined, `${place} is there`);
        if (place === "train") await press("CNN");
        const small = await page.evaluate(smallTargets);
        assert(small.length === 0, `${place}: ${small.join("; ")}`);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert(over <= 0, `${place} is ${over} px too wide`);
      }
    },
  },
];
