// The shell: navigation, theme, the device, and what is shown without WebGPU.
import { assert } from "./context.mjs";

export const tests = [
  {
    name: "every page opens from the navigation, and axe finds no fault in it",
    async run({ open, press, until, accessible, page }) {
      await open("train");
      for (const title of ["Draw", "Try", "Playground", "Together", "Learn", "Benchmark", "Device", "Train"]) {
        await press(title);
        await until((title) => document.querySelector("main h1")?.textContent === title, title);
        await accessible();
      }
      const asked = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => new URL(name).origin));
      assert(
        asked.every((origin, _, [first]) => origin === first),
        "the page asks other hosts",
      );
    },
  },
  {
    name: "dark and light, and a phone's width, without a horizontal scroll bar",
    async run({ open, press, until, accessible, page }) {
      await page.setViewport({ width: 360, height: 740 });
      await open("train");
      for (const title of ["Train", "Draw", "Try", "Playground", "Together", "Learn", "Benchmark", "Device"]) {
        await press(title);
        await until((title) => document.querySelector("main h1")?.textContent === title, title);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert(over <= 0, `${title} is ${over} px too wide`);
      }
      await press("Theme: Auto. Change it.");
      await press("Theme: Light. Change it.");
      await until(() => document.documentElement.dataset.theme === "dark");
      await accessible();
    },
  },
  {
    name: "without WebGPU the page says what to enable, and the CPU is used",
    launch: { webgpu: false },
    async run({ open, sees, press }) {
      await open("train");
      await sees("Training runs on the CPU here");
      await press("How to switch WebGPU on");
      await sees("about:config");
      await sees("Best device: CPU");
    },
  },
  {
    name: "a page that is left by the menu and entered again has its settings, and the device goes along",
    async run({ open, press, fill, until, page }) {
      const enter = async (title) => {
        await press(title);
        await until((title) => document.querySelector("main h1")?.textContent === title, title);
        return page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.split("?")[1])));
      };
      await open("train?device=cpu");
      await fill("Seed", 77);
      await fill("Batch size", 32);
      assert(JSON.stringify(await enter("Draw")) === '{"device":"cpu"}', "Draw has settings of Train");
      await enter("Playground");
      await press("Moons");
      await fill("Device to compute on", "software");
      const train = await enter("Train");
      assert(
        train.seed === "77" && train.batch === "32" && train.device === "software",
        `Train is entered again with ${JSON.stringify(train)}`,
      );
      const shown = await page.evaluate(
        () => [...document.querySelectorAll("label")].find((each) => each.textContent.startsWith("Seed")).control.value,
      );
      assert(shown === "77", `the seed shown is ${shown}`);
      const playground = await enter("Playground");
      assert(playground.set === "moons", `the Playground is entered again with ${JSON.stringify(playground)}`);
    },
  },
];
