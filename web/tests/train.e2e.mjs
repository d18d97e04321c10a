// The page Train: training, steering, files, links, faults, one's own data.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert } from "./context.mjs";
import { bmp } from "./files.mjs";
import { figure, finishes, pictureTable, reaches, stepNow } from "./training.mjs";

/** Two idx files: 8 × 8 pictures, bright above or below, and their labels. */
function idxFiles(count = 60) {
  const pictures = Buffer.alloc(16 + count * 64);
  pictures.set([0, 0, 8, 3]);
  for (const [index, size] of [count, 8, 8].entries()) pictures.writeUInt32BE(size, 4 + 4 * index);
  const labels = Buffer.alloc(8 + count);
  labels.set([0, 0, 8, 1]);
  labels.writeUInt32BE(count, 4);
  for (let item = 0; item < count; item += 1) {
    labels[8 + item] = item % 2;
    for (let place = 0; place < 64; place += 1) pictures[16 + item * 64 + place] = place < 32 === (item % 2 === 0) ? 220 : 10;
  }
  return [
    { name: "pictures-idx3-ubyte", mimeType: "", buffer: pictures },
    { name: "labels-idx1-ubyte", mimeType: "", buffer: labels },
  ];
}

/** The switch for mixed precision: can it be pressed, and what stands beside it? */
const mixedPrecision = ({ page }) =>
  page.evaluate(() => {
    const box = [...document.querySelectorAll(".check")].find((each) => each.textContent === "Mixed precision");
    const input = box.querySelector("input");
    const hint = document.getElementById(input.getAttribute("aria-describedby")).textContent;
    return { disabled: input.disabled, checked: input.checked, hint };
  });

export const tests = [
  {
    name: "mixed precision: a switch, which says why where the adapter lacks shader-f16 or the optimizer cannot skip steps",
    async run(context) {
      const { open, sees, press } = context;
      const state = async (address) => {
        await open(address);
        await sees("Mixed precision");
        return mixedPrecision(context);
      };
      // SwiftShader has no shader-f16.
      const lacking = await state("train?device=software");
      assert(lacking.disabled && lacking.hint.includes("lacks shader-f16"), JSON.stringify(lacking));
      const plain = await state("train?device=cpu");
      assert(!plain.disabled && plain.hint.includes("16 bits"), JSON.stringify(plain));
      const counting = await state("train?device=cpu&optimizer=nadam");
      assert(counting.disabled && counting.hint.includes("cannot skip steps"), JSON.stringify(counting));
      // What a link has turned on can be turned off; started all the same, the run says what is missing.
      const linked = await state("train?device=software&amp=1&steps=5");
      assert(linked.checked && !linked.disabled, JSON.stringify(linked));
      await press("Start");
      await sees("needs the feature shader-f16");
    },
  },
  {
    name: "MNIST rises over 90 %, with a pause, single steps, and another rate on the way",
    browsers: ["chromium", "firefox"],
    async run(context) {
      const { open, press, until, sees, accessible, page, browser } = context;
      await open("train?device=software&steps=360&lr=0.003");
      await press("Start");
      await reaches(context, 40);
      await press("Pause");
      await sees("Paused");
      const held = await stepNow(context);
      await press("Step");
      await until(
        (step) => document.body.innerText.replace(/\u202f/g, "").includes(`step ${step} of`),
        held + 1,
        "a single step",
      );
      await page.evaluate(() => {
        const slider = document.querySelector(".rate input");
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(slider, "-2.7");
        slider.dispatchEvent(new Event("input", { bubbles: true }));
      });
      await sees("Learning rate 0.002 from step");
      await press("Resume");
      await reaches(context, 150);
      await finishes(context);
      const accuracy = parseFloat(await figure(context, "Test accuracy"));
      assert(accuracy > 90, `${accuracy} % is not over 90 %`);
      assert(Number(await figure(context, "Kernels / step")) > 0, "no kernels are counted");
      await accessible();
      for (const [view, mark] of [
        ["Mistakes", ".gallery li"],
        ["Filters", ".filters canvas"],
        ["Weights and gradients", ".histogram rect"],
        ["Network", ".network-drawing text"],
        ["Classes", ".confusion td.right"],
      ]) {
        await press(view);
        await until((mark) => document.querySelectorAll(mark).length >= 8, mark, view);
        if (browser === "chromium") await accessible();
        if (view === "Network") {
          const layers = await page.evaluate(() =>
            [...document.querySelectorAll(".network-drawing li .visually-hidden")].map((each) => each.textContent),
          );
          assert(
            layers.join("; ") ===
              "Input: 1 × 28 × 28; Flatten: 784; Linear: 128, 100\u202f480 parameters; ReLU: 128; Linear: 10, 1\u202f290 parameters",
            layers.join("; "),
          );
          await sees("4 layers, 101\u202f770 parameters.");
        }
      }
    },
  },
  {
    name: "a model goes out and comes in again; a damaged file is refused with a clear message",
    async run(context) {
      const { open, press, sees, page } = context;
      await open("train?device=cpu&steps=40&seed=5");
      await press("Start");
      await finishes(context);
      const accuracy = await figure(context, "Test accuracy");
      const file = await page.download(() => press("Export the model"));
      assert(file.name.endsWith(".safetensors"), file.name);
      const head = JSON.parse(file.bytes.subarray(8, 8 + Number(file.bytes.readBigUInt64LE(0))).toString());
      assert(head["1.weight"].shape.join() === "128,784" && head["3.bias"].shape.join() === "10", "the names are not PyTorch's");
      await page.setFiles("Import a model", { name: "mine.safetensors", mimeType: "", buffer: file.bytes });
      await sees("Imported: mine.safetensors");
      await finishes(context);
      await press("Device");
      await press("Train");
      await sees("Begin new runs with the weights of mine.safetensors");
      assert(
        (await figure(context, "Test accuracy")) === accuracy,
        `${await figure(context, "Test accuracy")} after the import, ${accuracy} before`,
      );
      await page.setFiles("Import a model", { name: "cut.safetensors", mimeType: "", buffer: file.bytes.subarray(0, 5000) });
      await sees("cut.safetensors: the file is damaged: it should have");
      await page.setFiles("Import a model", {
        name: "text.safetensors",
        mimeType: "",
        buffer: Buffer.from("this is only some text, not a model"),
      });
      await sees("text.safetensors: this is no safetensors file");
    },
  },
  {
    name: "without WebGPU it trains on the CPU",
    launch: { webgpu: false },
    async run(context) {
      await context.open("train?steps=60");
      await context.press("Start");
      await finishes(context);
      await context.sees("Done on the CPU");
    },
  },
  {
    name: "a table of one's own trains a ResNet; a model that does not fit cannot be started",
    async run(context) {
      const { open, press, fill, sees, page, until } = context;
      await open("train?device=cpu&data=csv&steps=20&batch=16&lr=0.01&shift=1&noise=0.05");
      await sees("Choose the files of the data set first");
      await page.setFiles("Choose files", { name: "wrong.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\n1\n2,3,4\n") });
      await sees("The files cannot be used");
      await page.setFiles("Choose files", pictureTable());
      await sees("84 to train, 12 for validation, 24 to test, each 1 × 8 × 8, 2 classes");
      await press("ResNet");
      await press("Start");
      await finishes(context);
      assert(parseFloat(await figure(context, "Test accuracy")) > 90, await figure(context, "Test accuracy"));
      await fill("Data set", "mnist");
      await press("MLP");
      await press("Remove layer 1, Flatten");
      await sees("put Flatten before it");
      await until(() => [...document.querySelectorAll("button")].find((each) => each.textContent === "Start").disabled);
    },
  },
  {
    name: "idx files and a folder of pictures train too",
    async run(context) {
      const { open, press, fill, sees, page } = context;
      await open("train?device=cpu&data=idx&steps=60&epochs=20&batch=8&lr=0.01&layers=flatten_linear-16_relu_linear-2");
      await page.setFiles("Choose files", idxFiles());
      await sees("42 to train, 6 for validation, 12 to test, each 1 × 8 × 8, 2 classes");
      await press("Start");
      await finishes(context);
      assert(parseFloat(await figure(context, "Test accuracy")) > 90, await figure(context, "Test accuracy"));

      const folder = mkdtempSync(join(tmpdir(), "flambeau-"));
      try {
        for (const [index, name] of ["bright", "dark"].entries()) {
          mkdirSync(join(folder, name));
          for (let each = 0; each < 15; each += 1)
            writeFileSync(
              join(folder, name, `${each}.bmp`),
              bmp(...[0, 1, 2].map((channel) => 200 * (1 - index) + each + channel)),
            );
        }
        await fill("Data set", "folder");
        await fill("Colours", "3");
        await fill("Most steps", 300);
        await fill("Epochs", 100);
        await page.setFiles("Choose a folder", folder);
        await sees("21 to train, 3 for validation, 6 to test, each 3 × 28 × 28, 2 classes");
        await press("Start");
        await finishes(context);
        assert(parseFloat(await figure(context, "Test accuracy")) > 90, await figure(context, "Test accuracy"));
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  },
  {
    name: "runs are compared in a table, CPU against GPU",
    async run(context) {
      const { open, press, until, accessible, page } = context;
      await open("train?device=software&steps=20");
      await press("CPU against GPU");
      await until(() => document.querySelectorAll(".run-name").length === 2, undefined, "two runs");
      await finishes(context);
      await until(
        () => [...document.querySelectorAll("td")].filter((each) => each.textContent === "done").length === 2,
        undefined,
        "both done",
      );
      await accessible();
      const cut = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.querySelector(".runs .table-frame");
        return scrollWidth - clientWidth;
      });
      assert(cut <= 0, `at a width of 1280 the table of runs is cut by ${cut} px`);
      await press("Details of run 1");
      await press("Remove run 1");
      await until(() => document.querySelectorAll(".run-name").length === 1, undefined, "one run");
    },
  },
  {
    name: "a table with an empty cell, or a word among numbers, is refused with its row and column",
    async run(context) {
      const { open, sees, press, page } = context;
      const file = (name, rows) => ({ name, mimeType: "text/csv", buffer: Buffer.from(rows.join("\n")) });
      const rows = (cell, kinds = ["a", "b"]) => [
        "width,height,kind",
        ...Array.from({ length: 30 }, (_, row) => `${row === 15 ? cell : row},${row % 7},${kinds[row % kinds.length]}`),
      ];
      await open("train?device=cpu&data=csv&steps=5&batch=8&layers=linear-1");
      await page.setFiles("Choose files", file("empty.csv", rows("")));
      await sees("row 17, column “width” is empty");
      await page.setFiles("Choose files", file("word.csv", rows("wide")));
      await sees("row 17, column “width” is not a number: “wide”");
      await page.setFiles("Choose files", file("whole.csv", rows(15)));
      await sees("21 to train, 3 for validation, 6 to test, each 2, 2 classes.");
      await page.setFiles("Choose files", file("one.csv", rows(15, ["a"])));
      await sees("21 to train, 3 for validation, 6 to test, each 2, 1 class.");
      await press("Start");
      await finishes(context);
      await sees("Done on the CPU");
    },
  },
  {
    name: "a field that is wrong stops Start and says why; the keyboard's focus stays on the button from start to end",
    async run(context) {
      const { open, press, fill, until, accessible, page } = context;
      const start = () =>
        page.evaluate(() => {
          const button = [...document.querySelectorAll("button")].find((each) => each.textContent === "Start");
          const why = document.getElementById(button.getAttribute("aria-describedby") ?? "")?.innerText ?? "";
          return { disabled: button.disabled, why };
        });
      await open("train?device=cpu&steps=60");
      await fill("Batch size", 5000);
      await until(() => document.querySelector('input[aria-invalid="true"]') !== null, undefined, "a field that is wrong");
      const stopped = await start();
      assert(
        stopped.disabled && stopped.why === "Correct “Batch size” first: between 1 and 4096",
        `Start with a batch of 5000: ${JSON.stringify(stopped)}`,
      );
      await accessible();
      await fill("Batch size", 32);
      await until(() => document.querySelector('input[aria-invalid="true"]') === null, undefined, "a field that is right");
      const mended = await start();
      assert(!mended.disabled && mended.why === "", `Start with a batch of 32: ${JSON.stringify(mended)}`);

      await page.evaluate(() => {
        globalThis.focused = new Set();
        const look = () => {
          globalThis.focused.add(document.activeElement.textContent.slice(0, 20));
          requestAnimationFrame(look);
        };
        [...document.querySelectorAll("button")].find((each) => each.textContent === "Start").focus();
        look();
      });
      await page.raw.keyboard.press("Enter");
      await finishes(context);
      const focused = await page.evaluate(() => [...globalThis.focused]);
      assert(
        focused.join() === "Start,Pause,Start" || focused.join() === "Start,Pause",
        `the focus was on ${focused.join(", ")}`,
      );

      await fill("Most steps", 100_000);
      await fill("Epochs", 1000);
      await press("Start");
      await reaches(context, 10);
      await page.evaluate(() => [...document.querySelectorAll("button")].find((each) => each.textContent === "Stop").focus());
      await page.raw.keyboard.press("Enter");
      await finishes(context);
      assert(await page.evaluate(() => document.activeElement.textContent === "Stop"), "the focus is lost after Stop");
    },
  },
  {
    name: "a model file that does not fit is used once: the next run begins with fresh weights",
    async run(context) {
      const { open, press, sees, page } = context;
      const head = JSON.stringify({ "0.weight": { dtype: "F32", shape: [2, 2], data_offsets: [0, 16] } }).padEnd(72);
      const buffer = Buffer.concat([Buffer.alloc(8), Buffer.from(head), Buffer.alloc(16)]);
      buffer.writeBigUInt64LE(BigInt(head.length));
      await open("train?device=cpu&steps=20");
      await page.setFiles("Import a model", { name: "other.safetensors", mimeType: "", buffer });
      await sees("The weights of the model file do not fit these layers");
      await sees("The model file is no longer used: the next Start begins with fresh weights");
      await press("Start");
      await finishes(context);
      await sees("Done on the CPU");
      assert(parseFloat(await figure(context, "Test accuracy")) > 10, await figure(context, "Test accuracy"));
    },
  },
  {
    name: "layers in a link that cannot be read are said",
    async run({ open, sees, fill, until, accessible }) {
      await open("train?device=cpu&layers=flatten_lstm-8_linear-10");
      await sees("The layers in the link could not be read (layers=flatten_lstm-8_linear-10)");
      await accessible();
      await fill("Seed", 3);
      await until(() => !document.body.innerText.includes("could not be read"), undefined, "no notice once the address is right");
    },
  },
];
