// The curves: zoom that stays, one place under the pointer, axes, smoothing, files, and a cost that does not grow.
import { assert } from "./context.mjs";
import { finishes, reaches, slideRate, stepNow } from "./training.mjs";

/** Where a chart's plot is on the screen. */
const plot = ({ page }, which = 0) =>
  page.evaluate((which) => {
    const over = document.querySelectorAll(".chart .u-over")[which];
    over.scrollIntoView({ block: "center" });
    const { left, top, width, height } = over.getBoundingClientRect();
    return { left, top, width, height };
  }, which);

/** The step that each chart's legend says when the pointer is in the middle of the first. */
async function stepsUnderPointer(context) {
  const { left, top, width, height } = await plot(context);
  await context.page.mouse.move(left + width / 2 - 3, top + height / 2);
  await context.page.mouse.move(left + width / 2, top + height / 2);
  await context.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return context.page.evaluate(() =>
    [...document.querySelectorAll(".chart .u-legend .u-series:first-child .u-value")].map((each) => each.textContent),
  );
}

const points = ({ page }) =>
  page.evaluate(() => [...document.querySelectorAll(".chart .uplot")].map((each) => Number(each.dataset.points)));

/** The file of a run that has taken very many steps: the page's own container, written by hand. */
function longRun(count) {
  const lists = { step: [], loss: [], accuracy: [], gradient: [], seconds: [], testStep: [], testLoss: [], testAccuracy: [] };
  for (let place = 1; place <= count; place += 1) {
    lists.step.push(10 * place);
    lists.loss.push(1 / Math.sqrt(place) + ((place * 7919) % 97) / 500);
    lists.accuracy.push(1 - 1 / Math.sqrt(place + 1));
    lists.gradient.push(2 + Math.sin(place));
    lists.seconds.push(place / 20);
    if (place % 10 === 0) {
      lists.testStep.push(10 * place);
      lists.testLoss.push(1.1 / Math.sqrt(place));
      lists.testAccuracy.push(1 - 1.1 / Math.sqrt(place + 2));
    }
  }
  const packed = (value, arrays) => {
    const head = Buffer.from(JSON.stringify(value));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(head.length);
    return Buffer.concat([Buffer.from("flambeau"), length, head, ...arrays]);
  };
  let at = 0;
  const arrays = Object.values(lists).map((list) => Buffer.from(Float64Array.from(list).buffer));
  const curve = Object.fromEntries(
    Object.entries(lists).map(([name, list]) => {
      const placed = { $array: "f64", at, length: list.length };
      at += 8 * list.length;
      return [name, placed];
    }),
  );
  const state = packed({ curve, set: { train: 60000 } }, arrays);
  const record = {
    ...{ id: "x", number: 1, name: "Long", notes: "", settings: "rates=5000-0.01", device: "cpu", state: "done" },
    ...{ step: 10 * count, steps: 10 * count, seconds: count / 20, date: 0, seams: [], changedDevice: false },
    space: { checkpoints: 0, weights: 0, state: 0 },
  };
  const file = { format: "flambeau run 1", record, state: { $array: "u8", at: 0, length: state.length } };
  return { name: "long.flambeau", mimeType: "", buffer: packed(file, [state]) };
}

export const tests = [
  {
    name: "a zoom stays while data arrive, and the pointer's place is the same in all charts",
    async run(context) {
      const { open, press, page, until } = context;
      await open("train?device=cpu&epochs=1000");
      await press("Start");
      await reaches(context, 120);
      const { left, top, width, height } = await plot(context);
      await page.mouse.move(left + width * 0.3, top + height / 2);
      await page.mouse.down();
      await page.mouse.move(left + width * 0.5, top + height / 2);
      await page.mouse.move(left + width * 0.6, top + height / 2);
      await page.mouse.up();
      const [before, ...others] = await stepsUnderPointer(context);
      assert(
        Number(before) > 0 && others.join() === `${before},${before}`,
        `${before} under the pointer in one chart, ${others.join()} in the others`,
      );
      const step = await stepNow(context);
      await reaches(context, step + 200);
      const after = await stepsUnderPointer(context);
      assert(
        after.join() === [before, before, before].join(),
        `${before} under the pointer before, ${after.join()} after ${step + 200} steps`,
      );
      await press("Show all");
      await until(() =>
        [...document.querySelectorAll("button")].some((each) => each.textContent === "Show all" && each.ariaDisabled),
      );
      const [whole] = await stepsUnderPointer(context);
      assert(Number(whole) > Number(before), `${whole} under the pointer in the whole curve`);
      await press("Stop");
      await finishes(context);
    },
  },
  {
    name: "a curve of 60000 points costs as much as a short one, at every zoom, and goes out whole as a table",
    async run(context) {
      const { open, press, page, until, fill, accessible } = context;
      await open("train?device=cpu");
      await page.setFiles("Import a run", longRun(60_000));
      await until(() => document.querySelectorAll(".chart .uplot").length === 3, undefined, "the charts");
      const check = async (what, most) => {
        const drawn = await points(context);
        assert(drawn.length === 3 && drawn.every((count) => count > 300 && count <= most), `${what}: ${drawn.join()} points`);
      };
      await check("the whole", 1600);
      const [middle] = await stepsUnderPointer(context);
      assert(Math.abs(Number(middle) - 300_000) < 5000, `step ${middle} in the middle of 600000`);
      for (const time of [1, 2, 3, 4]) {
        await press("Zoom in");
        await check(`zoom ${time}`, 1600);
      }
      const [near] = await stepsUnderPointer(context);
      assert(Math.abs(Number(near) - 581_250) < 600, `step ${near} in the middle of the last sixteenth`);
      await press("Show all");
      await fill("Smoothing", 0.9);
      await until(
        () => document.querySelector(".chart .u-legend").innerText.includes("as it was"),
        undefined,
        "the curve itself",
      );
      await check("smoothed", 2400);
      await press("Logarithmic");
      await press("Epochs");
      await until(() => document.querySelector(".chart .u-legend").innerText.includes("epochs"), undefined, "epochs");
      const [epoch] = await stepsUnderPointer(context);
      assert(Math.abs(Number(epoch) - 300_000 / 938) < 5, `epoch ${epoch} in the middle`);
      await press("Time");
      await until(() => document.querySelector(".chart .u-legend").innerText.includes("time"), undefined, "time");
      const [time] = await stepsUnderPointer(context);
      assert(/^2[45]:\d\d min$/.test(time), `${time} in the middle of 50 minutes`);
      await accessible();
      const { bytes } = await page.download(() => press("Export CSV"));
      const rows = bytes.toString().trim().split("\n");
      assert(rows[0] === "run,name,part,step,epoch,seconds,loss,accuracy,rate,gradient norm", rows[0]);
      assert(rows.length === 66_001, `${rows.length} rows`);
      assert(/^1,Long,training,5000,[\d.]+,25,[\d.]+,[\d.]+,0.001,[\d.]+$/.test(rows[500]), rows[500]);
      assert(/^1,Long,training,5010,[\d.]+,25.05,[\d.]+,[\d.]+,0.01,[\d.]+$/.test(rows[501]), rows[501]);
      const events = await page.download(() => press("TensorBoard"));
      assert(events.name === "events.out.tfevents.0.run-1", events.name);
      assert(events.bytes.toString("latin1").split("loss/training").length === 60_001, "not every point is an event");
      assert(events.bytes.toString("latin1").split("gradient_norm").length === 60_001, "not every norm is an event");
      const drawing = (await page.download(() => press("Export SVG"))).bytes.toString();
      const lines = await page.evaluate((text) => {
        const made = new DOMParser().parseFromString(text, "image/svg+xml");
        if (made.querySelector("parsererror") !== null) return made.querySelector("parsererror").textContent;
        return [...made.querySelectorAll("polyline")].map((line) => line.getAttribute("points").split(" ").length);
      }, drawing);
      assert(lines.length === 8 && lines.every((count) => count > 100 && count <= 800), `${lines}`);
    },
  },
  {
    name: "the charts mark where the rate changed; with a finger everything can be hit, and a phone shows it all",
    async run(context) {
      const { open, press, page, until } = context;
      await page.raw.addInitScript(() => {
        globalThis.written = new Map();
        const { fillText } = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
          globalThis.written.set(text, this.fillStyle);
          return fillText.call(this, text, ...rest);
        };
      });
      await open("train?device=cpu&steps=200");
      await press("Start");
      await reaches(context, 20);
      await slideRate(context, -1.5, "0.032");
      await finishes(context);
      await until(() => globalThis.written.has("rate 0.032"), undefined, "the mark of the rate", 5);
      for (const theme of ["Auto", "Light"]) await press(`Theme: ${theme}. Change it.`);
      await until(
        () => {
          const { style } = document.body.appendChild(document.createElement("i"));
          style.color = globalThis.written.get("100");
          const drawn = getComputedStyle(document.body.lastChild).color;
          style.color = "var(--soft)";
          const meant = getComputedStyle(document.body.lastChild).color;
          document.body.lastChild.remove();
          return document.documentElement.dataset.theme === "dark" && drawn === meant;
        },
        undefined,
        "the dark theme's colour of the axis",
        5,
      );
      await press("Details of run 1");
      await until(() => document.querySelector(".run-details") !== null, undefined, "the details");
      const client = await page.raw.context().newCDPSession(page.raw);
      await client.send("Emulation.setTouchEmulationEnabled", { enabled: true });
      await page.setViewport({ width: 390, height: 800 });
      await until(() => matchMedia("(pointer: coarse)").matches, undefined, "a coarse pointer", 5);
      const small = await page.evaluate(() =>
        [
          ...document.querySelectorAll(
            ".train-main :is(button, select, textarea, summary, label.check, input.slider, .run-details input)",
          ),
        ]
          .map((each) => ({ words: each.ariaLabel ?? each.textContent, box: each.getBoundingClientRect() }))
          .filter(({ box }) => box.width > 0 && (box.height < 44 || box.width < 44))
          .map(({ words, box }) => `${words}: ${box.width} × ${box.height}`),
      );
      assert(small.length === 0, `too small for a finger: ${small.join(", ")}`);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert(over <= 0, `the page is ${over} px too wide`);
      await context.accessible();
    },
  },
];
