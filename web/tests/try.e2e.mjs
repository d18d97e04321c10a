// The page Try: models of one's own pictures and tables are tried, by every way in.
import { assert } from "./context.mjs";
import { bmp, PRICES, text, withFolder } from "./files.mjs";

const said = ({ page }) => page.evaluate(() => document.querySelector(".try-said")?.textContent);
const says = ({ until }, words) =>
  until((words) => document.querySelector(".try-said")?.textContent === words, words, `the answer “${words}”`, 20);

const ends = ({ until }) =>
  until(
    () => /(Done|Failed)/.test(document.querySelector(".controls .progress")?.textContent ?? ""),
    undefined,
    "the end of the run",
  );

export const tests = [
  {
    name: "a model of one's own pictures is tried with a file, from the clipboard, and by drawing",
    browsers: ["chromium"],
    async run(context) {
      const { open, press, fill, sees, page, accessible, errors, until } = context;
      await withFolder(async (folder) => {
        await open("train?device=cpu&data=folder&steps=60&lr=0.01");
        await page.setFiles("Choose a folder", folder);
        await sees("2 classes");
      });
      await press("Start");
      await ends(context);
      await press("Try the model");
      await sees("answers with 2 classes");
      await page.setFiles("Choose a picture", { name: "light.bmp", mimeType: "image/bmp", buffer: bmp(230, 230, 230) });
      await says(context, "bright");
      const picture = { name: "night.bmp", mimeType: "image/bmp", buffer: bmp(5, 5, 9) };
      await page.setFiles("Choose a picture", picture);
      await says(context, "dark");
      await accessible();
      await page.setFiles("Choose a picture", { name: "torn.bmp", mimeType: "image/bmp", buffer: Buffer.from("no picture") });
      await sees("torn.bmp cannot be read as a picture");

      await page.evaluate(
        (bytes) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], "pasted.bmp", { type: "image/bmp" }));
          window.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data }));
        },
        [...bmp(240, 240, 240)],
      );
      await says(context, "bright");

      // A sheet with a stroke is bright; as light ink on dark paper it is dark.
      await press("Draw");
      await until(() => document.querySelector("main h1")?.textContent === "Draw", undefined, "the page Draw");
      await press("Try");
      await sees("answers with 2 classes");
      await page.evaluate(() =>
        [...document.querySelectorAll(".segments button")].find((each) => each.textContent === "Draw").click(),
      );
      const box = await until(() => {
        const found = document.querySelector(".pad")?.getBoundingClientRect();
        return found && { left: found.left, top: found.top, width: found.width };
      });
      await page.mouse.move(box.left + box.width * 0.3, box.top + box.width * 0.3);
      await page.mouse.down();
      await page.mouse.move(box.left + box.width * 0.6, box.top + box.width * 0.6, { steps: 4 });
      await page.mouse.up();
      await says(context, "bright");
      await fill("Light ink on dark paper", true);
      await says(context, "dark");
      await accessible();
      assert(errors.length === 0, errors.join());
    },
  },
  {
    name: "a number is learnt from a table, and a row that is typed gets its number, also from the exported file",
    browsers: ["chromium"],
    async run(context) {
      const { open, press, fill, sees, page, accessible } = context;
      await open("train?device=cpu&lr=0.01&data=csv");
      await page.setFiles("Choose files", text("prices.csv", PRICES));
      await sees("“price” is predicted");
      await press("Start");
      await ends(context);
      await sees("Test R²");
      const file = await page.download(() => press("Export the model"));
      await press("Try the model");
      await sees("answers with a number, “price”");
      for (const [width, height] of [
        [3, 4],
        [8, 1],
      ]) {
        await fill("width", width);
        await fill("height", height);
        const price = 30 * width + 20 * height + 5;
        await context.until(
          (price) => Math.abs(Number(document.querySelector(".try-said")?.textContent) / price - 1) < 0.1,
          price,
          `about ${price} for ${width} × ${height}, it is ${await said(context)}`,
          20,
        );
      }
      await accessible();
      await fill("width", "wide");
      await sees("is not a number: “wide”");
      await says(context, "?");

      await page.evaluate(() => navigator.storage.getDirectory().then((folder) => folder.remove?.({ recursive: true })));
      await page.goto("about:blank");
      await open("try");
      await page.setFiles("Choose a model", { name: "prices.safetensors", mimeType: "", buffer: file.bytes });
      await sees("answers with a number, “price”");
      await fill("width", 5);
      await fill("height", 5);
      await context.until(
        () => Math.abs(Number(document.querySelector(".try-said")?.textContent) / 255 - 1) < 0.1,
        undefined,
        "about 255",
        20,
      );
      await page.setFiles("Choose a model", { name: "torn.safetensors", mimeType: "", buffer: file.bytes.subarray(0, 300) });
      await sees("torn.safetensors: the file is damaged");
    },
  },
  {
    name: "the camera shows the model a picture, and is off when it is not wanted any more",
    launch: { camera: true },
    async run(context) {
      const { open, press, page, until, accessible } = context;
      await open("train?device=cpu&steps=10");
      await press("Start");
      await ends(context);
      await press("Try the model");
      await press("The camera");
      await press("Take a picture");
      await until(() => /^\d$/.test(document.querySelector(".try-said")?.textContent ?? ""), undefined, "an answer", 20);
      await accessible();
      await page.evaluate(() => {
        globalThis.tracks = document.querySelector("video").srcObject.getTracks();
      });
      await press("A picture");
      await until(() => globalThis.tracks.every(({ readyState }) => readyState === "ended"), undefined, "a camera that is off");
    },
  },
];
