// The Playground: it learns, it can be stopped and stepped, a link gives the same first losses, and it is drawn.
import { assert } from "./context.mjs";

/** The number under a name among the figures. */
const figure = (page, name) =>
  page.evaluate((name) => {
    const term = [...document.querySelectorAll(".figures dt")].find((each) => each.textContent === name);
    return Number(term?.nextElementSibling?.textContent.replace(/[^\d.]/g, "") || Number.NaN);
  }, name);

const ready = ({ until }) =>
  until(
    () => {
      const term = [...document.querySelectorAll(".figures dt")].find((each) => each.textContent === "Train loss");
      return /\d/.test(term?.nextElementSibling?.textContent ?? "");
    },
    undefined,
    "the first losses",
  );

/** Waits until the step shown is this one, or later. */
const reaches = ({ until }, step) =>
  until(
    (step) => {
      const term = [...document.querySelectorAll(".figures dt")].find((each) => each.textContent === "Step");
      return Number(term?.nextElementSibling?.textContent.replace(/\D/g, "")) >= step;
    },
    step,
    `step ${step}`,
    80,
  );

/** How many colours a canvas shows: a plane that is not drawn has one. */
const coloursOf = (page, selector) =>
  page.evaluate((selector) => {
    const canvas = document.querySelector(selector);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Set();
    for (let at = 0; at < data.length; at += 4 * 97) seen.add(`${data[at]},${data[at + 1]},${data[at + 2]}`);
    return seen.size;
  }, selector);

async function firstLosses(context) {
  await ready(context);
  const losses = [await figure(context.page, "Train loss")];
  for (let step = 1; step <= 4; step += 1) {
    await context.press("Step");
    await reaches(context, step);
    losses.push(await figure(context.page, "Train loss"), await figure(context.page, "Test loss"));
  }
  return losses.join(" ");
}

export const tests = [
  {
    name: "circles are told apart on the CPU, the plane and the neurons are drawn, and pause stops",
    async run(context) {
      const { open, press, until, accessible, page } = context;
      await open("playground?set=circles&layers=6&noise=5&lr=0.03&seed=3&device=cpu");
      await ready(context);
      const first = await figure(page, "Train loss");
      await press("Start");
      await until(
        () => {
          const term = [...document.querySelectorAll(".figures dt")].find((each) => each.textContent === "Test loss");
          return Number(term?.nextElementSibling?.textContent) < 0.05;
        },
        undefined,
        "a test loss below 0.05",
        80,
      );
      await press("Pause");
      await until(() => [...document.querySelectorAll("button")].some((each) => each.textContent === "Start"));
      await new Promise((done) => setTimeout(done, 400));
      const stopped = await figure(page, "Step");
      await new Promise((done) => setTimeout(done, 400));
      assert((await figure(page, "Step")) === stopped, "it trains on after a pause");
      assert(first > 0.5, `the first loss is ${first}`);
      assert((await figure(page, "Test accuracy")) > 97, "the test accuracy is low");
      assert((await coloursOf(page, ".plane canvas")) > 100, "the plane is not drawn");
      assert((await coloursOf(page, ".network canvas")) > 100, "the neurons are not drawn");
      await press("Step");
      await reaches(context, stopped + 1);
      assert((await figure(page, "Step")) === stopped + 1, "a step is not one step");
      await accessible();
    },
  },
  {
    name: "spirals learn",
    async run(context) {
      const { open, press, page } = context;
      await open("playground?seed=1&lr=0.03&device=cpu");
      await ready(context);
      const first = await figure(page, "Train loss");
      await press("Start");
      await reaches(context, 2000);
      const last = await figure(page, "Train loss");
      assert(last < 0.35 * first, `the loss went from ${first} to ${last}`);
    },
  },
  {
    name: "a link gives the same first losses, on the GPU as on the CPU",
    async run(context) {
      const { open, page, press, until } = context;
      const place = "playground?set=moons&classes=2&noise=20&layers=5-4&features=x-y-xy&activation=relu&batch=16&seed=11";
      const seen = { cpu: [], software: [] };
      for (const device of ["cpu", "software", "cpu"]) {
        await page.goto("about:blank");
        await open(`${place}&device=${device}`);
        seen[device].push(await firstLosses(context));
      }
      assert(seen.cpu[0] === seen.cpu[1], `the same link gives ${seen.cpu[0]}, then ${seen.cpu[1]}`);
      const [cpu, gpu] = [seen.cpu[0], seen.software[0]].map((losses) => losses.split(" ").map(Number));
      assert(
        cpu.every((loss, at) => Math.abs(loss - gpu[at]) < 2e-4),
        `CPU ${cpu}, GPU ${gpu}`,
      );
      await press("Reset");
      await until(() => document.querySelector(".figures dd")?.textContent === "0", undefined, "step 0 after a reset");
    },
  },
  {
    name: "weights go out and in again; a damaged file and one of another network are refused in words",
    async run(context) {
      const { open, press, page, sees, until } = context;
      await open("playground?set=blobs&layers=5&seed=4&device=cpu");
      await ready(context);
      await press("Start");
      await reaches(context, 200);
      await press("Pause");
      await new Promise((done) => setTimeout(done, 400));
      const trained = await figure(page, "Train loss");
      const { name, bytes } = await page.download(() => press("Export weights"));
      assert(name.endsWith(".safetensors") && bytes.includes('"2.bias"'), `${name} has no 2.bias`);
      await press("Reset");
      await until(() => document.querySelector(".figures dd")?.textContent === "0", undefined, "step 0 after a reset");
      const file = (buffer) => ({ name: "weights.safetensors", mimeType: "application/octet-stream", buffer });
      await page.setFiles("Import weights", file(bytes));
      await until(
        (loss) => {
          const term = [...document.querySelectorAll(".figures dt")].find((each) => each.textContent === "Train loss");
          return Number(term?.nextElementSibling?.textContent) === loss;
        },
        trained,
        `the loss of the weights, ${trained}`,
      );
      await page.setFiles("Import weights", file(bytes.subarray(0, 100)));
      await sees("The file was not taken");
      await press("One neuron more in hidden layer 1");
      await ready(context);
      await page.setFiles("Import weights", file(bytes));
      await sees("0.weight: this network has [6, 2] there, the file has [5, 2]");
    },
  },
  {
    name: "points of one's own by mouse and keys, and the link keeps them",
    async run(context) {
      const { open, press, page, until, fill } = context;
      await open("playground?set=own&device=cpu");
      await context.sees("Click into the plane");
      const box = await page.evaluate(() => {
        document.querySelector(".plane canvas").scrollIntoView({ block: "center" });
        const { x, y, width, height } = document.querySelector(".plane canvas").getBoundingClientRect();
        return { x, y, width, height };
      });
      const click = (right, down) => page.mouse.click(box.x + right * box.width, box.y + down * box.height);
      for (const [right, down] of [
        [0.2, 0.2],
        [0.25, 0.3],
        [0.3, 0.2],
        [0.2, 0.35],
      ])
        await click(right, down);
      await press("Class 2");
      for (const [right, down] of [
        [0.7, 0.7],
        [0.8, 0.75],
        [0.75, 0.85],
        [0.85, 0.8],
      ])
        await click(right, down);
      await page.raw.focus(".plane canvas");
      await page.raw.keyboard.press("ArrowRight");
      await page.raw.keyboard.press("Enter");
      await until(() => /own=(?:[01][0-9a-f]{4}){9}(?:&|$)/.test(location.hash), undefined, "nine points in the address");
      await fill("Learning rate", "0.1");
      await press("Start");
      await until(
        () => {
          const term = [...document.querySelectorAll(".figures dt")].find((each) => each.textContent === "Train loss");
          return Number(term?.nextElementSibling?.textContent) < 0.02;
        },
        undefined,
        "a loss below 0.02",
      );
      await press("Pause");
      await page.reload();
      await ready(context);
      assert(/own=/.test(await page.evaluate(() => location.hash)), "the points are lost");
    },
  },
  {
    name: "points of one class only are not learnt: the page asks for a second class",
    async run(context) {
      const { open, press, fill, sees, until, accessible, page } = context;
      await open("playground?set=own&own=0404005050&device=cpu");
      await sees("Two classes are needed");
      const start = await page.evaluate(() => {
        const button = [...document.querySelectorAll("button")].find((each) => each.textContent === "Start");
        const why = document.getElementById(button.getAttribute("aria-describedby") ?? "")?.textContent ?? "";
        const figures = [...document.querySelectorAll(".figures dd")].map((each) => each.textContent);
        return { disabled: button.disabled, why, figures };
      });
      assert(start.disabled && start.why.includes("Two classes are needed"), JSON.stringify(start));
      assert(
        start.figures.every((figure) => !figure.includes("%")),
        `an accuracy is shown: ${start.figures.join(" ")}`,
      );
      await accessible();
      await press("Class 2");
      await page.raw.focus(".plane canvas");
      await page.raw.keyboard.press("Enter");
      await ready(context);
      await press("Start");
      await reaches(context, 5);
      await fill("Seed", -1);
      await sees("Correct “Seed” first: between 0 and 2147483647");
      await fill("Seed", 1);
      // While it trains, the only point of the second class is taken back.
      await press("Undo");
      await sees("Two classes are needed");
      await until(() => [...document.querySelectorAll("button")].some((each) => each.textContent === "Start" && each.disabled));
    },
  },
  {
    name: "without a clipboard, as on plain http, the link is shown, selected to be copied",
    async run({ open, press, until, accessible, page }) {
      await page.raw.addInitScript(() => delete Navigator.prototype.clipboard);
      await open("playground?seed=5&device=cpu");
      await press("Copy link");
      await until(
        () => {
          const { value = "", selectionStart, selectionEnd } = document.activeElement;
          return /#\/playground\?.*seed=5/.test(value) && selectionStart === 0 && selectionEnd === value.length;
        },
        undefined,
        "the link, selected",
        10,
      );
      await accessible();
    },
  },
];
