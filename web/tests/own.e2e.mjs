// Data of one's own, step by step: what is understood of files, what one can change, and what is refused in which words.
import { assert } from "./context.mjs";
import { PRICES, text, withFolder } from "./files.mjs";

/** Flowers with a blank line, a gap, a column of words, and semicolons. */
const FLOWERS = [
  "name;length;width;kind",
  "",
  ...Array.from({ length: 60 }, (_, row) => {
    const long = row % 3 === 0;
    const length = row === 10 ? "" : long ? "7,5" : `1,${row % 9}`;
    return `flower ${row};${length};${long ? 2 : 0.5};${long ? "iris" : row % 3 === 1 ? "rose" : "tulip"}`;
  }),
];

const chosen = ({ page }, label) =>
  page.evaluate(
    (label) => [...document.querySelectorAll("label")].find((each) => each.textContent.startsWith(label))?.control?.value,
    label,
  );

export const tests = [
  {
    name: "a table is understood, and every choice can be changed",
    browsers: ["chromium", "firefox"],
    async run(context) {
      const { open, sees, fill, press, page, accessible, until, browser } = context;
      await open("train?device=cpu&data=csv");
      const files = (label, file) =>
        browser === "chromium"
          ? page.setFiles(label, file)
          : page.evaluate(
              ([label, name, content]) => {
                const input = document.querySelector(`input[aria-label="${label}"]`);
                const data = new DataTransfer();
                data.items.add(new File([content], name, { type: "text/csv" }));
                input.files = data.files;
                input.dispatchEvent(new Event("change", { bubbles: true }));
              },
              [label, file.name, file.buffer.toString()],
            );
      await until(() => document.querySelector('input[aria-label="Choose files"]') !== null, undefined, "the chooser");
      await files("Choose files", text("flowers.csv", FLOWERS));
      // The gap is in the 11th row of data; the header and the blank line are rows of the file too.
      await sees("row 13, column “length” is empty");
      const understood = [
        await chosen(context, "Cells are divided by"),
        await chosen(context, "First row"),
        await chosen(context, "Column to learn"),
      ];
      assert(understood.join() === ";,names,kind", understood.join());
      const start = () =>
        page.evaluate(() => [...document.querySelectorAll("button")].find((each) => each.textContent === "Start").disabled);
      assert(await start(), "a table that is refused can be started");
      await accessible();

      await fill("Missing cells", "drop");
      await sees("41 to train, 6 for validation, 12 to test, each 2, 3 classes");
      await sees("Not learnt from: name. 1 row with missing cells left out.");
      await until(() => location.hash.includes("linear-3"), undefined, "a last layer for three classes");
      assert(!(await start()), "a table that is whole cannot be started");
      await fill("Missing cells", "fill");
      await sees("42 to train, 6 for validation, 12 to test");
      await fill("width", false);
      await sees("each 1, 3 classes");
      await fill("Column to learn", "width");
      await sees("each 1, 2 classes");
      await fill("It holds", "number");
      await sees("“width” is predicted");
      await until(() => location.hash.includes("linear-1"), undefined, "a last layer for a number");
      await fill("Validation, %", 0);
      await sees("48 to train, 12 to test");
      await fill("First row", "data");
      await sees("row 1, column “column 2” is not a number: “length”");
      await accessible();

      // Left and entered again, everything is as it was.
      await fill("First row", "names");
      await sees("classes");
      await press("Device");
      await press("Train");
      await sees("flowers.csv:");
      await fill("Data set", "mnist");
      await until(() => !document.body.innerText.includes("flowers.csv"), undefined, "MNIST instead");
    },
  },
  {
    name: "going back from a table to MNIST brings back what the table had changed, and to the table what fits it",
    browsers: ["chromium"],
    async run(context) {
      const { open, sees, fill, page, until } = context;
      const said = () => page.evaluate(() => location.hash);
      await open("train?device=cpu&data=csv&layers=flatten_linear-16_relu_linear-10");
      await until(() => document.querySelector('input[aria-label="Choose files"]') !== null, undefined, "the chooser");
      await page.setFiles("Choose files", text("prices.csv", FLOWERS.with(12, "flower 10;1,1;0.5;rose")));
      await sees("3 classes");
      const fits = () => until(() => /linear-3\b/.test(location.hash), undefined, "a last layer for three classes");
      await fits();
      const fitted = await said();
      assert(/epochs=\d+/.test(fitted) && /batch=8\b/.test(fitted), fitted);
      await fill("Data set", "mnist");
      await until(() => /linear-16_relu_linear-10\b/.test(location.hash), undefined, "the layers of before");
      assert(!/epochs=|batch=/.test(await said()), await said());
      // What somebody has changed stays.
      await fill("Epochs", 7);
      await fill("Data set", "csv");
      await fits();
      assert(/epochs=7\b/.test(await said()) && /batch=8\b/.test(await said()), await said());
    },
  },
  {
    name: "pictures are shown with their classes and counts; other sizes and shares are read anew",
    async run(context) {
      const { open, sees, fill, page, accessible, until } = context;
      await open("train?device=cpu&data=folder");
      await withFolder(async (folder) => {
        await page.setFiles("Choose a folder", folder);
        await sees("21 to train, 3 for validation, 6 to test, each 1 × 28 × 28, 2 classes");
        const counts = await page.evaluate(() =>
          [...document.querySelectorAll(".own-steps .bars .number")].map((each) => each.textContent),
        );
        assert(counts.join() === "15,15", `counts ${counts.join()}`);
        await until(() => document.querySelectorAll(".own-pictures canvas").length === 12, undefined, "twelve pictures");
        await accessible();
        await fill("Colours", "3");
        await sees("each 3 × 28 × 28");
        await fill("Test, %", 40);
        await sees("15 to train, 3 for validation, 12 to test");
      });
    },
  },
  {
    name: "a number is predicted: R² and a picture of the predictions instead of a confusion",
    async run(context) {
      const { open, sees, press, page, accessible, until } = context;
      await open("train?device=cpu&lr=0.01&data=csv");
      await page.setFiles("Choose files", text("prices.csv", PRICES));
      await sees("98 to train, 14 for validation, 28 to test, each 2, “price” is predicted");
      await press("Start");
      await until(() => /Done/.test(document.querySelector(".controls .progress")?.textContent ?? ""), undefined, "the end");
      const explained = await page.evaluate(
        () =>
          [...document.querySelectorAll(".figures dt")].find((each) => each.textContent === "Test R²")?.nextElementSibling
            .textContent,
      );
      assert(parseFloat(explained) > 95, `only ${explained} is explained`);
      const points = await page.evaluate(() => document.querySelectorAll(".panel:not(.live) .scatter circle").length);
      assert(points === 28, `${points} predictions are shown`);
      await press("Mistakes");
      await press("Weights and gradients");
      await until(() => document.querySelectorAll(".histogram").length > 0, undefined, "histograms");
      await accessible();
    },
  },
];
