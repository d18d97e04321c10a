// The first screen: learning is seen one click after opening, at a desk and on a phone; the app's own model; signs of training.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { assert } from "./context.mjs";

const digits = fileURLToPath(new URL("../src/work/models/digits.safetensors", import.meta.url));

/** Starts a run and looks whether everything that tells of it is on the screen. */
async function showsLearning({ open, press, until, page, accessible }, width, height) {
  await open("train?device=cpu&steps=100000&epochs=1000");
  await press("Start");
  const seen = await until(
    () => {
      const points = [...document.querySelectorAll(".spark polyline")].map((each) => each.points.length);
      const answers = [...document.querySelectorAll(".answers li span")].filter((each) => /\d/.test(each.textContent)).length;
      const matrix = document.querySelector(".live-confusion canvas");
      if (points.some((count) => count < 3) || answers < 9 || matrix.width !== 10) return undefined;
      const parts = [...document.querySelectorAll(".spark svg, .answers, .live-confusion canvas")];
      const buttons = [...document.querySelectorAll("button")].filter((each) => /^(Pause|Stop)$/.test(each.textContent));
      return [...parts, ...buttons].map((each) => {
        const { top, bottom, left, right } = each.getBoundingClientRect();
        const isSeen = top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
        return isSeen ? "" : `${each.className.baseVal ?? each.className}: ${Math.round(top)} to ${Math.round(bottom)}`;
      });
    },
    undefined,
    "curves, answers and confusion",
  );
  assert(seen.length === 6 && seen.every((each) => each === ""), `at ${width} × ${height} not on screen: ${seen.join(" ")}`);
  const shift = await page.evaluate(() => scrollY);
  assert(shift === 0, "the page was scrolled");
  await accessible();
  await press("Stop");
}

export const tests = [
  {
    name: "one click after opening the curves, the answers and the confusion are on the screen at a desk",
    page: { width: 1280, height: 800 },
    run: (context) => showsLearning(context, 1280, 800),
  },
  {
    name: "and so they are on a phone",
    page: { width: 390, height: 844, touch: true },
    run: (context) => showsLearning(context, 390, 844),
  },
  {
    name: "and on a small phone",
    page: { width: 360, height: 740, touch: true },
    run: (context) => showsLearning(context, 360, 740),
  },
  {
    name: "the app's own model reads more than 98.5 % of MNIST's test pictures",
    async run({ open, until, page }) {
      await open("train?device=cpu");
      await page.setFiles("Import a model", { name: "digits.safetensors", mimeType: "", buffer: readFileSync(digits) });
      const accuracy = await until(
        () => {
          const done = /Done/.test(document.querySelector(".controls .progress")?.textContent ?? "");
          const found = [...document.querySelectorAll(".figures dt")].find((each) => each.textContent === "Test accuracy");
          return done && found?.nextElementSibling.textContent;
        },
        undefined,
        "the accuracy",
      );
      const counted = await page.evaluate(() => document.querySelector(".confusion caption").textContent);
      assert(counted.replace(/\D/g, "") === "10000", `read: ${counted}`);
      assert(parseFloat(accuracy) > 98.5, `only ${accuracy}`);
    },
  },
  {
    name: "the Playground runs when it is opened, unless stillness is wanted",
    async run({ open, until, page, sees }) {
      const step = () =>
        [...document.querySelectorAll(".figures dt")].find((each) => each.textContent === "Step")?.nextElementSibling.textContent;
      await page.raw.emulateMedia({ reducedMotion: "no-preference" });
      await open("playground");
      const runs = () =>
        [...document.querySelectorAll(".figures div")].some(
          (each) => each.innerText.startsWith("Step\n") && Number(each.innerText.replace(/\D/g, "")) > 20,
        );
      await until(runs, undefined, "steps");
      await page.raw.emulateMedia({ reducedMotion: "reduce" });
      await page.goto("about:blank");
      await open("playground");
      await until(() => document.querySelector(".playground canvas") !== null, undefined, "the plane");
      await sees("on the CPU");
      await until(step, undefined, "the figures");
      assert((await page.evaluate(step)) === "0", `it stands at step ${await page.evaluate(step)}`);
    },
  },
  {
    name: "while a run trains, the other pages show it in the head, and lead back to it",
    async run({ open, press, until, sees, accessible, page }) {
      await open("train?device=cpu&steps=100000&epochs=1000");
      await press("Start");
      await sees("Training on the CPU");
      assert(await page.evaluate(() => document.querySelector(".training-sign") === null), "there is a sign on Train itself");
      for (const title of ["Device", "Draw"]) {
        await press(title);
        await until((title) => document.querySelector("main h1")?.textContent === title, title);
        await until(
          () => /^Training at \d+ %, step \d+/.test(document.querySelector(".training-sign")?.innerText ?? ""),
          undefined,
          "a sign",
        );
      }
      await accessible();
      await page.evaluate(() => document.querySelector(".training-sign").click());
      await until(() => document.querySelector("main h1")?.textContent === "Train");
      await press("Stop");
      await sees("Stopped");
      await press("Device");
      await until(() => document.querySelector(".training-sign") === null, undefined, "no sign any more");
    },
  },
];
