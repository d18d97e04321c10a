// A page that `cargo page` has built, in Chromium: `node tests/project.mjs <dist> <lines of the native run>`. Its losses must fall, and be
// those of the same program on this machine, on the CPU and on WebGPU. And it must fetch data and weights: `project/addresses.rs` is part of
// it.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { openChromium } from "./browsers.mjs";
import { serve } from "./server.mjs";

const MINUTES = 5;
/** Losses may differ by this: sums are added up in another order. */
const TOLERANCE = 1e-3;
const [dist, native] = process.argv.slice(2);

/** The losses that lines such as `epoch  1 of 60: loss 1.0612, accuracy 40.0 %` tell. */
const lossesOf = (text) => [...text.matchAll(/^epoch +\d+ of \d+: loss ([\d.]+)/gm)].map(([, loss]) => Number(loss));

/** Trains in the page; what it said of its device, and its losses. */
async function train(browser, address) {
  const tab = await browser.newPage();
  const broken = new Promise((_, failed) => {
    tab.on("pageerror", (error) => failed(new Error(`the page broke: ${error.stack ?? error}`)));
    tab.on("console", (message) => message.type() === "error" && failed(new Error(`the page says: ${message.text()}`)));
  });
  const said = (text) => document.getElementById("device")?.textContent?.match(text)?.[0];
  const finished = async () => {
    await tab.goto(address);
    await tab.waitForFunction(said, "^(Trained on|It failed).*", { timeout: MINUTES * 60_000 });
    const [place, log] = await tab.evaluate(() => ["device", "log"].map((id) => document.getElementById(id).textContent));
    if (!place.startsWith("Trained on")) throw new Error(place);
    // The newest line is the first.
    return { place, losses: lossesOf(log).reverse() };
  };
  const result = await Promise.race([finished(), broken]);
  await tab.close();
  return result;
}

function check(place, losses, wanted) {
  if (losses.length !== wanted.length) throw new Error(`${place}: ${losses.length} epochs instead of ${wanted.length}`);
  const [first, last] = [losses[0], losses.at(-1)];
  if (!(last < first / 4)) throw new Error(`${place}: the loss went from ${first} to ${last}`);
  const differences = losses.map((loss, index) => Math.abs(loss - wanted[index]));
  const most = Math.max(...differences);
  if (!(most <= TOLERANCE)) throw new Error(`${place}: epoch ${differences.indexOf(most) + 1} differs by ${most}: ${losses}`);
  console.log(
    `${place}: ${losses.length} epochs, loss ${first} to ${last}, at most ${most.toExponential(1)} from this machine's`,
  );
}

/** A safetensors file of a layer from 3 to 2 with the weights 1 to 6 and the biases 10 and 20. */
function weights() {
  const header = Buffer.from(
    JSON.stringify({
      weight: { dtype: "F32", shape: [2, 3], data_offsets: [0, 24] },
      bias: { dtype: "F32", shape: [2], data_offsets: [24, 32] },
    }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.from(new Float32Array([1, 2, 3, 4, 5, 6, 10, 20]).buffer)]);
}

/** What the page's program says of what it fetches. */
async function fetching(browser, address) {
  const tab = await browser.newPage();
  await tab.goto(`${address}empty`);
  const said = await tab.evaluate(async () => {
    const { default: load, digits, answer, refusal } = await import("/app.js");
    await load();
    const here = location.origin;
    return {
      digits: await digits(`${here}/mnist`),
      answer: await answer(`${here}/layer.safetensors?version=1`),
      damaged: await digits(`${here}/other`).catch((error) => error.message),
      size: await refusal(`${here}/layer.safetensors`, 1000),
      large: await refusal(`${here}/layer.safetensors`, 100),
      missing: await refusal(`${here}/nowhere`, 1000),
      unreachable: await refusal("http://localhost:1/x", 1000),
    };
  });
  await tab.close();
  const expected = {
    digits: /^60000 10000 \[5, 0, 4, 1, 9\]$/,
    answer: /^\[16\.0, 35\.0\]$/,
    damaged: /other\/train-images-idx3-ubyte\.gz: .*checksum/,
    size: /^\d+ bytes$/,
    large: /layer\.safetensors: more than the limit of 100 bytes/,
    missing: /nowhere: the server answered with status 404/,
    unreachable: /localhost:1\/x: .*CORS/,
  };
  for (const [what, pattern] of Object.entries(expected)) {
    if (!pattern.test(said[what])) throw new Error(`${what}: ${said[what]}`);
  }
  console.log("data and weights from addresses: as they must be");
}

/** MNIST as it is at an address, the same damaged, and weights. */
async function files() {
  const folder = fileURLToPath(new URL("../../../data/mnist/", import.meta.url));
  const pages = { "/layer.safetensors": weights(), "/empty": "<!doctype html><title>empty</title>" };
  const names = ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"];
  for (const name of names.map((name) => `${name}-ubyte.gz`)) pages[`/mnist/${name}`] = await readFile(`${folder}${name}`);
  for (const name of names) pages[`/other/${name}-ubyte.gz`] = pages["/mnist/t10k-images-idx3-ubyte.gz"];
  return pages;
}

const wanted = lossesOf(await readFile(native, "utf8"));
if (wanted.length < 10) throw new Error(`${native} has ${wanted.length} losses`);
const server = await serve(dist, await files());
const browser = await openChromium();
try {
  for (const device of ["cpu", "software"]) {
    const { place, losses } = await train(browser, `${server.address}?device=${device}`);
    const kind = device === "cpu" ? "(cpu)" : "(gpu)";
    if (!place.endsWith(kind)) throw new Error(`asked for ${device}, but: ${place}`);
    check(place, losses, wanted);
  }
  await fetching(browser, server.address);
} finally {
  await browser.close();
  server.close();
}
