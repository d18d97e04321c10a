// Runs the package's tests where it will be used: `node tests/run.mjs [place...] [--only <part of a name>|suite]`.
// Places: chromium (WebGPU on SwiftShader), firefox (WebGPU on llvmpipe), cpu (WebAssembly in Chromium), node (Dawn on
// SwiftShader), package (packed, installed and used). Two places run at a time. A failing test, a page that says
// nothing, or a place that does not start fails the run.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openChromium, openFirefox, runPage } from "./browsers.mjs";
import { built, bundleForNode, bundlePages, page } from "./bundle.mjs";
import { usePackage } from "./package.mjs";
import { serve } from "./server.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const args = process.argv.slice(2);
const only = args.includes("--only") ? args[args.indexOf("--only") + 1] : "";
const asked = args.filter((arg, index) => arg !== "--only" && args[index - 1] !== "--only");
const MINUTES = 15;

await bundlePages(["page", "worker", "parts", "reload"]);
await bundleForNode(["node"]);
const server = await serve(root, { "/": page("page"), "/reload": page("reload") });

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

async function inNode(say) {
  const adapter = process.env.VK_ICD_FILENAMES ?? "/usr/lib/chromium/vk_swiftshader_icd.json";
  const child = spawn(process.execPath, [join(built, "node.mjs"), only], {
    env: { ...process.env, VK_ICD_FILENAMES: adapter },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      for (const line of text.trimEnd().split("\n")) say(line);
    });
  }
  const code = await new Promise((done) => child.on("exit", (code, signal) => done(code ?? signal)));
  return code === 0 ? [] : [`Node ended with ${code}`];
}

const PLACES = {
  firefox: ["WebGPU in Firefox (llvmpipe)", (say) => inBrowser(openFirefox, "software", "cases", say)],
  chromium: ["WebGPU in Chromium (SwiftShader)", (say) => inBrowser(openChromium, "software", "long", say)],
  cpu: ["WebAssembly on the CPU, in Chromium", (say) => inBrowser(openChromium, "cpu", "cases", say)],
  node: ["WebGPU in Node (Dawn on SwiftShader)", inNode],
  package: ["Packed, installed, and used", usePackage],
};
const unknown = asked.filter((name) => !(name in PLACES));
if (unknown.length > 0) throw new Error(`there is no place ${unknown.join(", ")}: ${Object.keys(PLACES).join(", ")}`);
const queue = Object.keys(PLACES).filter((name) => asked.length === 0 || asked.includes(name));
let bad = 0;

async function work() {
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const [about, run] = PLACES[name];
    const say = (line) => console.log(`${name.padEnd(8)}  ${line}`);
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
