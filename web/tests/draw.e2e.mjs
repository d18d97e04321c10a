// The page Draw: a model learns, digits are drawn, pictures and models are dropped.
import { assert } from "./context.mjs";

const answer = ({ page }) => page.evaluate(() => document.querySelector(".answer-digit")?.textContent);
/** What the network says once the bars belong to the newest drawing. */
async function settled(context) {
  let before = "";
  for (let time = 0; time < 40; time += 1) {
    await new Promise((done) => setTimeout(done, 120));
    const now = await context.page.evaluate(() => document.querySelector(".draw-answer").textContent);
    if (now === before) break;
    before = now;
  }
  return answer(context);
}

export const tests = [
  {
    name: "the app's own model reads digits at once, drawn, written and dropped; the last model that was trained takes its place",
    browsers: ["chromium"],
    async run(context) {
      const { open, press, until, sees, accessible, page } = context;
      await open("draw?device=cpu");
      await sees("the small model that comes with the app");
      const said = [];
      for (let digit = 0; digit < 10; digit += 1) {
        await press(`Write a ${digit}`);
        said.push(await settled(context));
      }
      const right = said.filter((each, digit) => each === String(digit)).length;
      assert(right >= 9, `only ${right} of 10 examples are read: ${said.join(" ")}`);

      await press("Clear");
      await sees("nothing drawn yet");
      const box = await page.evaluate(() => {
        const { left, top, width } = document.querySelector(".pad").getBoundingClientRect();
        return { left, top, width };
      });
      const at = (x, y) => [box.left + x * box.width, box.top + y * box.width];
      await page.mouse.move(...at(0.28, 0.25));
      await page.mouse.down();
      for (const [x, y] of [
        [0.5, 0.24],
        [0.7, 0.23],
        [0.6, 0.45],
        [0.5, 0.65],
        [0.45, 0.82],
      ])
        await page.mouse.move(...at(x, y), { steps: 4 });
      await page.mouse.up();
      assert((await settled(context)) === "7", `a drawn 7 is read as ${await answer(context)}`);
      await accessible();

      const png = await page.evaluate(async () => {
        const canvas = new OffscreenCanvas(120, 160);
        const pen = canvas.getContext("2d");
        pen.fillStyle = "white";
        pen.fillRect(0, 0, 120, 160);
        pen.lineWidth = 14;
        pen.beginPath();
        pen.ellipse(60, 80, 34, 52, 0, 0, 7);
        pen.stroke();
        return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
      });
      await page.setFiles("Choose a file", { name: "zero.png", mimeType: "image/png", buffer: Buffer.from(png) });
      assert((await settled(context)) === "0", `a picture of a 0 is read as ${await answer(context)}`);
      await page.setFiles("Choose a file", { name: "broken.png", mimeType: "image/png", buffer: Buffer.from("no picture") });
      await sees("broken.png cannot be read as a picture");
      await page.setFiles("Choose a file", { name: "broken.safetensors", mimeType: "", buffer: Buffer.from("no model at all") });
      await sees("this is no safetensors file");

      await press("Train");
      await press("Start");
      await until(() => /step \d+ of/.test(document.querySelector(".controls .progress")?.textContent ?? ""), undefined, "steps");
      await press("Draw");
      await sees("The model is still learning");
      await press("Train");
      await press("Stop");
      await sees("Stopped on the CPU");
      await page.goto("about:blank");
      await open("draw?device=cpu");
      await sees("the model that was trained or chosen last");
      await press("Write a 1");
      await until(
        () => document.querySelector(".answer-digit")?.textContent === "1",
        undefined,
        "the kept model reads a 1 after a reload",
      );
    },
  },
  {
    name: "tall and wide pictures lie on the sheet upright, dark on light and light on dark",
    async run({ open, until, page }) {
      await open("draw?device=cpu");
      // 280 pixels of the sheet are not a whole number of 400 by 600: their other side ends between two pixels.
      for (const [width, height] of [
        [400, 600],
        [600, 400],
      ]) {
        for (const [paper, ink] of [
          ["white", "black"],
          ["black", "white"],
        ]) {
          const png = await page.evaluate(
            async ([width, height, paper, ink]) => {
              const canvas = new OffscreenCanvas(width, height);
              const pen = canvas.getContext("2d");
              pen.fillStyle = paper;
              pen.fillRect(0, 0, width, height);
              pen.fillStyle = ink;
              pen.fillRect(width / 2 - 20, height / 4, 40, height / 2);
              return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
            },
            [width, height, paper, ink],
          );
          await page.setFiles("Choose a file", { name: "bar.png", mimeType: "image/png", buffer: Buffer.from(png) });
          const what = `the bar of the picture of ${width} × ${height}, ${ink} on ${paper}, upright in the middle`;
          await until(
            () => {
              const { data, width } = document.querySelector(".pad").getContext("2d").getImageData(0, 0, 280, 280);
              const inked = [...Array(width * width).keys()].filter((place) => data[4 * place + 3] > 128);
              const across = inked.map((place) => place % width);
              const [left, right] = [Math.min(...across), Math.max(...across)];
              return inked.length > 1000 && Math.abs((left + right) / 2 - 140) < 3 && right - left < 24;
            },
            undefined,
            what,
            10,
          );
        }
      }
    },
  },
];
