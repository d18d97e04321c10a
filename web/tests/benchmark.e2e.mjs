// The Benchmark: CPU against GPU with every element compared, the exports, and the peers.
import { assert } from "./context.mjs";

const finished = ({ until }, seconds = 90) =>
  until(
    () =>
      [...document.querySelectorAll("button")].some((each) => each.textContent === "Run" && !each.disabled) &&
      document.querySelector(".table") !== null,
    undefined,
    "the end of the run",
    seconds,
  );

/** The rows of the table as text. */
const table = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".table tbody tr")].map((row) => [...row.cells].map((cell) => cell.innerText.trim())),
  );

export const tests = [
  {
    name: "a small matrix product on CPU and GPU: every element compared, and exported as JSON and CSV",
    async run(context) {
      const { open, press, accessible, page } = context;
      await open("benchmark?tasks=matmul-elementwise&size=256&device=software");
      await press("Run");
      await finished(context);
      const rows = await table(page);
      assert(rows.length === 4, `four rows were expected: ${JSON.stringify(rows)}`);
      for (const row of rows) {
        assert(row[8].replace(/\D/g, "") === String(256 * 256), `not every element was compared: ${row}`);
        assert(["correct", "the reference"].includes(row[10]), `wrong: ${row}`);
      }
      const json = await page.download(() => press("Export JSON"));
      const { results, device } = JSON.parse(json.bytes.toString());
      assert(results.length === 4 && device.includes("swiftshader"), `the JSON has ${results.length} results of ${device}`);
      assert(
        results.every(({ compared, correct, median, rate }) => compared === 65536 && correct && median > 0 && rate > 0),
        JSON.stringify(results),
      );
      for (const { contender, busy } of results) {
        const isShare = busy > 0 && busy <= 1;
        assert(contender.includes("WebGPU") ? isShare : busy === undefined, `${contender} had the GPU busy for ${busy}`);
      }
      const csv = await page.download(() => press("Export CSV"));
      const lines = csv.bytes.toString().trim().split("\n");
      assert(
        lines.length === 5 && lines.every((line) => line.match(/"(?:[^"]|"")*"|[^,]+/g).length === 16),
        `the CSV is\n${lines.join("\n")}`,
      );
      await accessible();
    },
  },
  {
    name: "the peers load from this host and run beside ours",
    async run(context) {
      const { open, press, page, address } = context;
      const elsewhere = [];
      page.on(
        "request",
        (request) => /^https?:/.test(request.url()) && !request.url().startsWith(address) && elsewhere.push(request.url()),
      );
      await open("benchmark?tasks=matmul-mlp&size=128&contenders=cpu-gpu-tfjs-jax&device=software");
      await press("Run");
      await finished(context);
      const rows = await table(page);
      assert(elsewhere.length === 0, `other hosts were asked: ${elsewhere.join(", ")}`);
      assert(rows.length === 8, `eight rows were expected: ${JSON.stringify(rows)}`);
      assert(
        rows.every((row) => ["correct", "the reference"].includes(row[10])),
        rows.map((row) => row.join(" | ")).join("\n"),
      );
      const parameters = 128 * 784 + 128 + 10 * 128 + 10;
      assert(
        rows.filter((row) => row[0].startsWith("Training")).every((row) => row[8].replace(/\D/g, "") === String(parameters + 1)),
        "not every gradient was compared",
      );
    },
  },
  ...[
    ["convolution", "cpu-gpu-tfjs-jax"],
    ["cnn", "gpu-jax"],
    ["cnn", "tfjs"],
  ].map(([task, contenders]) => ({
    name: `${task} gives the CPU's numbers in ${contenders}`,
    async run(context) {
      const { open, press, page } = context;
      await open(`benchmark?tasks=${task}&contenders=${contenders}&device=software`);
      await press("Run");
      await finished(context, 95);
      const rows = await table(page);
      assert(rows.length === contenders.split("-").length, `rows are missing: ${rows.join("\n")}`);
      assert(
        rows.every((row) => ["correct", "the reference"].includes(row[10])),
        rows.map((row) => row.join(" | ")).join("\n"),
      );
    },
  })),
  {
    name: "stop ends a run at once and keeps what was measured",
    async run(context) {
      const { open, press, sees, page, until } = context;
      await open("benchmark?tasks=matmul&size=4096&sweep=1&device=software");
      await press("Run");
      await sees("Flambeau, WebGPU");
      await until(() => document.querySelectorAll(".table tbody tr").length >= 1, undefined, "a first row");
      await press("Stop");
      await until(() => [...document.querySelectorAll("button")].some((each) => each.textContent === "Run" && !each.disabled));
      assert((await table(page)).length >= 1, "the rows are gone");
    },
  },
];
