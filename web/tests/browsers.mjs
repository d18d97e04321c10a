// Headless browsers with WebGPU on software adapters: Chromium (SwiftShader) by Playwright, Firefox (llvmpipe) by
// Puppeteer. Both are wrapped into one small set of calls, so that a test runs in either.
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Charts take a new width with the next frame, and the page its own after that. */
const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));

const CHROMIUM = [
  "--headless=new",
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const CHROMIUM_WEBGPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
/** A camera that shows a moving picture, allowed without a question. */
const CHROMIUM_CAMERA = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];
/** WebRTC within the machine: names of the local network are not resolved where tests run. */
const CHROMIUM_ROOMS = ["--disable-features=WebRtcHideLocalIpsWithMdns", "--allow-loopback-in-peer-connection"];
const FIREFOX_WEBGPU = {
  "dom.webgpu.enabled": true,
  "dom.webgpu.workers.enabled": true,
  "gfx.webgpu.ignore-blocklist": true,
  "gfx.webgpu.force-enabled": true,
  "dom.webgpu.allow-software-adapter": true,
};

/** Starts a browser; `webgpu: false` starts it without, `camera` gives it one, `rooms` lets tabs reach each other (Chromium). */
export async function openBrowser(name, { webgpu = true, camera = false, rooms = false } = {}) {
  if (name === "chromium") {
    const { chromium } = await import("playwright-core");
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        ...(camera ? CHROMIUM_CAMERA : []),
        ...(rooms ? CHROMIUM_ROOMS : []),
        ...CHROMIUM,
        ...(webgpu ? CHROMIUM_WEBGPU : ["--disable-features=WebGPU", "--disable-gpu", "--disable-blink-features=WebGPU"]),
      ],
    });
    return { name, newPage: (options) => playwrightPage(browser, options), close: () => browser.close() };
  }
  if (process.env.XDG_RUNTIME_DIR === undefined) {
    process.env.XDG_RUNTIME_DIR = join(tmpdir(), "flambeau-firefox");
    mkdirSync(process.env.XDG_RUNTIME_DIR, { recursive: true, mode: 0o700 });
  }
  const puppeteer = await import("puppeteer-core");
  const browser = await puppeteer.launch({
    browser: "firefox",
    executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
    headless: true,
    extraPrefsFirefox: webgpu ? FIREFOX_WEBGPU : { "dom.webgpu.enabled": false },
    protocolTimeout: 120_000,
  });
  return { name, newPage: (options) => puppeteerPage(browser, options), close: () => browser.close() };
}

async function playwrightPage(browser, { width, height, dark, touch = false }) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    hasTouch: touch,
    isMobile: touch,
    permissions: ["clipboard-read", "clipboard-write"],
    acceptDownloads: true,
  });
  return playwrightTab(await context.newPage(), context);
}

function playwrightTab(page, context) {
  return {
    raw: page,
    /** Another tab of the same profile. */
    tab: async () => playwrightTab(await context.newPage(), context),
    on: (event, listener) => page.on(event, listener),
    goto: (address) => page.goto(address),
    reload: () => page.reload(),
    evaluate: (body, argument) => page.evaluate(body, argument),
    screenshot: (path) => page.screenshot({ path, fullPage: false }),
    setViewport: (size) => page.setViewportSize(size).then(() => drawn(page)),
    /** Sets the files of the input with this label. */
    setFiles: (label, files) => page.getByLabel(label, { exact: true }).setInputFiles(files),
    download: async (action) => {
      const waiting = page.waitForEvent("download");
      await action();
      const file = await waiting;
      const { readFile } = await import("node:fs/promises");
      return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
    },
    mouse: page.mouse,
    closeTab: () => page.close(),
    close: () => context.close(),
  };
}

async function puppeteerPage(browser, { width, height }) {
  const context = await browser.createBrowserContext();
  return puppeteerTab(await context.newPage(), context, { width, height });
}

async function puppeteerTab(page, context, size) {
  await page.setViewport(size);
  return {
    raw: page,
    tab: async () => puppeteerTab(await context.newPage(), context, size),
    on: (event, listener) => page.on(event, listener),
    goto: (address) => page.goto(address),
    reload: () => page.reload(),
    evaluate: (body, argument) => page.evaluate(body, argument),
    screenshot: (path) => page.screenshot({ path }),
    setViewport: (size) => page.setViewport(size).then(() => drawn(page)),
    mouse: page.mouse,
    closeTab: () => page.close(),
    close: () => context.close(),
  };
}
