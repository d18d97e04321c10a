// A walk through the app as a newcomer takes it, by what can be seen and pressed: train, look inside, draw, bring a table,
// try the model, compare two runs, share one, and look into the other pages. Every press is the mouse's, on a control that is
// visible and free. `node tests/run.mjs chromium walk --pictures` takes the README's pictures on the way.
import { assert } from "./context.mjs";
import { PRICES, text } from "./files.mjs";
import { figure, finishes, reaches } from "./training.mjs";

/** What a reader does with hand and mouse. */
function handsOf({ page }) {
  const { raw } = page;
  const named = (role, name) => raw.getByRole(role, { name, exact: true }).filter({ visible: true }).first();
  return {
    press: (name) => named("button", name).click(),
    follow: (name) => named("link", name).click(),
    type: (label, value) => raw.getByLabel(label, { exact: true }).fill(String(value)),
    choose: (label, value) => raw.getByLabel(label, { exact: true }).selectOption(value),
    unfold: (words) => raw.locator("summary", { hasText: words }).filter({ visible: true }).first().click(),
    tick: (words, on) => raw.getByRole("checkbox", { name: words }).setChecked(on),
    /** Chooses a file where the button opens the browser's own window. */
    async bring(button, file) {
      const window = raw.waitForEvent("filechooser");
      await named("button", button).click();
      await (await window).setFiles(file);
    },
    /** Draws a line through these places of an element, in shares of its width. */
    async draw(selector, [first, ...rest]) {
      await raw.locator(selector).scrollIntoViewIfNeeded();
      const { x, y, width } = await raw.locator(selector).boundingBox();
      const at = ([across, down]) => [x + across * width, y + down * width];
      await raw.mouse.move(...at(first));
      await raw.mouse.down();
      for (const place of rest) await raw.mouse.move(...at(place), { steps: 4 });
      await raw.mouse.up();
    },
    /** Brings an element to the top of the screen, below the app's head, for a picture. */
    show: (selector) =>
      raw
        .locator(selector)
        .first()
        .evaluate((each) => {
          each.scrollIntoView();
          scrollBy(0, -68);
        }),
  };
}

/** Waits for the page of this title. */
const arrives = ({ until }, title) =>
  until((title) => document.querySelector("main h1")?.textContent === title, title, `the page ${title}`);

const SEVEN = [
  [0.28, 0.25],
  [0.5, 0.24],
  [0.7, 0.23],
  [0.6, 0.45],
  [0.5, 0.65],
  [0.45, 0.82],
];

export const tests = [
  {
    name: "from the first visit to a shared run, and through all pages",
    seconds: 300,
    async run(context) {
      const { page, address, sees, until, picture } = context;
      const { press, follow, type, choose, unfold, tick, bring, draw, show } = handsOf(context);

      // Train.
      await page.goto(address);
      await arrives(context, "Train");
      await press("Close: Training runs on the CPU here");
      await type("Most steps", 400);
      await press("Start");
      await reaches(context, 150);
      await picture("train");
      await finishes(context);
      const accuracy = parseFloat(await figure(context, "Test accuracy"));
      assert(accuracy > 85, `${accuracy} %`);

      // Look inside.
      for (const [view, mark] of [
        ["Mistakes", ".gallery canvas"],
        ["Filters", ".filters canvas"],
        ["Weights and gradients", ".histogram rect"],
        ["Network", ".network-drawing polygon"],
        ["Classes", ".confusion td.right"],
      ]) {
        await press(view);
        await until((mark) => document.querySelectorAll(mark).length > 4, mark, view);
        if (view === "Network") {
          await show(".panel:has(.network-drawing)");
          await picture("network");
        }
      }
      await show(".panel:has(.confusion)");
      await picture("inside");

      // Draw.
      await follow("Draw");
      await arrives(context, "Draw");
      await sees("nothing drawn yet");
      await draw(".pad", SEVEN);
      await until(() => document.querySelector(".answer-digit")?.textContent === "7", undefined, "the answer 7", 20);
      await picture("draw");

      // A table of one's own, and its model tried.
      await follow("Train");
      await arrives(context, "Train");
      await choose("Data set", "csv");
      await bring("Choose files", text("prices.csv", PRICES));
      await sees("“price” is predicted");
      await type("Most steps", 0);
      await type("Learning rate", 0.01);
      await press("Start");
      await until(() => document.querySelectorAll(".run-name").length === 2, undefined, "the second run");
      await finishes(context);
      await show(".own-steps");
      await picture("own-data");
      await follow("Try the model");
      await arrives(context, "Try");
      await type("width", 3);
      await type("height", 4);
      const near = () => Math.abs(Number(document.querySelector(".try-said")?.textContent) / 175 - 1) < 0.15;
      await until(near, undefined, "about 175 for 3 × 4", 20);
      await picture("try");

      // Two runs compared: the same network at another rate.
      await follow("Train");
      await arrives(context, "Train");
      await choose("Data set", "mnist");
      await press("MLP");
      await type("Batch size", 64);
      await type("Learning rate", 0.0001);
      await type("Most steps", 400);
      await press("Start");
      await until(() => document.querySelectorAll(".run-name").length === 3, undefined, "the third run");
      await finishes(context);
      await tick(/^2\. /, false);
      const slower = parseFloat(await figure(context, "Test accuracy"));
      assert(slower < accuracy, `${slower} % at a tenth of the rate, ${accuracy} % before`);
      await until(
        () =>
          [...document.querySelectorAll(".u-legend .u-label")].filter((each) => /^[13] training$/.test(each.innerText)).length ===
          6,
        undefined,
        "the curves of both runs in three charts",
      );
      await show(".panel:has(.curves)");
      await picture("compare");

      // Shared: the card, and the link, which another reader opens.
      await press("Details of run 1");
      await unfold("Result card");
      await until(() => document.querySelector(".result-card")?.naturalWidth === 1200, undefined, "the card");
      await show(".result-card");
      await picture("card");
      await press("Share run 1");
      await sees("It repeats this run, number for number");
      const link = await page.evaluate(() => navigator.clipboard.readText());
      const other = await context.freshProfile();
      await other.page.goto(link);
      await other.sees(`This link's run reached ${accuracy.toFixed(1)} %`);

      // The other pages.
      await follow("Playground");
      await arrives(context, "Playground");
      await press("Start");
      const steps = () => {
        const name = [...document.querySelectorAll("dt")].find((each) => each.textContent === "Step");
        return Number(name?.nextElementSibling.textContent.replace(/\D/g, "")) > 600;
      };
      await until(steps, undefined, "600 steps of the Playground");
      await press("Pause");
      await picture("playground");
      await follow("Learn");
      await arrives(context, "Learn");
      await until(() => document.querySelectorAll(".lessons > li").length === 5, undefined, "five lessons");
      await picture("learn");
      await follow("Benchmark");
      await arrives(context, "Benchmark");
      await choose(/^Device to compute on/, "software");
      await press("128");
      await press("Run");
      const compared = () => /correct|the reference/.test(document.querySelector(".table tbody")?.innerText ?? "");
      await until(compared, undefined, "a result of the benchmark");
      await until(
        () => [...document.querySelectorAll("button")].some((each) => each.textContent === "Run"),
        undefined,
        "its end",
        90,
      );
      await picture("benchmark");
      await follow("Device");
      await arrives(context, "Device");
      await press("Run the self-test");
      await until(() => document.querySelectorAll(".ops tbody tr").length > 20, undefined, "results of the self-test", 90);
      await press("Stop");
      await picture("device");
    },
  },
];
