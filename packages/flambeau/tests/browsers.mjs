// Starts the browsers that the tests run in, without a window, with WebGPU on software adapters.
import { fileURLToPath } from "node:url";

const CHROMIUM = [
  "--headless=new",
  "--no-sandbox",
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // The ported tests free GPU memory between them.
  "--js-flags=--expose-gc",
];
const FIREFOX = {
  "dom.webgpu.enabled": true,
  "dom.webgpu.workers.enabled": true,
  "gfx.webgpu.ignore-blocklist": true,
  "gfx.webgpu.force-enabled": true,
  "dom.webgpu.allow-software-adapter": true,
};

const chromiumPath = () => process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Chromium, whose WebGPU is Dawn with Tint, on SwiftShader. */
export async function openChromium() {
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: CHROMIUM });
  // One profile for all pages, as people have it.
  const profile = await browser.newContext();
  return { newPage: () => profile.newPage(), once: browser.once.bind(browser), close: () => browser.close() };
}

/** Chromium with tabs that know nothing of each other, each with a profile of its own, and WebRTC within the machine. */
export async function openTabs() {
  const { chromium } = await import("playwright-core");
  const links = ["--disable-features=WebRtcHideLocalIpsWithMdns", "--allow-loopback-in-peer-connection"];
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: [...CHROMIUM, ...links] });
  return { newTab: async () => (await browser.newContext()).newPage(), close: () => browser.close() };
}

/** Chromium with a profile in a folder, which goes on however often its parts are killed. */
export async function openChromiumProfile(folder) {
  const { chromium } = await import("playwright-core");
  const profile = await chromium.launchPersistentContext(folder, {
    executablePath: chromiumPath(),
    // After a few lost GPUs a browser keeps them from the page that used them, or from all.
    args: [...CHROMIUM, "--disable-gpu-process-crash-limit", "--disable-domain-blocking-for-3d-apis"],
  });
  const control = await profile.browser().newBrowserCDPSession();
  return {
    newPage: () => profile.newPage(),
    /** The ids of the browser's processes, or of those of a type: "renderer", "GPU". */
    async processes(type) {
      const { processInfo } = await control.send("SystemInfo.getProcessInfo");
      return processInfo.filter((each) => type === undefined || each.type === type).map(({ id }) => id);
    },
    close: () => profile.close(),
  };
}

/** Firefox, whose WebGPU is wgpu with naga, on llvmpipe. */
export async function openFirefox(minutes) {
  // Firefox wants a folder for its sockets, which a machine without a session lacks.
  process.env.XDG_RUNTIME_DIR ??= fileURLToPath(new URL(".build", import.meta.url));
  const puppeteer = await import("puppeteer-core");
  return puppeteer.launch({
    browser: "firefox",
    executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
    headless: true,
    extraPrefsFirefox: FIREFOX,
    protocolTimeout: minutes * 60_000,
  });
}

/** Opens a page, hands on the lines that it logs, and returns what it says after `@failed`. */
export async function runPage(browser, address, minutes, say) {
  const tab = await browser.newPage();
  let finish;
  const finished = new Promise((done) => (finish = done));
  tab.on("console", (message) => {
    const text = message.text();
    if (text.startsWith("@failed ")) finish(JSON.parse(text.slice(8)));
    else say(text);
  });
  // Firefox counts what goes wrong in a worker as the page's too; a test that lets a worker fail has looked at it.
  const ofWorker = /Loading Worker from .*nowhere|broken at once/;
  tab.on("pageerror", (error) => {
    const text = `${error.stack ?? error}`;
    if (!ofWorker.test(`${error} ${text}`)) finish([`the page broke: ${text}`]);
  });
  browser.once("disconnected", () => finish(["the browser ended"]));
  const late = setTimeout(() => finish([`nothing after ${minutes} minutes`]), minutes * 60_000);
  await tab.goto(address);
  const failed = await finished;
  clearTimeout(late);
  await tab.close();
  return failed;
}
