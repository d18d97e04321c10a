// Several runs together: seeds with a band, sweeps over two settings as a table.
import { assert } from "./context.mjs";
import { figure, finishes, reaches } from "./training.mjs";

/** The cells of the rows of the table of runs, their texts. */
const rows = ({ page }) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".runs tbody tr")].map((row) => [...row.cells].map((cell) => cell.innerText.trim())),
  );

/** The texts of a sweep's table, row by row, without the heads. */
const cells = ({ page }) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".sweep-table tbody tr")].map((row) =>
      [...row.querySelectorAll("td")].map((cell) => cell.innerText.trim()),
    ),
  );

/** Waits until no cell waits or trains. */
const sweepEnds = async (context) => {
  await context.until(
    () => {
      const table = document.querySelector(".sweep-table")?.innerText ?? "waiting";
      return !/waiting|step \d/.test(table);
    },
    undefined,
    "the end of the sweep",
    240,
  );
  await finishes(context);
};

/** Makes the window a phone's. Charts take their new width with the next frame. */
async function fitsAPhone({ page, until }) {
  await page.setViewport({ width: 360, height: 740 });
  const fits = () => document.documentElement.scrollWidth <= document.documentElement.clientWidth;
  await until(fits, undefined, "a page that is no wider than a phone");
}

export const tests = [
  {
    name: "three seeds train one after the other: a mean with a band in the charts, mean ± deviation in the table, each run its own",
    // Four runs, one after the other.
    seconds: 300,
    async run(context) {
      const { open, press, fill, until, page, accessible, sees, picture } = context;
      await open("train?device=cpu&steps=60&seed=5");
      await fill("Seeds", "3");
      await press("Share link");
      await sees("It opens this page with these settings.");
      const link = await page.evaluate(() => navigator.clipboard.readText());
      assert(/seeds=3/.test(link) && /seed=5/.test(link), link);
      await press("Start");
      for (const run of [2, 3])
        await until((run) => document.querySelectorAll(".run-name").length === run, run, `run ${run} after another`, 90);
      await finishes(context);
      await until(
        () => [...document.querySelectorAll(".runs td")].filter((each) => each.innerText === "done").length === 3,
        undefined,
        "three runs that are done",
      );
      const [group, ...runs] = await rows(context);
      const shares = runs.map((row) => parseFloat(row[3]));
      const mean = shares.reduce((sum, share) => sum + share, 0) / 3;
      const deviation = Math.sqrt(shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / 2);
      const [said, spread] = group[3].split("±").map(parseFloat);
      assert(group[0] === "Seeds 5, 6, 7" && group[1] === "3 of 3 tested", group.join("|"));
      // The table's figures are rounded to a tenth.
      assert(Math.abs(said - mean) < 0.11 && Math.abs(spread - deviation) < 0.11, `${group[3]} of ${shares.join(", ")}`);
      assert(new Set(shares).size > 1, `the seeds give the same: ${shares.join()}`);
      const legend = await page.evaluate(() => [
        [...document.querySelectorAll(".chart .u-legend .u-label")]
          .filter((each) => each.checkVisibility())
          .map((each) => each.innerText),
        document.querySelectorAll(".u-legend .chart-edge").length,
      ]);
      assert(legend[0].filter((name) => name.includes(", mean")).length === 5 && legend[1] === 10, JSON.stringify(legend));
      const drawing = (await page.download(() => press("Export SVG"))).bytes.toString();
      assert(drawing.match(/<polygon/g)?.length === 5, "not every line has its band");
      // A band has another colour than the paper under it, between the edges and not above them.
      const band = await page.evaluate(() => {
        const canvas = document.querySelector(".chart canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let tinted = 0;
        for (let place = 3; place < data.length; place += 4) if (data[place] > 40 && data[place] < 60) tinted += 1;
        return tinted;
      });
      assert(band > 100, `only ${band} pixels of a band`);
      await accessible();
      await page.evaluate(() => {
        document.querySelector(".panel:has(.curves)").scrollIntoView();
        scrollBy(0, -68);
      });
      await picture("seeds");
      await fitsAPhone(context);
      await page.setViewport({ width: 1280, height: 900 });
      // Hidden and shown together.
      await fill("Seeds 5, 6, 7", false);
      await sees("The loss and the accuracy appear here");
      await page.reload();
      await sees("Seeds 5, 6, 7");
      const again = await rows(context);
      assert(again[0][3] === group[3], `${again[0][3]} after a reload, ${group[3]} before`);
      // One seed alone gives the same run.
      await fill("Seeds", "1");
      await fill("Seed", 6);
      await press("Start");
      await finishes(context);
      assert(
        (await figure(context, "Test accuracy")) === runs[1][3],
        `${await figure(context, "Test accuracy")}, not ${runs[1][3]}`,
      );
    },
  },
  {
    name: "a sweep over two settings fills its table; a cell opens its run, one that fails says why, and the table goes out",
    // Four runs, one after the other.
    seconds: 300,
    async run(context) {
      const { open, press, fill, until, page, accessible, sees, picture } = context;
      await open("train?device=cpu&steps=40&optimizer=sgd&layers=flatten_linear-64_linear-64_linear-10");
      await press("Set up a sweep");
      await until(() => document.activeElement.tagName === "SELECT", undefined, "the focus in the sweep's first field", 10);
      await fill("Values down", "0.1, 99, 0.1x");
      await sees("Learning rate: “0.1x” cannot be used");
      await accessible();
      await fill("Values down", "0.1, 99");
      await fill("Values across", "16; 64");
      await press("Train 4 runs");
      await until(() => document.activeElement.innerText === "Stop the sweep", undefined, "the focus on Stop", 10);
      await until(() => document.querySelector(".sweep-table")?.innerText.includes("waiting"), undefined, "cells that wait");
      await sweepEnds(context);
      const table = await cells(context);
      assert(/^\d+\.\d %$/.test(table[0][0]) && /^\d+\.\d %$/.test(table[0][1]), JSON.stringify(table));
      assert(table[1].join() === "failed,failed", JSON.stringify(table));
      await sees("Learning rate 99, batch size 16: the loss is");
      await accessible();
      await page.evaluate(() => document.querySelector(".sweep").scrollIntoView({ block: "center" }));
      await picture("sweep");
      // A cell opens its run: the one with its values.
      await press(`Learning rate 0.1, batch size 16: ${table[0][0]}. Open run 1`);
      await until(
        () => document.querySelector(".run-details")?.innerText.includes("lr 0.1, batch 16"),
        undefined,
        "the run of the cell",
      );
      const details = await page.evaluate(() => document.querySelector(".run-details .figures").innerText);
      assert(details.includes(table[0][0]), `the run's figures are ${details}, its cell has ${table[0][0]}`);
      assert(
        await page.evaluate(() => document.activeElement.ariaLabel === "Details of run 1"),
        "the focus is not beside the run that was opened",
      );
      const { name, bytes } = await page.download(() => press("Export the table"));
      const lines = bytes.toString().trim().split("\n");
      assert(name === "sweep.csv" && lines.length === 5, `${name}: ${lines.length} lines`);
      assert(
        /^0\.1,16,1,done,test,0\.\d+,[\d.]+,40,/.test(lines[1]) && /^99,64,4,failed,.*the loss is/.test(lines[4]),
        bytes.toString(),
      );
      await fitsAPhone(context);
      // All of it is kept, what failed too.
      await page.reload();
      await until(() => document.querySelector(".sweep-table") !== null, undefined, "the table after a reload");
      assert(JSON.stringify(await cells(context)) === JSON.stringify(table), JSON.stringify(await cells(context)));
      await sees("Learning rate 99, batch size 16: the loss is");
    },
  },
  {
    name: "a sweep can be stopped; what was not run says so, and is trained later",
    browsers: ["chromium", "firefox"],
    async run(context) {
      const { open, press, fill, until, page, sees } = context;
      await open("train?device=cpu&steps=3000&epochs=1000&layers=flatten_linear-10");
      await press("Set up a sweep");
      await fill("Setting down", "seed");
      await fill("Values down", "1 2");
      await fill("Setting across", "seed");
      await fill("Values across", "0.1");
      await sees("Seed: “0.1” cannot be used");
      await fill("Values across", "3");
      await sees("Choose two different settings");
      await fill("Setting across", "noise");
      await fill("Values across", "0");
      await press("Train 2 runs");
      await reaches(context, 20);
      await press("Stop the sweep");
      await finishes(context);
      await until(
        () => document.querySelector(".sweep-table").innerText.includes("not run"),
        undefined,
        "a cell that was not run",
      );
      await sees("Seed 2, noise 0: not run: the sweep was stopped, or the run was removed");
      const [[stopped]] = await cells(context);
      assert(/stopped$/.test(stopped), stopped);
      // The missing one has the settings of the others, whatever the panels say by now.
      await fill("Most steps", 50);
      await press("Train the 1 missing run");
      await reaches(context, 60);
      await press("Stop the sweep");
      await finishes(context);
      const all = await page.evaluate(() => document.querySelector(".sweep-reasons").innerText);
      assert(/Seed 1, .*stopped after \d+ of 3000/.test(all) && /Seed 2, .*stopped after \d+ of 3000/.test(all), all);
    },
  },
];
