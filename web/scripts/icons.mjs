// Draws the app's icons and the picture for links from public/flambeau.svg, in headless Chromium: `node scripts/icons.mjs`.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openBrowser } from "../tests/browsers.mjs";

const folder = fileURLToPath(new URL("../public/", import.meta.url));
const PAPER = "#fbf8f4";
/** Masks may cut a tenth off at each side; an icon of Apple's has no transparent corners. */
const ICONS = [
  { file: "icon-192.png", side: 192, flame: 0.94 },
  { file: "icon-512.png", side: 512, flame: 0.94 },
  { file: "icon-maskable.png", side: 512, flame: 0.66, paper: PAPER },
  { file: "icon-apple.png", side: 180, flame: 0.76, paper: PAPER },
];

/** Runs in the page. */
async function draw({ svg, width, height, flame, left, paper, words = [] }) {
  const image = new Image(512, 512);
  image.src = `data:image/svg+xml,${encodeURIComponent(svg.replace("<svg ", '<svg width="512" height="512" '))}`;
  await image.decode();
  const canvas = new OffscreenCanvas(width, height);
  const pen = canvas.getContext("2d");
  if (paper !== undefined) {
    pen.fillStyle = paper;
    pen.fillRect(0, 0, width, height);
  }
  const side = flame * height;
  pen.drawImage(image, left ?? (width - side) / 2, (height - side) / 2, side, side);
  for (const { text, font, colour, x, y } of words) {
    pen.font = font;
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
  }
  return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
}

const svg = readFileSync(`${folder}flambeau.svg`, "utf8");
const browser = await openBrowser("chromium");
try {
  const page = await browser.newPage({ width: 400, height: 400, dark: false });
  const save = async (file, options) => writeFileSync(folder + file, Buffer.from(await page.evaluate(draw, { svg, ...options })));
  for (const { file, side, flame, paper } of ICONS) await save(file, { width: side, height: side, flame, paper });
  const line = (text, y, size = 40, colour = "#665b54") => ({ text, font: `${size}px system-ui, sans-serif`, colour, x: 480, y });
  await save("social.png", {
    width: 1200,
    height: 630,
    flame: 0.7,
    left: 30,
    paper: PAPER,
    words: [
      line("Flambeau", 270, 96, "#2a2320"),
      line("Train neural networks in the page,", 350),
      line("on your own machine.", 404),
      line("Nothing leaves it.", 458),
    ],
  });
} finally {
  await browser.close();
}
