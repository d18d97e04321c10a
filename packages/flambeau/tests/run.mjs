// Runs the package's tests where it will be used: `node tests/run.mjs [place...] [--only <part of a name>|suite]`.
// Places: chromium (WebGPU on SwiftShader), firefox (WebGPU on llvmpipe), cpu (WebAssembly in Chromium), node (Dawn on
// SwiftShader). A failing test, a page that says nothing, or a place that does not start fails the run.
import { createServer } from "node:http";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const built = fileURLToPath(new URL(".build", import.meta.url));
const args = process.argv.slice(2);
const only = args.includes("--only") ? args[args.indexOf("--only") + 1] : "";
const asked = args.filter((arg, index) => arg !== "--only" && args[index - 1] !== "--only");
const MINUTES = 15;

mkdirSync(built, { recursive: true });
/** Bundles tests; `place` says where the package itself is found, as it is published. */
const bundle = (names, place) =>
  build({
    entryPoints: names.map((name) => fileURLToPath(new URL(`${name}.ts`, import.meta.url))),
    outdir: built,
    bundle: true,
    format: "esm",
    target: "es2022",
    external: ["node:*", "webgpu"],
    outExtension: { ".js": ".mjs" },
    // The package says that its files have no side effects; the tests are nothing else.
    ignoreAnnotations: true,
    plugins: [{
      name: "the package",
      setup: (esbuild) =>
        esbuild.onResolve({ filter: /^flambeau(\/worker)?$/ }, ({ path }) => ({ path: place(path), external: true })),
    }],
    logLevel: "warning",
  });
// Workers know no import maps: in browsers the package is named by its address.
const FILES = { flambeau: "index.js", "flambeau/worker": "worker/index.js" };
await bundle(["page", "worker", "parts"], (name) => `/packages/flambeau/dist/${FILES[name]}`);
await bundle(["node"], (name) => name);

const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".html": "text/html" };
const page = `<!doctype html><meta charset="utf-8"><title>Flambeau's tests</title>
<link rel="icon" href="data:,">
<script type="module" src="/packages/flambeau/tests/.build/page.mjs"></script>`;
const server = createServer(async (request, response) => {
  const path = new URL(request.url, "http://localhost").pathname;
  if (path === "/") {
    response.writeHead(200, { "content-type": "text/html" }).end(page);
    return;
  }
  try {
    const bytes = await readFile(join(root, normalize(path)));
    response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" }).end(bytes);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const address = `http://localhost:${server.address().port}/`;

const CHROMIUM = [
  "--headless=new", "--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--disable-quic",
  "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const FIREFOX = {
  "dom.webgpu.enabled": true,
  "dom.webgpu.workers.enabled": true,
  "gfx.webgpu.ignore-blocklist": true,
  "gfx.webgpu.force-enabled": true,
  "dom.webgpu.allow-software-adapter": true,
};

async function chromium(device) {
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: CHROMIUM });
  try {
    const tab = await browser.newPage();
    return await inPage(tab, device);
  } finally {
    await browser.close();
  }
}

async function firefox(device) {
  process.env.XDG_RUNTIME_DIR ??= built;
  const puppeteer = await import("puppeteer-core");
  const browser = await puppeteer.launch({
    browser: "firefox",
    executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
    headless: true,
    extraPrefsFirefox: FIREFOX,
    protocolTimeout: MINUTES * 60_000,
  });
  try {
    const tab = await browser.newPage();
    return await inPage(tab, device);
  } finally {
    await browser.close();
  }
}

/** Opens the page, shows its lines, and waits for the list of what failed. */
async function inPage(tab, device) {
  let finish;
  const finished = new Promise((done) => (finish = done));
  tab.on("console", (message) => {
    const text = message.text();
    if (text.startsWith("@failed ")) finish(JSON.parse(text.slice(8)));
    else console.log(`  ${text}`);
  });
  tab.on("pageerror", (error) => finish([`the page broke: ${error.stack ?? error}`]));
  const late = setTimeout(() => finish([`nothing after ${MINUTES} minutes`]), MINUTES * 60_000);
  await tab.goto(`${address}?device=${device}&only=${encodeURIComponent(only)}`);
  const failed = await finished;
  clearTimeout(late);
  return failed;
}

async function inNode() {
  const { spawn } = await import("node:child_process");
  const adapter = process.env.VK_ICD_FILENAMES ?? "/usr/lib/chromium/vk_swiftshader_icd.json";
  const child = spawn(process.execPath, [join(built, "node.mjs"), only], {
    env: { ...process.env, VK_ICD_FILENAMES: adapter },
    stdio: "inherit",
  });
  const code = await new Promise((done) => child.on("exit", (code, signal) => done(code ?? signal)));
  return code === 0 ? [] : [`Node ended with ${code}`];
}

const PLACES = {
  cpu: ["WebAssembly on the CPU, in Chromium", () => chromium("cpu")],
  chromium: ["WebGPU in Chromium (SwiftShader)", () => chromium("software")],
  firefox: ["WebGPU in Firefox (llvmpipe)", () => firefox("software")],
  node: ["WebGPU in Node (Dawn on SwiftShader)", inNode],
};
const unknown = asked.filter((name) => !(name in PLACES));
if (unknown.length > 0) throw new Error(`there is no place ${unknown.join(", ")}: ${Object.keys(PLACES).join(", ")}`);
let bad = 0;
for (const [name, [about, run]] of Object.entries(PLACES)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  console.log(`${about}:`);
  const start = performance.now();
  const failed = await run().catch((error) => [error instanceof Error ? (error.stack ?? error.message) : String(error)]);
  bad += failed.length;
  for (const what of failed) console.log(`  FAILED ${what}`);
  console.log(`  ${failed.length === 0 ? "all passed" : `${failed.length} failed`} in ${((performance.now() - start) / 1000).toFixed(0)} s`);
}
server.close();
process.exit(bad === 0 ? 0 : 1);
