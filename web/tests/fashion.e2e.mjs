// Fashion-MNIST: offered where the server has it, with the real files (Debian's dataset-fashion-mnist, `cargo xtask test app` installs it);
// elsewhere the page says how to get it, and takes the files themselves.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { assert } from "./context.mjs";
import { figure, finishes } from "./training.mjs";

const files = fileURLToPath(new URL("../dist/fashion-mnist/", import.meta.url));
const LACKING = "web/dist has no Fashion-MNIST: build it with FLAMBEAU_FASHION_MNIST=/usr/share/datasets/fashion-mnist";

export const tests = [
  {
    name: "Fashion-MNIST is trained like MNIST, with the names of its classes; a link to the run repeats it",
    browsers: ["chromium", "firefox"],
    async run(context) {
      assert(existsSync(files), LACKING);
      const { open, fill, press, sees, page, accessible } = context;
      await open("train?device=cpu&steps=150");
      await fill("Data set", "fashion");
      await sees("70,000 pictures of clothes");
      await press("Start");
      await finishes(context, 140);
      const accuracy = Number.parseFloat(await figure(context, "Test accuracy"));
      assert(accuracy > 60, `only ${accuracy} % of the clothes are recognised`);
      const names = await page.evaluate(() =>
        [...document.querySelectorAll(".answers li")].map((each) => each.innerText).join(" "),
      );
      assert(/Boot|Sneaker|Sandal/.test(names) && /Shirt|Coat|Pullover|Trouser/.test(names), `classes are not named: ${names}`);
      await press("Share link");
      await sees("It repeats this run, number for number, on the CPU of any machine.");
      await accessible();
    },
  },
  {
    name: "where the server lacks it, the page says how to get it and takes the files",
    async run(context) {
      assert(existsSync(files), LACKING);
      const { open, press, sees, page, until } = context;
      await page.raw.route("**/", async (route) => {
        const response = await route.fetch();
        const text = (await response.text()).replace(/<meta name="flambeau-sets"[^>]*>/, "");
        await route.fulfill({ response, body: text });
      });
      await open("train?device=cpu&data=fashion&steps=10");
      await sees("This server does not have it");
      await sees("dataset-fashion-mnist");
      const small = ["t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"];
      await page.setFiles(
        "Choose files",
        small.map((name) => ({ name, mimeType: "", buffer: readFileSync(files + name) })),
      );
      await sees("Fashion-MNIST:");
      await press("Share link");
      await sees("The data stay in this browser");
      await press("Start");
      await finishes(context);
      await until(
        () => /Boot|Sneaker|Trouser/.test(document.querySelector(".answers")?.innerText ?? ""),
        undefined,
        "names of classes",
      );
    },
  },
];
