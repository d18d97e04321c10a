// Without a network, and with a new deployment: each test has a server of its own, in a folder of its own, and ends it.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeServiceWorker } from "../scripts/offline.mjs";
import { serve } from "../scripts/serve.mjs";
import { assert } from "./context.mjs";

const dist = fileURLToPath(new URL("../dist", import.meta.url));
const PAGES = ["Draw", "Try", "Playground", "Together", "Learn", "Benchmark", "Device", "Train"];
const KEPT = "it works without a network";

/** A host with the app in the folder `app/`: the build itself, or a copy that may be changed. */
async function host({ copied }) {
  const root = mkdtempSync(join(tmpdir(), "flambeau-host-"));
  const folder = join(root, "app");
  if (copied) cpSync(dist, folder, { recursive: true, filter: (path) => !path.endsWith("mnist") });
  else symlinkSync(dist, folder);
  let server = await serve(0, root);
  const { port } = server;
  return {
    folder,
    address: `${server.address}app/`,
    goAway: () => server.close(),
    async comeBack() {
      server = await serve(port, root);
    },
    end() {
      server.close();
      rmSync(root, { recursive: true });
    },
  };
}

/** Errors of the network are expected while it is away. */
function forgiveNetwork({ errors }) {
  const others = errors.filter(
    (text) => !/ERR_CONNECTION|Failed to load resource|NetworkError|dynamically imported|CORS/.test(text),
  );
  errors.splice(0, errors.length, ...others);
}

async function openAt({ page, until }, address, place) {
  await page.goto(`${address}#/${place}`);
  await until(() => document.querySelector("main h1") !== null, undefined, "the page's title");
}

async function visit({ press, until }, title) {
  await press(title);
  await until((title) => document.querySelector("main h1")?.textContent === title, title, `the page ${title}`, 20);
}

const runs = ({ until }, count) =>
  until(
    (count) => [...document.querySelectorAll("td")].filter((each) => each.textContent === "done").length === count,
    count,
    `${count} runs that are done`,
  );

/** Puts another build into a folder: the page Draw says something else, and every script has another name. Gives Draw's. */
async function deployOther(folder) {
  const assets = join(folder, "assets");
  const scripts = readdirSync(assets).filter((name) => name.endsWith(".js"));
  const renamed = (name) => name.replace(/\.js$/, "OTHER.js");
  const other = (text) =>
    scripts
      .reduce((changed, name) => changed.replaceAll(name, renamed(name)), text)
      .replace("What the network thinks", "What the other build thinks");
  let draw;
  for (const name of scripts) {
    const text = other(readFileSync(join(assets, name), "utf8"));
    if (text.includes("What the other build thinks")) draw = join(assets, renamed(name));
    writeFileSync(join(assets, renamed(name)), text);
    unlinkSync(join(assets, name));
  }
  const page = join(folder, "index.html");
  writeFileSync(page, other(readFileSync(page, "utf8")));
  await writeServiceWorker(folder);
  assert(draw !== undefined, "the build has no page Draw");
  return draw;
}

/** Has the browser look for a new service worker, and waits until it is there or was refused. */
const lookForUpdate = ({ page }) =>
  page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready;
    await registration.update().catch(() => undefined);
    const { installing } = registration;
    if (installing === null) return registration.waiting === null ? "nothing" : "installed";
    await new Promise((done) => installing.addEventListener("statechange", done));
    return installing.state;
  });

export const tests = [
  {
    name: "a page that could not be fetched opens once the network is back, and training goes on meanwhile",
    browsers: ["chromium", "firefox"],
    async run(context) {
      const { press, sees, page, browser, until } = context;
      const own = await host({ copied: false });
      try {
        // As in the first seconds of a first visit: nothing is kept yet.
        const hide = () => delete Navigator.prototype.serviceWorker;
        await (browser === "chromium" ? page.raw.addInitScript(hide) : page.raw.evaluateOnNewDocument(hide));
        await openAt(context, own.address, "train?device=cpu&steps=100000&epochs=1000");
        await press("Start");
        await sees("Training on the CPU");
        own.goAway();
        await press("Draw");
        await sees("This page could not be fetched");
        await own.comeBack();
        if (browser === "chromium") {
          await press("Train");
          await sees("Training on the CPU");
          await press("Draw");
          await until(() => document.querySelector("main h1")?.textContent === "Draw", undefined, "the page Draw", 20);
        } else {
          // Firefox remembers a failed import as long as the document lives.
          await press("Try again");
          await press("Open the app anew");
          await until(() => document.querySelector("main h1")?.textContent === "Draw", undefined, "the page Draw", 20);
        }
        forgiveNetwork(context);
      } finally {
        own.end();
      }
    },
  },
  {
    name: "after a visit every page opens offline, and a second training run needs no network",
    browsers: ["chromium", "firefox"],
    async run(context) {
      const { press, sees, page, accessible } = context;
      const own = await host({ copied: false });
      try {
        await openAt(context, own.address, "train?device=cpu&steps=20");
        await press("Start");
        await runs(context, 1);
        await sees(KEPT);
        await accessible();
        own.goAway();
        for (const title of PAGES) await visit(context, title);
        await press("Start");
        await runs(context, 2);
        await page.reload();
        for (const title of PAGES) await visit(context, title);
        // The two of before were kept.
        await press("Start");
        await runs(context, 3);
        forgiveNetwork(context);
      } finally {
        own.end();
      }
    },
  },
  {
    name: "a new deployment replaces the whole app or nothing of it, and pages that are open keep theirs",
    async run(context) {
      const { press, sees, page } = context;
      const own = await host({ copied: true });
      try {
        await openAt(context, own.address, "train?device=cpu");
        await sees(KEPT);
        const late = await deployOther(own.folder);
        const bytes = readFileSync(late);
        // Not all of it has been copied yet, then one file is another than the list says.
        unlinkSync(late);
        assert((await lookForUpdate(context)) === "redundant", "a build with a missing file was taken");
        writeFileSync(late, "export default () => null;");
        assert((await lookForUpdate(context)) === "redundant", "a build with a foreign file was taken");
        await page.reload();
        await visit(context, "Draw");
        await sees("What the network thinks");
        await page.reload();

        writeFileSync(late, bytes);
        await visit(context, "Train");
        assert((await lookForUpdate(context)) === "installed", "a whole build was not taken");
        await sees("A newer version of the app is ready");
        // The host has no file of the old build any more.
        await visit(context, "Draw");
        await sees("What the network thinks");
        own.goAway();
        await press("Open it");
        await sees("What the other build thinks");
        for (const title of PAGES) await visit(context, title);
        await sees(KEPT);
        forgiveNetwork(context);
      } finally {
        own.end();
      }
    },
  },
  {
    name: "the app can be installed: a manifest with icons that are there, and a picture for links",
    async run({ open, page, until }) {
      await open("train?device=cpu");
      const found = await until(async () => {
        const address = document.querySelector('link[rel="manifest"]')?.href;
        if (address === undefined) return undefined;
        const manifest = await (await fetch(address)).json();
        const links = [...manifest.icons.map(({ src }) => src), document.querySelector('meta[property="og:image"]').content];
        const sizes = [];
        for (const link of [...links, document.querySelector('link[rel="apple-touch-icon"]').href]) {
          const image = new Image();
          image.src = new URL(link, document.baseURI).href;
          await image.decode();
          sizes.push(`${link.split("/").at(-1)} ${image.naturalWidth}`);
        }
        return { start: new URL(manifest.start_url, address).href, display: manifest.display, sizes };
      });
      const here = await page.evaluate(() => location.href.replace(/#.*/, ""));
      assert(found.start === here && found.display === "standalone", JSON.stringify(found));
      for (const each of [
        "icon-192.png 192",
        "icon-512.png 512",
        "icon-maskable.png 512",
        "icon-apple.png 180",
        "social.png 1200",
      ])
        assert(found.sizes.includes(each), `no ${each} among ${found.sizes.join(", ")}`);
    },
  },
];
