// Lessons: they begin from the page Learn, put controls away, check their tasks, and speak two languages.
import { assert } from "./context.mjs";

const tasks = ({ page }) =>
  page.evaluate(() => [...document.querySelectorAll(".lesson-tasks li")].map((each) => each.classList.contains("done")));

export const tests = [
  {
    name: "a lesson is learnt from its beginning to its end, in German",
    async run(context) {
      const { open, press, sees, until, page, accessible } = context;
      await open("learn?device=cpu");
      const count = await page.evaluate(() => document.querySelectorAll(".lessons > li").length);
      assert(count === 5, `${count} lessons`);
      await sees("A network learns to read");
      await accessible();
      await press("Deutsch");
      await sees("Ein Netz lernt lesen");
      await press("Beginnen: Ein Netz lernt lesen");
      await sees("Schritt 1 von 2");
      const shown = await until(() => {
        const titles = [...document.querySelectorAll(".panel h2")].map((each) => each.textContent);
        return !titles.includes("Model") && titles;
      });
      assert(!shown.includes("Data") && !shown.includes("Training") && shown.includes("Curves"), `shown: ${shown.join(", ")}`);
      assert((await tasks(context)).join() === "false", "a task is done before anything was done");
      await accessible();
      await press("Start");
      await until(() => document.querySelector(".lesson-tasks li.done") !== null, undefined, "the first task", 60);
      await press("Stop");
      await press("Weiter");
      await sees("Schritt 2 von 2");
      await page.evaluate(() => document.querySelector(".lesson-tasks a").click());
      await until(() => document.querySelector("main h1")?.textContent === "Draw", undefined, "the page Draw");
      await press("Train");
      await sees("Alles ist erledigt");
      await accessible();
      await press("Lektion beenden");
      await until(() => document.querySelector("main h1")?.textContent === "Learn", undefined, "the page Learn");
      await sees("Auswendig gelernt");
    },
  },
  {
    name: "the tasks of the lessons on MNIST are done by their own settings",
    async run(context) {
      const { open, press, until, page } = context;
      for (const name of ["learning-rate", "overfitting", "convolutions"]) {
        for (let at = 1; ; at += 1) {
          const settings = await page.evaluate(() =>
            [...document.querySelectorAll(".lesson .button")].find((each) => each.textContent === "Next")?.getAttribute("href"),
          );
          if (at === 1) {
            await page.goto("about:blank");
            await open("learn");
            const href = await page.evaluate(
              (name) =>
                [...document.querySelectorAll(".lessons a")]
                  .map((each) => each.getAttribute("href"))
                  .find((each) => each.includes(name)),
              name,
            );
            await open(`${href.slice(2)}&device=cpu`);
          } else if (settings === undefined) break;
          else await open(`${settings.slice(2)}&device=cpu`);
          await until((at) => document.querySelector(".lesson")?.innerText.includes(`Step ${at} of`), at, `${name}, step ${at}`);
          await press("Start");
          await until(
            () => [...document.querySelectorAll(".lesson-tasks li")].every((each) => each.classList.contains("done")),
            undefined,
            `the tasks of ${name}, step ${at}`,
          );
          // It may be over by itself.
          await page.evaluate(() => [...document.querySelectorAll("button")].find((each) => each.textContent === "Stop").click());
          await until(
            () => [...document.querySelectorAll("button")].some((each) => each.textContent === "Start" && !each.disabled),
            undefined,
            "the run's end",
          );
        }
      }
    },
  },
  {
    name: "a lesson that is not there is said, and leads to those that are",
    async run({ open, sees, press, until }) {
      await open("train?device=cpu&lesson=alchemy");
      await sees("There is no lesson “alchemy”");
      await press("Learn");
      await until(() => document.querySelectorAll(".lessons > li").length === 5);
    },
  },
];
