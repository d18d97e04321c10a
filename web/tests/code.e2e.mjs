// “Show as code”: the programs of three presets and of one's own data, run in Node, give the losses of the run, bit for bit.
// What Rust and PyTorch make of theirs `node tests/code.mjs` checks.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { assert } from "./context.mjs";
import { keep, output } from "./node.mjs";
import { SAMPLES, settingsOf } from "./programs.mjs";
import { figure, finishes, lossesOf, pictureTable, weightsOf } from "./training.mjs";

const mnist = fileURLToPath(new URL("../../data/mnist", import.meta.url));

/** The address of a preset's settings. */
const placeOf = (preset, shorter) => {
  const { layers, batch, epochs, steps, shift, zoom } = settingsOf(preset, shorter);
  return `train?device=cpu&steps=${steps}&layers=${layers}&batch=${batch}&epochs=${epochs}&shift=${shift}&zoom=${zoom}`;
};

/** The points of the run's training curve, from its table. */
async function curveOf(context) {
  const rows = (await lossesOf(context)).map((row) => row.split(","));
  return rows
    .filter(([part]) => part === "training")
    .map(([, step, , loss, accuracy]) => ({ step: Number(step), loss: Number(loss), accuracy: Number(accuracy) }));
}

/** Saves the program that is shown. */
const download = async ({ page, press }, name, words = "Download run.mjs") =>
  keep(name, (await page.download(() => press(words))).bytes);

function same(points, curve) {
  assert(curve.length > 0, "the run has no curve");
  assert(
    JSON.stringify(points) === JSON.stringify(curve),
    `the program's losses are not the run's:\n${JSON.stringify(points)}\n${JSON.stringify(curve)}`,
  );
}

/** `isLong`: the whole test set takes a minute, in the page and in Node; only the curves are compared. */
const presets = SAMPLES.map(({ preset, shorter, isLong = false }) => ({
  name: `the JavaScript of “${preset}” gives the run's losses bit for bit`,
  async run(context) {
    const { open, press } = context;
    await open(placeOf(preset, shorter));
    await press("Start");
    if (isLong) {
      await context.sees("Reading the whole test set", 140);
      await press("Stop");
    }
    await finishes(context, 140);
    const [curve, accuracy] = [await curveOf(context), await figure(context, "Test accuracy")];
    await press("Show as code");
    const program = await download(context, `${preset.replace(/\W/g, "")}.mjs`);
    if (isLong) writeFileSync(program, readFileSync(program, "utf8").replace(/\nconst tested = .*/s, "\n"));
    const { points, test } = await output("node", program, mnist);
    same(points, curve);
    if (isLong) return;
    assert(`${(100 * test.accuracy).toFixed(1)} %` === accuracy, `test accuracy ${test.accuracy}, not ${accuracy}`);
  },
}));

export const tests = [
  ...presets,
  {
    name: "rates that changed, another optimizer, noise and mirrored pictures are in the program",
    async run(context) {
      const { open, press, sees } = context;
      await open(
        "train?device=cpu&steps=40&items=500&batch=32&epochs=9&optimizer=rmsprop&decay=0.001&noise=0.1&mirror=1&seed=7&rates=12-0.003_25-0.0005&layers=flatten_linear-24_gelu_dropout_linear-10",
      );
      await press("Start");
      await finishes(context);
      const curve = await curveOf(context);
      await press("Show as code");
      await sees("In Node it gives the losses of this run bit for bit.");
      same((await output("node", await download(context, "rates.mjs"), mnist)).points, curve);
    },
  },
  {
    name: "mixed precision is in the program, and in the curve: in Node it gives the same losses, and others without it",
    async run(context) {
      const { open, press, sees } = context;
      await open("train?device=cpu&steps=30&items=500&batch=32&noise=0.1&amp=1&layers=flatten_linear-24_relu_linear-10");
      await press("Start");
      await finishes(context);
      const curve = await curveOf(context);
      await press("Show as code");
      await sees("amp: true");
      const program = await download(context, "mixed.mjs");
      same((await output("node", program, mnist)).points, curve);
      writeFileSync(program, readFileSync(program, "utf8").replace("  amp: true,\n", ""));
      const { points } = await output("node", program, mnist);
      assert(JSON.stringify(points) !== JSON.stringify(curve), "the run was not in mixed precision");
      const [full, mixed] = [points.at(-1).loss, curve.at(-1).loss];
      assert(Math.abs(full - mixed) < 0.02 * full, `${mixed} in mixed precision is far from ${full}`);
    },
  },
  {
    name: "a program for one's own data reads them from a file that is saved beside it, and begins with imported weights",
    async run(context) {
      const { open, press, page, sees } = context;
      await open("train?device=cpu&data=csv&steps=20&batch=16&layers=flatten_linear-8_tanh_linear-2");
      await press("Show as code");
      await sees("Choose the data that it was trained with first");
      await page.setFiles("Choose files", pictureTable());
      await press("Start");
      await finishes(context);
      const curve = await curveOf(context);
      const data = await download(context, "own.safetensors", "Download the data");
      same((await output("node", await download(context, "own.mjs"), data)).points, curve);
      await page.setFiles("Import a model", { name: "mine.safetensors", mimeType: "", buffer: await weightsOf(context) });
      await finishes(context);
      const weights = await download(context, "mine.safetensors", "Export the model");
      await press("Start");
      await sees("Done on the CPU: step 20 of 20");
      await finishes(context);
      const lower = (await curveOf(context)).slice(-curve.length);
      same((await output("node", await download(context, "weights.mjs"), data, weights)).points, lower);
    },
  },
  {
    name: "three languages, copied or selected, by keyboard, on a phone",
    browsers: ["chromium", "firefox"],
    async run(context) {
      const { open, press, sees, page, until, accessible } = context;
      await open("train?device=cpu&seed=5");
      await page.evaluate(() =>
        [...document.querySelectorAll("button")].find((each) => each.textContent === "Show as code").focus(),
      );
      await page.raw.keyboard.press("Enter");
      await sees("These settings.");
      // Past the languages and the buttons, the program itself can be scrolled by keys.
      for (let tabs = 0; tabs < 6; tabs += 1) await page.raw.keyboard.press("Tab");
      assert(await page.evaluate(() => document.activeElement.matches("pre.code")), "the keyboard does not reach the program");
      const shown = () => page.evaluate(() => document.querySelector("pre.code").textContent);
      for (const [language, words] of [
        ["Rust", ["fn main() -> Result<()>", "flambeau::manual_seed(5);"]],
        ["PyTorch", ["import torch", "random = Random(5)"]],
        ["JavaScript", ['from "flambeau"', "manualSeed(5);"]],
      ]) {
        await press(language);
        await until(
          (language) => document.querySelector('[aria-label="Language"] [aria-pressed="true"]').textContent === language,
          language,
          language,
        );
        const text = await shown();
        for (const word of words) assert(text.includes(word), `${language} lacks ${word}`);
      }
      await accessible();
      await page.setViewport({ width: 360, height: 740 });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert(over <= 0, `the page is ${over} px too wide on a phone`);
      await page.evaluate(() => delete Navigator.prototype.clipboard);
      await press("Copy");
      await sees("This browser gives the page no clipboard. The program is selected");
      const selected = await page.evaluate(() => getSelection().toString().trim());
      assert(selected === (await shown()).trim(), "not the whole program is selected");
    },
  },
];
