// Runs that outlive the page: lost devices, reloads, other tabs.
import { assert } from "./context.mjs";
import { figure, finishes, pictureTable, reaches, stepNow } from "./training.mjs";

/** Makes pages like those over plain http: without locks. */
async function withoutLocks({ page: { raw } }) {
  const remove = () => delete Navigator.prototype.locks;
  await (raw.addInitScript ?? raw.evaluateOnNewDocument).call(raw, remove);
}

/** What the table says of the state of each run. */
const states = ({ page }) =>
  page.evaluate(() => [...document.querySelectorAll(".runs tbody tr")].map((row) => row.cells[1].textContent).join());

const offers = ({ page }) => page.evaluate(() => document.body.innerText.includes("Resume the last session?"));

/** Two tabs, one of which trains: what the other does and is offered. */
async function twoTabs(one, prepare = () => undefined) {
  await prepare(one);
  await one.open("train?device=cpu&steps=2000&seed=3");
  await one.press("Start");
  await reaches(one, 110);
  const two = await one.anotherTab();
  await prepare(two);
  await two.open("train?device=cpu&steps=20");
  await two.until(() => /in another tab|Resume the last/.test(document.body.innerText), undefined, "the other tab's run");
  assert(!(await offers(two)), "a live run is offered for resumption");
  assert((await states(two)) === "in another tab", await states(two));
  // The other tab's own run begins and ends.
  await two.press("Start");
  await finishes(two);
  assert(!(await offers(two)), "a live run is offered for resumption after another has ended");
  await one.press("Pause");
  await one.sees("Paused");
  await one.page.reload();
  await one.sees("of 2000 (");
  await two.page.reload();
  await two.sees("of 2000 (");
  await one.press("Resume the session");
  await one.sees("Training on the CPU");
  await two.until(() => !document.body.innerText.includes("of 2000 ("), undefined, "no offer of a run that goes on");
  await one.press("Stop");
  await finishes(one);
  assert((await stepNow(one)) > 100, `the run went on from the start, and was stopped at step ${await stepNow(one)}`);
  await two.until(
    () => document.querySelector(".runs")?.innerText.includes("stopped"),
    undefined,
    "the end of the other tab's run",
  );
  assert((await states(two)) === "stopped,done", await states(two));
  assert((await states(one)) === "stopped,done", await states(one));
}

export const tests = [
  {
    name: "a run belongs to its tab: others do not offer it, and their end leaves it alone",
    browsers: ["chromium", "firefox"],
    run: (context) => twoTabs(context),
  },
  {
    name: "a run belongs to its tab over plain http too, where there are no locks",
    browsers: ["chromium", "firefox"],
    run: (context) => twoTabs(context, withoutLocks),
  },
  {
    name: "after Resume from the bare address the panels show the run, its first figures are right, and the focus stays",
    async run(context) {
      const { open, press, sees, page, until } = context;
      await open("train?device=cpu&steps=2000&seed=6&layers=conv-4-3-2_relu_flatten_linear-10");
      await press("Start");
      await reaches(context, 310);
      const before = Number(await figure(context, "Kernels / step"));
      await page.goto("about:blank");
      await open("train?device=cpu");
      await sees("Resume the last session?");
      await page.evaluate(() => {
        globalThis.seen = { kernels: [], focused: new Set() };
        const look = () => {
          const name = [...document.querySelectorAll(".figures dt")].find((each) => each.textContent === "Kernels / step");
          const shown = name?.nextElementSibling.textContent ?? "–";
          if (shown !== "–" && globalThis.seen.kernels.at(-1) !== shown) globalThis.seen.kernels.push(shown);
          globalThis.seen.focused.add(document.activeElement.textContent.slice(0, 20));
          requestAnimationFrame(look);
        };
        [...document.querySelectorAll("button")].find((each) => each.textContent === "Resume the session").focus();
        look();
      });
      await page.raw.keyboard.press("Enter");
      await reaches(context, 330);
      const { kernels, focused } = await page.evaluate(() => ({ ...globalThis.seen, focused: [...globalThis.seen.focused] }));
      assert(
        focused.join() === "Resume the session,Start,Pause" || focused.join() === "Resume the session,Pause",
        focused.join(),
      );
      assert(before > 0 && Number(kernels[0]) > before / 2, `${before} kernels per step before, ${kernels.join(", ")} after`);
      const panels = await page.evaluate(() => ({
        layers: [...document.querySelectorAll(".layer-name")].map((each) => each.textContent).join(),
        seed: [...document.querySelectorAll("label")].find((each) => each.textContent.startsWith("Seed")).control.value,
        address: location.hash,
      }));
      assert(panels.layers === "Convolution,ReLU,Flatten,Linear" && panels.seed === "6", JSON.stringify(panels));
      assert(/device=cpu/.test(panels.address) && /seed=6/.test(panels.address), panels.address);
      await until(() => document.querySelector(".figures") !== null);
      await press("Stop");
      await finishes(context);
      await context.accessible();
    },
  },
  {
    name: "a lost device is replaced, and after a reload the session is resumed",
    async run(context) {
      const { open, press, sees, page, until } = context;
      await open("train?device=software&steps=2000");
      await press("Start");
      await reaches(context, 110);
      await press("Lose the GPU");
      await sees("Training went on from step");
      await reaches(context, 130);
      await page.reload();
      await sees("Resume the last session?");
      await press("Resume the session");
      await until(() => document.querySelector(".controls .panel-note, .controls .progress") !== null);
      await reaches(context, 110);
      await press("Stop");
      await finishes(context);
      await sees("Stopped");
    },
  },
  {
    name: "a session that waits to be resumed outlives other runs, whatever becomes of them",
    async run(context) {
      const { open, press, sees, page } = context;
      await open("train?device=cpu&steps=2000&seed=3");
      await press("Start");
      await reaches(context, 110);
      await page.reload();
      await sees("Resume the last session?");
      // A run that saves checkpoints, cannot be resumed itself, and ends with the page.
      await open("train?device=cpu&data=csv&epochs=1000&batch=16&layers=flatten_linear-16_relu_linear-2");
      await page.setFiles("Choose files", pictureTable());
      await press("Start");
      await reaches(context, 110);
      await page.reload();
      // One that is over before it saves any.
      await open("train?device=cpu&steps=20");
      await press("Start");
      await finishes(context);
      await page.reload();
      await sees("of 2000 (");
      await press("Resume the session");
      await sees("Training on the CPU");
      await press("Stop");
      await finishes(context);
      await sees("Stopped on the CPU");
      assert(
        (await stepNow(context)) > 100,
        `the session went on from the start, and was stopped at step ${await stepNow(context)}`,
      );
    },
  },
];
