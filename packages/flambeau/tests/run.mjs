// Runs the package's tests where it will be used: `node tests/run.mjs [place...] [--only <part of a name>|suite]`.
// Places: chromium (WebGPU on SwiftShader), firefox (WebGPU on llvmpipe), cpu (WebAssembly in Chromium), node (Dawn on
// SwiftShader), peers (tabs that train together), package (packed, installed and used); and, when they are named, peers-long (two
// hundred rounds), ported and ported-node (PyTorch's C++ tests, in Chromium and in a Node that can set calls of WebAssembly aside:
// the one that NODE_WITH_JSPI names). Two places run at a time. A failing test, a page that says nothing, or a place that does not
// start fails the run.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openChromium, openFirefox, runPage } from "./browsers.mjs";
import { built, bundleForNode, bundlePages, page } from "./bundle.mjs";
import { usePackage } from "./package.mjs";
import { trainLong, trainTogether } from "./peers.mjs";
import { serve } from "./server.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const args = process.argv.slice(2);
const only = args.includes("--only") ? args[args.indexOf("--only") + 1] : "";
const asked = args.filter((arg, index) => arg !== "--only" && args[index - 1] !== "--only");
const MINUTES = 15;
/** Ported tests of one page or one process. */
const PORTION = 100;

const isPorted = asked.some((name) => name.startsWith("ported"));
await bundlePages(isPorted ? ["ported-page"] : ["page", "worker", "parts", "reload", "peers", "peers-worker", "hostile"]);
await bundleForNode(isPorted ? ["ported-node"] : ["node"]);
const server = await serve(root, {
  "/": page("page"),
  "/reload": page("reload"),
  "/ported": page("ported-page"),
  "/peers": page("peers"),
  "/hostile": page("hostile"),
});

/** The test page in a browser; `parts` says what runs in full there: the long tests, or every case of the op suite. */
async function inBrowser(open, device, parts, say) {
  const browser = await open(MINUTES);
  try {
    const asked = new URLSearchParams({ device, parts, only });
    const failed = await runPage(browser, `${server.address}?${asked}`, MINUTES, say);
    if (only !== "" && only !== "closed") return failed;
    for (const visit of ["first", "second"]) {
      const again = new URLSearchParams({ device, visit });
      failed.push(...(await runPage(browser, `${server.address}reload?${again}`, MINUTES, say)));
    }
    return failed;
  } finally {
    await browser.close();
  }
}

/**
 * The ported tests, in portions that each have a page or a process of their own: a software adapter keeps every kernel that it
 * has compiled as long as the device lives, which for all tests are gigabytes. `portion` runs some.
 */
async function ported(portion, say) {
  const failed = [];
  let left = 1;
  for (let first = 0; left > 0; first += PORTION) {
    left = 0;
    const hear = (line) => {
      if (line.startsWith("@left ")) left = Number(line.slice(6));
      else say(line);
    };
    failed.push(...(await portion(first, hear)));
  }
  return failed;
}

async function portedInChromium(first, say) {
  const browser = await openChromium();
  try {
    const asked = new URLSearchParams({ only, first, count: PORTION });
    return await runPage(browser, `${server.address}ported?${asked}`, MINUTES, say);
  } finally {
    await browser.close();
  }
}

async function inNode(node, args, say) {
  const [script, ...rest] = args;
  const adapter = process.env.VK_ICD_FILENAMES ?? "/usr/lib/chromium/vk_swiftshader_icd.json";
  const child = spawn(node, ["--expose-gc", join(built, script), ...rest], {
    env: { ...process.env, VK_ICD_FILENAMES: adapter },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      for (const line of text.trimEnd().split("\n")) say(line);
    });
  }
  const code = await new Promise((done) => child.on("close", (code, signal) => done(code ?? signal)));
  return code === 0 ? [] : [`Node ended with ${code}`];
}

const portedInNode = (first, say) =>
  inNode(process.env.NODE_WITH_JSPI ?? process.execPath, ["ported-node.mjs", only, String(first), String(PORTION)], say);

const PLACES = {
  firefox: ["WebGPU in Firefox (llvmpipe)", (say) => inBrowser(openFirefox, "software", "cases", say)],
  chromium: ["WebGPU in Chromium (SwiftShader)", (say) => inBrowser(openChromium, "software", "long", say)],
  cpu: ["WebAssembly on the CPU, in Chromium", (say) => inBrowser(openChromium, "cpu", "cases", say)],
  node: ["WebGPU in Node (Dawn on SwiftShader)", (say) => inNode(process.execPath, ["node.mjs", only], say)],
  peers: ["Tabs that train together over WebRTC, in Chromium", (say) => trainTogether(server.address, MINUTES, say)],
  "peers-long": ["The same for two hundred rounds", (say) => trainLong(server.address, MINUTES, say)],
  package: ["Packed, installed, and used", usePackage],
  ported: ["PyTorch's C++ tests, in Chromium (CPU, SwiftShader)", (say) => ported(portedInChromium, say)],
  "ported-node": ["PyTorch's C++ tests, in Node (CPU, Dawn on SwiftShader)", (say) => ported(portedInNode, say)],
};
const unknown = asked.filter((name) => !(name in PLACES));
if (unknown.length > 0) throw new Error(`there is no place ${unknown.join(", ")}: ${Object.keys(PLACES).join(", ")}`);
// The ported tests are a module of their own, which `cargo xtask test ported` builds.
const ONLY_ASKED = ["peers-long", "ported", "ported-node"];
const queue = Object.keys(PLACES).filter((name) => (asked.length === 0 ? !ONLY_ASKED.includes(name) : asked.includes(name)));
let bad = 0;

async function work() {
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const [about, run] = PLACES[name];
    const say = (line) => console.log(`${name.padEnd(11)}  ${line}`);
    say(`${about}:`);
    const start = performance.now();
    const failed = await run(say).catch((error) => [error instanceof Error ? (error.stack ?? error.message) : String(error)]);
    bad += failed.length;
    for (const what of failed) say(`FAILED ${what}`);
    say(
      `${failed.length === 0 ? "all passed" : `${failed.length} failed`} in ${((performance.now() - start) / 1000).toFixed(0)} s`,
    );
  }
}
// Compiling shaders keeps one core busy: two places at a time take little more than half as long.
await Promise.all([work(), work()]);
server.close();
process.exit(bad === 0 ? 0 : 1);
