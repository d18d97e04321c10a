// A run's result to show around: the card as a picture, and what a link says of its run.
import { assert } from "./context.mjs";
import { figure, finishes, pictureTable } from "./training.mjs";

const SUMMARY = "Result card: the run as a picture, to copy or save";

/** Trains what the place says, and opens the card of the run. */
async function openCard(context, place) {
  const { open, press, until } = context;
  await open(place);
  await press("Start");
  await finishes(context);
  await press("Details of run 1");
  await press(SUMMARY);
  await until(() => document.querySelector(".result-card")?.naturalWidth === 1200, undefined, "the card");
}

/** The card's words and pictures, read from its SVG. */
const parsed = ({ page }, text) =>
  page.evaluate((text) => {
    const made = new DOMParser().parseFromString(text, "image/svg+xml");
    return {
      broken: made.querySelector("parsererror")?.textContent,
      words: [...made.querySelectorAll("text")].map((each) => each.textContent).join("|"),
      pictures: made.querySelectorAll("image").length,
      squares: made.querySelectorAll("rect").length,
      points: made.querySelector("polyline").getAttribute("points").split(" ").length,
    };
  }, text);

export const tests = [
  {
    name: "a run's card has its name, figures, settings, curve and pictures, and goes out as SVG, PNG and to the clipboard",
    async run(context) {
      const { press, fill, page, sees, until, accessible } = context;
      await openCard(context, "train?device=cpu&steps=120&seed=8");
      await fill("Name", "My first <run>");
      const accuracy = await figure(context, "Test accuracy");
      await until(
        () => document.querySelector(".result-card").alt.startsWith("My first <run>."),
        undefined,
        "the name on the card",
      );
      const alt = await page.evaluate(() => document.querySelector(".result-card").alt);
      assert(alt.includes(`Test accuracy ${accuracy}`) && alt.includes("seed 8, CPU"), alt);
      const svg = await page.download(() => press("Save as SVG"));
      const card = await parsed(context, svg.bytes.toString());
      assert(svg.name === "My-first-run-.svg" || svg.name === "My-first-run.svg", svg.name);
      assert(
        card.broken === undefined && card.words.includes("My first <run>") && card.words.includes(accuracy),
        JSON.stringify(card),
      );
      assert(/MNIST: 60.000 to train/.test(card.words) && card.pictures === 9 && card.points === 12, JSON.stringify(card));
      const { bytes } = await page.download(() => press("Save as PNG"));
      assert(
        bytes.subarray(1, 4).toString() === "PNG" && bytes.readUInt32BE(16) === 1200 && bytes.readUInt32BE(20) === 630,
        "no PNG",
      );
      await press("Copy the card");
      await sees("The card is on the clipboard.");
      const copied = await page.evaluate(async () => {
        const [item] = await navigator.clipboard.read();
        const image = await createImageBitmap(await item.getType("image/png"));
        const canvas = new OffscreenCanvas(image.width, image.height);
        const pen = canvas.getContext("2d");
        pen.drawImage(image, 0, 0);
        const colours = new Set(pen.getImageData(0, 0, image.width, image.height).data);
        return { width: image.width, colours: colours.size };
      });
      assert(copied.width === 1200 && copied.colours > 20, JSON.stringify(copied));
      await accessible();
      await page.setViewport({ width: 360, height: 740 });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert(over <= 0, `with the card the page is ${over} px too wide for a phone`);
    },
  },
  {
    name: "without pictures the card shows what is taken for what; without a clipboard it says so",
    async run(context) {
      const { open, page, press, sees, until } = context;
      await page.raw.addInitScript(() => delete Navigator.prototype.clipboard);
      await open("train?device=cpu&data=csv&epochs=20&batch=16&layers=linear-2");
      const rows = Array.from({ length: 60 }, (_, row) => `${row % 7},${row % 2 === 0 ? 5 : -5},${row % 2 === 0 ? "a" : "b"}`);
      await page.setFiles("Choose files", { ...pictureTable(), buffer: Buffer.from(["x,y,kind", ...rows].join("\n")) });
      await sees("2 classes");
      await press("Start");
      await finishes(context);
      await press("Details of run 1");
      await press(SUMMARY);
      await until(() => document.querySelector(".result-card")?.naturalWidth === 1200, undefined, "the card");
      const svg = await page.download(() => press("Save as SVG"));
      const card = await parsed(context, svg.bytes.toString());
      assert(card.pictures === 0 && card.squares === 6 && card.words.includes("A table: "), JSON.stringify(card));
      await press("Copy the card");
      await sees("This browser gives the page no clipboard for pictures: save the card instead.");
    },
  },
  {
    name: "a link says what its run reached, until the settings are others; who repeats it sees both",
    async run(context) {
      const { open, press, page, sees } = context;
      await open("train?device=cpu&steps=60&seed=3");
      await press("Start");
      await finishes(context);
      const accuracy = await figure(context, "Test accuracy");
      await press("Share link");
      await sees("The link is on the clipboard");
      const link = await page.evaluate(() => navigator.clipboard.readText());
      const other = await context.freshProfile();
      await other.page.goto(link);
      await other.sees(`This link's run reached ${accuracy}`);
      await other.sees("after 60 steps, says the link. Press Start to repeat it.");
      assert(
        (await other.page.evaluate(() => document.querySelectorAll(".link-result polyline").length)) === 1,
        "there is no curve",
      );
      await other.accessible();
      await other.fill("Seed", 4);
      await other.until(() => !document.body.innerText.includes("This link's run"), undefined, "no claim of other settings", 5);
      await other.fill("Seed", 3);
      await other.sees(`This link's run reached ${accuracy}`);
      await other.press("Start");
      await finishes(other);
      await other.sees(`Yours reached ${accuracy}, loss `);
      const losses = await other.page.evaluate(() => document.querySelector(".link-result").innerText.match(/loss [\d.]+\d/g));
      assert(losses.length === 2 && losses[0] === losses[1], `${losses}`);
      await other.page.setViewport({ width: 360, height: 740 });
      // Charts take their new width with the next frame.
      const fits = () => document.documentElement.scrollWidth <= document.documentElement.clientWidth;
      await other.until(fits, undefined, "a page that is no wider than a phone");
      await other.open("train?device=cpu&reached=test_98");
      await other.sees("The reached in the link could not be read (reached=test_98)");
    },
  },
];
