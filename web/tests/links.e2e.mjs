// Links to runs: they repeat a run bit for bit, or say what they cannot carry.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { assert } from "./context.mjs";
import { finishes, lossesOf, pictureTable, reaches, slideRate, weightsOf } from "./training.mjs";

const require = createRequire(import.meta.url);

const clipboard = ({ page }) => page.evaluate(() => navigator.clipboard.readText());

/** What the run came to: every loss and accuracy to the last digit, and every bit of the weights. */
const outcome = async (context) => ({ losses: await lossesOf(context), weights: await weightsOf(context) });

/** Opens the link as another reader does, starts, and compares. */
async function repeats(context, link, before) {
  const other = await context.freshProfile();
  await other.page.goto(link);
  await other.press("Start");
  await finishes(other);
  const after = await outcome(other);
  for (const [place, loss] of before.losses.entries())
    assert(after.losses[place] === loss, `${loss} here, ${after.losses[place]} there`);
  assert(before.losses.length === after.losses.length && before.losses.length > 2, `${before.losses.length} points`);
  assert(before.weights.equals(after.weights) && before.weights.length > 1000, "the weights differ");
  return other;
}

export const tests = [
  {
    name: "a link repeats the run bit for bit, with the rate changed while it ran, whatever the panels say by then",
    async run(context) {
      const { open, press, fill, page, sees } = context;
      await open("train?device=cpu");
      for (const [label, value] of [
        ["Seed", 77],
        ["Most steps", 240],
        ["Batch size", 32],
        ["Optimizer", "momentum"],
        ["Learning rate", 0.02],
        ["Shift", 2],
        ["Noise", 0.05],
      ])
        await fill(label, value);
      await press("Start");
      await reaches(context, 20);
      await slideRate(context, -1.2, "0.063");
      await reaches(context, 60);
      await slideRate(context, -3, "0.001");
      await finishes(context);
      const before = await outcome(context);
      // The panels are of another run by now.
      await fill("Seed", 5);
      await fill("Batch size", 64);
      await fill("Device to compute on", "best");
      const address = await page.evaluate(() => location.href);
      await press("Share link");
      await sees("The link is on the clipboard");
      assert((await page.evaluate(() => location.href)) === address, "Share has changed the address");
      const link = await clipboard(context);
      assert(/seed=77/.test(link) && /device=cpu/.test(link) && /rates=\d+-0\.063_\d+-0\.001/.test(link), link);
      const other = await repeats(context, link, before);
      await sees("It repeats this run, number for number, on the CPU of any machine.");
      await other.sees("The rate changes on the way: 0.063 from step");
      await other.accessible();
      await other.press("Details of run 1");
      await other.press("Share run 1");
      await other.sees("It repeats this run, number for number");
      assert((await clipboard(other)) === link, `the other's link is ${await clipboard(other)}, not ${link}`);
    },
  },
  {
    name: "a link from a GPU repeats its run there",
    async run(context) {
      const { open, press } = context;
      await open("train?device=software&steps=20&seed=9&zoom=0.1");
      await press("Start");
      await finishes(context);
      const before = await outcome(context);
      await press("Share link");
      await context.sees("It repeats this run, number for number, in the same browser on a software GPU.");
      const link = await clipboard(context);
      assert(/device=software/.test(link), link);
      await repeats(context, link, before);
    },
  },
  {
    name: "a link to a run on one's own data, or from a model file, says what stays here and promises nothing",
    async run(context) {
      const { open, press, sees, fill, page } = context;
      const silent = async () =>
        assert(!(await page.evaluate(() => document.body.innerText)).includes("number for number"), "repetition is promised");
      await open("train?device=cpu&data=csv&steps=20&batch=16&layers=flatten_linear-2");
      await page.setFiles("Choose files", pictureTable());
      await press("Start");
      await finishes(context);
      const weights = await weightsOf(context);
      await press("Share link");
      await sees("The data stay in this browser");
      await silent();
      await page.reload();
      await open("train?device=cpu&data=csv&steps=20&batch=16&layers=flatten_linear-2");
      await page.setFiles("Choose files", pictureTable());
      await sees("84 to train, 12 for validation, 24 to test");
      await page.setFiles("Import a model", { name: "mine.safetensors", mimeType: "", buffer: weights });
      await finishes(context);
      await fill("Data set", "mnist");
      await press("Share link");
      await sees("The weights of mine.safetensors, which the run began with, stay here");
      await silent();
      await context.accessible();
    },
  },
  {
    name: "before the first run the link carries the panels' settings; what it says of rates is checked",
    async run(context) {
      const { open, press, fill, sees } = context;
      await open("train?device=cpu&rates=20-0.5_10-0.1");
      await sees("The rates in the link could not be read (rates=20-0.5_10-0.1)");
      await fill("Seed", 4);
      await press("Share link");
      await sees("It opens this page with these settings.");
      const link = await clipboard(context);
      assert(link.endsWith("#/train?seed=4&device=cpu"), link);
    },
  },
  {
    name: "without a clipboard, as on plain http, the link is shown, selected to be copied",
    async run({ open, press, fill, until, accessible, page }) {
      await page.raw.addInitScript(() => delete Navigator.prototype.clipboard);
      await open("train?device=cpu");
      await fill("Seed", 77);
      await press("Share link");
      await until(
        () => {
          const { value = "", selectionStart, selectionEnd } = document.activeElement;
          return /#\/train\?.*seed=77/.test(value) && selectionStart === 0 && selectionEnd === value.length;
        },
        undefined,
        "the link, selected",
        10,
      );
      await accessible();
    },
  },
  {
    name: "the shared link is a QR code too, which another program reads",
    browsers: ["chromium", "firefox"],
    async run(context) {
      const { open, press, fill, until, accessible, page } = context;
      await open("train?device=cpu&layers=conv-8_relu_flatten_linear-10");
      await fill("Seed", 12);
      await press("Share link");
      await until(() => document.querySelector("svg.qr") !== null, undefined, "the QR code");
      await page.evaluate(readFileSync(require.resolve("jsqr"), "utf8"));
      const read = await page.evaluate(async () => {
        const picture = new Image();
        const text = new XMLSerializer().serializeToString(document.querySelector("svg.qr"));
        picture.src = `data:image/svg+xml,${encodeURIComponent(text.replace("<svg ", '<svg width="480" height="480" '))}`;
        await picture.decode();
        const canvas = new OffscreenCanvas(480, 480).getContext("2d");
        canvas.drawImage(picture, 0, 0, 480, 480);
        return globalThis.jsQR(canvas.getImageData(0, 0, 480, 480).data, 480, 480)?.data;
      });
      const base = await page.evaluate(() => location.href.replace(/#.*/, ""));
      const wanted = `${base}#/train?layers=conv-8_relu_flatten_linear-10&seed=12&device=cpu`;
      assert(read === wanted, `the code says ${read}, not ${wanted}`);
      await accessible();
      await page.setViewport({ width: 360, height: 740 });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert(over <= 0, `the page is ${over} px too wide on a phone`);
    },
  },
];
