// The size for a projector: large text and charts on every page, nothing cut off, kept between visits.
import { assert } from "./context.mjs";
import { finishes } from "./training.mjs";

const PAGES = ["train", "train?data=csv", "draw", "try", "playground", "together", "learn", "benchmark", "device"];
const SIZES = [
  [1280, 800],
  [1920, 1080],
];

/** Runs in the page: what sticks out of the screen, or of its own frame without a way to scroll there. */
function cutOff() {
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const found = wide > 0 ? [`the page, by ${wide} px`] : [];
  const scrolls = (element) =>
    element !== null && (/auto|scroll|hidden|clip/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  for (const each of document.querySelectorAll("#root *")) {
    if (!each.checkVisibility() || each.matches(".visually-hidden, .visually-hidden *, .skip, svg *, .u-wrap *")) continue;
    const name = `${each.tagName.toLowerCase()}.${each.getAttribute("class") ?? ""} “${(each.textContent ?? "").trim().slice(0, 30)}”`;
    const { right, left, width } = each.getBoundingClientRect();
    if (width > 0 && (right > innerWidth + 1 || left < -1) && !scrolls(each.parentElement))
      found.push(`${name} leaves the screen`);
    const isWord = each.matches("button, select, label, th, td, dt, dd, h1, h2, h3, summary, a") && each.children.length === 0;
    if (isWord && each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0 && !each.matches("a, label, select"))
      found.push(`${name} is cut: ${each.scrollWidth} in ${each.clientWidth} px`);
  }
  return found;
}

const rootSize = (page) => page.evaluate(() => Number.parseFloat(getComputedStyle(document.documentElement).fontSize));
const chartHeight = (page) => page.evaluate(() => document.querySelector(".chart canvas")?.getBoundingClientRect().height ?? 0);

export const tests = [
  {
    name: "text and charts are large, nothing is cut off, and it stays until it is turned off",
    browsers: ["chromium", "firefox"],
    page: { width: 1280, height: 800 },
    async run(context) {
      const { open, press, page, until, accessible } = context;
      await open("train?device=cpu&steps=40&items=640");
      await press("Start");
      await finishes(context);
      const [text, chart] = [await rootSize(page), await chartHeight(page)];
      await press("Large");
      await until(
        (before) => document.querySelector(".chart canvas").getBoundingClientRect().height > 1.3 * before,
        chart,
        "charts grow",
      );
      assert((await rootSize(page)) > 1.3 * text, "text does not grow");
      for (const [width, height] of SIZES) {
        await page.setViewport({ width, height });
        await new Promise((done) => setTimeout(done, 300));
        const found = await page.evaluate(cutOff);
        assert(found.length === 0, `a run at ${width} × ${height}: ${found.join("; ")}`);
      }
      await accessible();
      await page.reload();
      await until(() => document.querySelector("main h1") !== null, undefined, "the page again");
      assert((await rootSize(page)) > 1.3 * text, "it is forgotten at a reload");
      await press("Large");
      assert((await rootSize(page)) === text, "it cannot be turned off");
    },
  },
  {
    name: "every page fits at 1280 × 800 and at 1920 × 1080",
    async run({ open, press, page, until }) {
      await open("learn");
      await press("Large");
      for (const [width, height] of SIZES) {
        await page.setViewport({ width, height });
        for (const place of PAGES) {
          await page.goto("about:blank");
          await open(place);
          await until(() => document.querySelector(".progress-fill.unknown") === null, undefined, `${place} is there`);
          const found = await page.evaluate(cutOff);
          assert(found.length === 0, `${place} at ${width} × ${height}: ${found.join("; ")}`);
        }
      }
    },
  },
];
