// `node run.mjs [chromium|node]`: the comparison in one page of headless Chromium, or in Node. `node run.mjs new [mlp|cnn|eight]
// [b4] [--json] [--software] [contender...]`: what is new to a process, in Node; `node run.mjs new-chromium ...`: to a page, in Chromium. `node run.mjs mnist`: an epoch of MNIST, in Node.
import { spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const dist = fileURLToPath(new URL("../../packages/flambeau/dist", import.meta.url));
const place = process.argv[2] ?? "chromium";
const inNode = { node: "in-node", new: "new-in-node", mnist: "mnist-in-node" }[place];
const page = place === "new-chromium" ? "new-in-page" : "page";
const args = process.argv.slice(3);
const steps = process.env.STEPS ?? "50";

await build({
  entryPoints: [join(here, `${inNode ?? page}.js`)],
  outdir: join(here, "built"),
  bundle: true,
  format: "esm",
  platform: inNode === undefined ? "browser" : "node",
  outExtension: { ".js": ".mjs" },
  // TensorFlow.js asks for Node's own modules by `require`.
  ...(inNode !== undefined && {
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  }),
  external: ["flambeau", "webgpu"],
  plugins: [
    {
      name: "the package as it is published",
      setup: (esbuild) =>
        esbuild.onResolve({ filter: /^flambeau$/ }, () => ({
          path: inNode === undefined ? "/dist/index.js" : join(dist, "node/index.js"),
          external: true,
        })),
    },
  ],
  logLevel: "error",
});

if (inNode !== undefined) {
  const program = [join(here, `built/${inNode}.mjs`), ...args];
  const { status } = spawnSync(process.execPath, program, { stdio: "inherit", env: process.env });
  process.exit(status ?? 1);
}

const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const server = createServer(async (request, response) => {
  const path = normalize(new URL(request.url, "http://localhost").pathname);
  if (path === "/") {
    response.writeHead(200, { "content-type": "text/html" });
    response.end(`<!doctype html><title>Bench</title><script type="module" src="/built/${page}.mjs"></script>`);
    return;
  }
  try {
    const file = path.startsWith("/dist/") ? join(dist, path.slice(6)) : join(here, path);
    const bytes = await readFile(file);
    response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" }).end(bytes);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const { chromium } = await import("playwright-core");
/** Opens a page in a browser of its own, and shows what it tells until it is done. */
async function visit(query, show) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--headless=new",
      "--no-sandbox",
      "--enable-unsafe-webgpu",
      "--use-webgpu-adapter=swiftshader",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  const tab = await browser.newPage();
  const done = new Promise((resolve, reject) => {
    tab.on("pageerror", reject);
    tab.on("console", (message) => {
      const text = message.text();
      if (text === "@@done") resolve();
      else if (text.startsWith("@@first")) console.error(`first loss after ${text.slice(8)} ms`);
      else if (text.startsWith("@")) show(text.slice(1));
    });
  });
  await tab.goto(`http://localhost:${server.address().port}/?${query}`);
  await done;
  const version = browser.version();
  await browser.close();
  return version;
}

if (place === "new-chromium") {
  const { CONTENDERS, told } = await import("./measure-new.js");
  const asked = args.filter((arg) => arg in CONTENDERS);
  const net = args.find((arg) => ["mlp", "cnn", "eight"].includes(arg)) ?? "mlp";
  const show = (text) => {
    const found = JSON.parse(text);
    const words = () => (found.error === undefined ? told(found) : `${found.contender}: ${found.error}`);
    console.log(args.includes("--json") ? text : words());
  };
  for (const contender of asked.length > 0 ? asked : ["flambeau"]) await visit(`net=${net}&contender=${contender}`, show);
} else {
  const version = await visit(`steps=${steps}`, (line) => console.log(line));
  console.log(`Chromium ${version}, WebGPU on SwiftShader; ${steps} steps a round`);
}
server.close();
