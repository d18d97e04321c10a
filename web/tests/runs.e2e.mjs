// Runs as things that last: going on, branching, looking inside, names and notes, files.
import { assert } from "./context.mjs";
import { PRICES, text } from "./files.mjs";
import { figure, finishes, pictureTable, reaches, stepNow, weightsOf } from "./training.mjs";

const clipboard = ({ page }) => page.evaluate(() => navigator.clipboard.readText());

/** The names in the table of runs. */
const names = ({ page }) => page.evaluate(() => [...document.querySelectorAll(".run-name")].map((each) => each.innerText.trim()));

/** The names of the browser's private files. */
const files = ({ page }) =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const found = [];
    for await (const name of (await root.getDirectoryHandle("flambeau", { create: true })).keys()) found.push(name);
    return found.filter((name) => name.startsWith("run-"));
  });

const sameBytes = (one, other, what) => assert(one.equals(other) && one.length > 1000, `${what}: the weights differ`);

// Dropout and noise draw random numbers at every step: a step too many or too few would show.
const NOISY = "device=cpu&seed=4&batch=32&shift=1&noise=0.1&layers=flatten_linear-24_relu_dropout-0.3_linear-10";

export const tests = [
  {
    name: "a stopped run goes on, also after a reload, and comes to the same as one that was never stopped",
    async run(context) {
      const { open, press, sees, page } = context;
      await open(`train?${NOISY}&steps=900`);
      await press("Start");
      await reaches(context, 20);
      await press("Stop");
      await finishes(context);
      const first = await stepNow(context);
      assert(first < 900, "the run was over before it was stopped");
      await press("Continue");
      await reaches(context, first + 10);
      await press("Stop");
      await finishes(context);
      const second = await stepNow(context);
      assert(second > first && second < 900, `stopped at ${first} and ${second}`);
      await page.reload();
      await press("Details of run 1");
      await sees(`Continue from step ${second}`);
      await context.accessible();
      await press(`Continue from step ${second}`);
      await finishes(context);
      const continued = { weights: await weightsOf(context), accuracy: await figure(context, "Test accuracy") };
      assert((await names(context)).length === 1, (await names(context)).join());
      await press("Start");
      await finishes(context);
      assert((await figure(context, "Test accuracy")) === continued.accuracy, "the accuracies differ");
      sameBytes(continued.weights, await weightsOf(context), `stopped at ${first} and ${second}`);
    },
  },
  {
    name: "a branch goes on from a run's checkpoint at another rate; the run stays as it was, and the link repeats the branch",
    async run(context) {
      const { open, press, fill, sees, until } = context;
      await open(`train?${NOISY}&steps=60`);
      await press("Start");
      await finishes(context);
      await press("Details of run 1");
      await press("Branch from step 60: a new run at another rate, or for longer");
      await sees("That is 60 steps, and 60 are done: set more of them");
      await fill("Rate from there on", 0.01);
      await fill("Most steps in all", 120);
      await press("Branch from run 1");
      await until(() => document.querySelectorAll(".run-name").length === 2, undefined, "the branch");
      await finishes(context);
      await sees("Done on the CPU: step 120 of 120");
      const weights = await weightsOf(context);
      const steps = await context.page.evaluate(() =>
        [...document.querySelectorAll(".runs tbody tr")].map((row) => row.cells[2].textContent).join(),
      );
      assert(steps === "60,120", `the runs have ${steps} steps`);
      await press("Details of run 2");
      await sees("It goes on from step 60 of");
      await press("Share run 2");
      await sees("It repeats this run, number for number");
      const other = await context.freshProfile();
      await other.page.goto(await clipboard(context));
      await other.press("Start");
      await finishes(other);
      sameBytes(weights, await weightsOf(other), "the link of the branch");
    },
  },
  {
    name: "runs stay after a reload with names and notes, are looked into, and go with all their files when they are removed",
    async run(context) {
      const { open, press, fill, sees, until, page } = context;
      await open("train?device=cpu&steps=30");
      await press("Start");
      await finishes(context);
      await press("Details of run 1");
      await fill("Name", "The first");
      await sees("1. The first");
      await page.evaluate(() => {
        const notes = document.querySelector(".run-details textarea");
        Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(notes, "Tried at dawn");
        notes.dispatchEvent(new Event("input", { bubbles: true }));
      });
      const accuracy = await figure(context, "Test accuracy");
      await page.reload();
      await sees("1. The first");
      await sees("1 run in this browser,");
      assert((await files(context)).length >= 4, (await files(context)).join());
      assert(
        (await page.evaluate(() => document.querySelectorAll(".confusion td").length)) === 0,
        "a look before one was asked for",
      );
      await press("Details of run 1");
      await until(() => document.querySelectorAll(".confusion td.right").length === 10, undefined, "the look inside a kept run");
      await until(() => document.querySelector(".run-details textarea")?.value === "Tried at dawn", undefined, "the notes");
      await press("Filters");
      await until(() => document.querySelectorAll(".filters canvas").length === 64, undefined, "the filters of a kept run");
      const row = await page.evaluate(() =>
        [...document.querySelector(".runs tbody tr").cells].map((cell) => cell.innerText).join("|"),
      );
      assert(row.includes(accuracy) && row.includes("done"), row);
      await page.evaluate(() => document.querySelector(".run-name input").click());
      await until(() => document.querySelectorAll(".u-legend .u-series").length === 8, undefined, "the curves of a kept run");
      await context.accessible();
      await page.setViewport({ width: 360, height: 740 });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert(over <= 0, `with a run's details the page is ${over} px too wide for a phone`);
      await press("Remove run 1");
      await until(() => document.querySelectorAll(".run-name").length === 0, undefined, "no run");
      assert(await page.evaluate(() => document.activeElement.textContent === "Start"), "the focus is lost after Remove");
      await page.reload();
      await until(() => document.querySelector(".runs") !== null);
      assert((await names(context)).length === 0 && (await files(context)).length === 0, (await files(context)).join());
    },
  },
  {
    name: "a run goes out as one file and comes in elsewhere with everything; a damaged file is refused in words",
    async run(context) {
      const { open, press, sees, fill } = context;
      await open(`train?${NOISY}&steps=300`);
      await press("Start");
      await reaches(context, 30);
      await press("Stop");
      await finishes(context);
      const step = await stepNow(context);
      assert(step < 300, "the run was over before it was stopped");
      await press("Details of run 1");
      await fill("Name", "To travel");
      const { name, bytes } = await context.page.download(() => press("Export run 1"));
      assert(name === "To-travel.flambeau", name);
      await press("Continue");
      await finishes(context);
      const weights = await weightsOf(context);

      const other = await context.freshProfile();
      await other.open("train?device=cpu");
      for (const [file, buffer, words] of [
        ["cut.flambeau", bytes.subarray(0, bytes.length - 9), "cut.flambeau: the file is damaged: it should have"],
        ["text.flambeau", Buffer.from("only some text"), "text.flambeau: this is no file of a run"],
      ]) {
        await other.page.setFiles("Import a run", { name: file, mimeType: "", buffer });
        await other.sees(words);
      }
      assert((await names(other)).length === 0, "a damaged file has become a run");
      await other.page.setFiles("Import a run", { name, mimeType: "", buffer: bytes });
      await other.sees("1. To travel");
      await other.until(() => document.querySelectorAll(".confusion td.right").length >= 5, undefined, "the look inside");
      await other.accessible();
      await other.page.reload();
      await other.press("Details of run 1");
      await other.sees(`Continue from step ${step}`);
      await other.press(`Continue from step ${step}`);
      await finishes(other);
      sameBytes(weights, await weightsOf(other), "continued elsewhere");
      await sees("To travel");
    },
  },
  {
    name: "a run on one's own data goes on with the same files, and with no others",
    async run(context) {
      const { open, press, sees, fill, page } = context;
      const table = pictureTable();
      const other = { ...table, name: "other.csv", buffer: Buffer.from(table.buffer.toString().replace("\n200,", "\n201,")) };
      assert(!other.buffer.equals(table.buffer), "the tables are the same");
      await open("train?device=cpu&data=csv&epochs=1000&batch=16&layers=flatten_linear-16_relu_linear-2");
      await page.setFiles("Choose files", table);
      await press("Start");
      await reaches(context, 110);
      await press("Stop");
      await finishes(context);
      const step = await stepNow(context);
      await page.reload();
      await press("Details of run 1");
      const isDisabled = () =>
        page.evaluate(
          (words) => [...document.querySelectorAll("button")].find((each) => each.textContent === words)?.disabled,
          `Continue from step ${step}`,
        );
      await sees(`Continue from step ${step}`);
      assert((await isDisabled()) === true, "it can go on without data");
      await sees("Choose the data that it was trained with first (a table, fingerprint ");
      await page.setFiles("Choose files", other);
      await sees("other.csv: 84 to train");
      await sees("The chosen data are not those that it was trained with (fingerprint ");
      assert((await isDisabled()) === true, "it can go on with other data");
      await context.accessible();
      await page.setFiles("Choose files", table);
      await sees("pictures.csv: 84 to train");
      // The same files, divided in another way, are other data.
      await fill("Validation, %", 0);
      await sees("pictures.csv: 96 to train");
      await sees("The chosen data are not those that it was trained with (fingerprint ");
      await fill("Validation, %", 10);
      await sees("pictures.csv: 84 to train");
      await press(`Continue from step ${step}`);
      await reaches(context, step + 20);
      await press("Stop");
      await finishes(context);
    },
  },
  {
    name: "a run that predicts a number is kept as one: R² and its error instead of an accuracy, and validation called so",
    async run(context) {
      const { open, press, sees, until, page } = context;
      const prices = text("prices.csv", PRICES);
      await open("train?device=cpu&lr=0.01&data=csv&epochs=1000&batch=16");
      await page.setFiles("Choose files", prices);
      await sees("14 for validation");
      await press("Start");
      await reaches(context, 110);
      const shown = () =>
        page.evaluate(() => ({
          table: [...document.querySelectorAll(".runs table :is(th, td)")].map((each) => each.innerText).join("|"),
          curves: [...document.querySelectorAll(".curves h3")].map((each) => each.innerText).join(),
          lines: [...document.querySelectorAll(".curves .u-legend .u-label")].map((each) => each.innerText).join(),
        }));
      const during = await shown();
      assert(/Test R²/.test(during.table) && /R² \S+ %, error \S+ \(validation\)/.test(during.table), during.table);
      assert(
        during.curves === "Loss,R²,Gradient norm" && /training,validation/.test(during.lines),
        `${during.curves}; ${during.lines}`,
      );
      await press("Stop");
      await finishes(context);
      const step = await stepNow(context);
      const explained = await figure(context, "Test R²");
      const csv = (await page.download(() => press("Export CSV"))).bytes.toString();
      assert(/,loss,R²,rate,gradient norm\n/.test(csv) && /,validation,/.test(csv) && !/,test,/.test(csv), csv.slice(0, 200));

      await page.reload();
      await sees(`R² ${explained}, error`);
      const { table } = await shown();
      assert(/Test R²/.test(table) && !/accuracy|validation/.test(table), table);
      await press("Details of run 1");
      await sees(`Continue from step ${step}`);
      await until(() => document.querySelectorAll(".scatter circle").length === 28, undefined, "the predictions of a kept run");
      assert((await figure(context, "Test R²")).startsWith(`R² ${explained}, error`), await figure(context, "Test R²"));
      await page.setFiles("Choose files", prices);
      await sees("14 for validation");
      await press(`Continue from step ${step}`);
      await reaches(context, step + 20);
      await press("Stop");
      await finishes(context);
      const { lines } = await shown();
      assert(/training,validation/.test(lines), lines);
      await context.accessible();
    },
  },
];
