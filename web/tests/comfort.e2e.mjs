// What everybody feels: pages that do not jump while they open, and targets that a finger hits.
import { assert } from "./context.mjs";

const PAGES = ["train", "train?data=csv", "draw", "try", "playground", "learn", "benchmark", "device", "device?device=software"];

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
    async run({ open, until, page }) {
      await page.raw.addInitScript(watchShifts);
      for (const [width, height] of [
        [1280, 900],
        [360, 740],
      ]) {
        await page.setViewport({ width, height });
        for (const place of PAGES) {
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
          assert(sum < 0.1, `${place} at ${width} × ${height} shifts by ${sum.toFixed(3)}: ${moved}`);
        }
      }
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
