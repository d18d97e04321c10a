// Tabs of one Chromium as clients of a Flower server, for `cargo xtask flower`: node tests/federated.mjs --flambeau <program> --server <address>
// --share 2/4 [--share 3/4] [--first 1000] [--clip 1 --noise 2] [--device cpu]. `flambeau serve --flower` serves their page and hands on what they
// send. Prints a line of JSON once the run is over; what the tabs say meanwhile goes to standard error.
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openTabs } from "./browsers.mjs";
import { bundleBeside } from "./bundle.mjs";

const text = { type: "string" };
const { values: options } = parseArgs({
  options: {
    flambeau: text,
    server: text,
    share: { type: "string", multiple: true, default: [] },
    first: { type: "string", default: "0" },
    device: { type: "string", default: "cpu" },
    clip: text,
    noise: text,
  },
});

/** A folder with the page, the package and the data, as somebody would put it on a server. */
async function site() {
  const folder = mkdtempSync(join(tmpdir(), "flambeau-tabs-"));
  const own = (path) => fileURLToPath(new URL(path, import.meta.url));
  await bundleBeside(["federated"], folder);
  cpSync(own("../dist"), join(folder, "flambeau"), { recursive: true });
  cpSync(own("../../../data/mnist"), join(folder, "data"), { recursive: true });
  const head = '<!doctype html><meta charset="utf-8"><title>A client</title><link rel="icon" href="data:,">';
  writeFileSync(join(folder, "index.html"), `${head}<script type="module" src="/federated.js"></script>`);
  return folder;
}

/** `flambeau serve`; the address at which its pages are. */
async function open(folder) {
  const args = ["--json", "serve", "--port", "0", "--no-open", "--folder", folder, "--flower", options.server];
  const program = spawn(options.flambeau, args, { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((done, fail) => {
    program.stdout.setEncoding("utf8").once("data", (line) => done(JSON.parse(line).address));
    program.once("close", (code) => fail(new Error(`flambeau serve ended with ${code}`)));
    program.once("error", fail);
  });
  return { address, close: () => program.kill() };
}

/** Opens a tab; what it has come to when it ends. */
async function takePart(browser, address, share) {
  const page = await browser.newTab();
  const { first, device, clip, noise } = options;
  const given = { share, first, device, nonIid: "true", clip, noise };
  const asked = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== undefined));
  return new Promise((done, fail) => {
    page.on("console", (message) => {
      const [, what, json] = /^@(\w+) (.*)$/s.exec(message.text()) ?? [];
      console.error(`tab ${share}: ${message.text()}`);
      if (what === "end") done(JSON.parse(json));
      else if (what === "failed") fail(new Error(`tab ${share}: ${JSON.parse(json)}`));
    });
    page.on("pageerror", (error) => fail(new Error(`tab ${share} broke: ${error.stack ?? error}`)));
    page.on("crash", () => fail(new Error(`tab ${share} crashed`)));
    page.goto(`${address}?${asked}`).catch(fail);
  });
}

const folder = await site();
const [server, browser] = await Promise.all([open(folder), openTabs()]);
try {
  const tabs = await Promise.all(options.share.map((share) => takePart(browser, server.address, share)));
  const rounds = new Set(tabs.map((tab) => tab.rounds));
  if (rounds.size !== 1) throw new Error(`the tabs have trained in ${[...rounds].join(" and ")} rounds`);
  console.log(JSON.stringify({ rounds: [...rounds][0], tabs }));
} finally {
  await browser.close();
  server.close();
  rmSync(folder, { recursive: true });
}
