// The package as its users get it: packed, installed in a folder elsewhere, and used by a Vite app, a plain page, a Web
// Worker and Node.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openChromium, runPage } from "./browsers.mjs";
import { serve } from "./server.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const own = join(here, "..");
const run = promisify(execFile);
const MINUTES = 3;

/** What package.json must say. */
async function manifest(folder) {
  const { exports, sideEffects } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const wrong = [];
  if (sideEffects !== false) wrong.push("sideEffects is not false: bundlers keep what nobody uses");
  for (const [name, target] of Object.entries(exports)) {
    if (typeof target === "object" && !name.endsWith(".wasm") && Object.keys(target)[0] !== "types")
      wrong.push(`${name}: types must come first`);
    for (const file of typeof target === "object" ? Object.values(target) : [target]) {
      if (!existsSync(join(folder, file))) wrong.push(`${name}: there is no ${file} in the package`);
    }
  }
  return wrong;
}

/** The types, as programs outside this repository see them, by both ways of finding modules. */
async function types(folder) {
  for (const [module, resolution] of [
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ]) {
    await run(process.execPath, [
      join(own, "node_modules/typescript/bin/tsc"),
      "--noEmit",
      "--strict",
      "--target",
      "es2022",
      "--lib",
      "es2022,esnext.disposable,dom",
      "--module",
      module,
      "--moduleResolution",
      resolution,
      join(folder, "types.ts"),
    ]).catch((error) => {
      throw new Error(`types with ${resolution}:\n${error.stdout}`);
    });
  }
  return [];
}

/** A page in Chromium. */
async function inChromium(address, say) {
  const browser = await openChromium();
  try {
    return await runPage(browser, address, MINUTES, say);
  } finally {
    await browser.close();
  }
}

/** A page of `folder`. */
async function page(folder, path, say) {
  const server = await serve(folder);
  try {
    return await inChromium(server.address + path, say);
  } finally {
    server.close();
  }
}

async function viteApp(folder, say) {
  const { build } = await import("vite");
  await build({ root: join(folder, "app"), logLevel: "error" });
  const files = await readdir(join(folder, "app/dist/assets"));
  const modules = files.filter((name) => name.endsWith(".wasm"));
  // All parts: which of them the app fetches is known only when it runs.
  const parts = await readdir(new URL("../parts", import.meta.url));
  const wrong =
    modules.length === 1 + parts.length ? [] : [`the app has ${modules.length} WebAssembly files: ${files.join(", ")}`];
  return [...wrong, ...(await page(join(folder, "app/dist"), "", say))];
}

/** The same app while it is being developed: Vite serves its files one by one. */
async function viteServer(folder, say) {
  const { createServer } = await import("vite");
  const server = await createServer({ root: join(folder, "app"), logLevel: "error" });
  try {
    await server.listen();
    return await inChromium(server.resolvedUrls.local[0], say);
  } finally {
    await server.close();
  }
}

async function inNode(folder, say) {
  const adapter = process.env.VK_ICD_FILENAMES ?? "/usr/lib/chromium/vk_swiftshader_icd.json";
  const { stdout } = await run(process.execPath, ["node.mjs"], {
    cwd: folder,
    env: { ...process.env, VK_ICD_FILENAMES: adapter },
  });
  for (const line of stdout.trim().split("\n")) say(line);
  return [];
}

/** Packs, installs, and tries everything; what failed. */
export async function usePackage(say) {
  const folder = await mkdtemp(join(tmpdir(), "flambeau-package-"));
  try {
    await cp(join(here, "package"), folder, { recursive: true });
    const packed = await run("npm", ["pack", "--json", "--pack-destination", folder], { cwd: own });
    const [{ filename, size, files }] = JSON.parse(packed.stdout);
    say(`${filename}: ${files.length} files, ${(size / 1000).toFixed(0)} KB`);
    await run("npm", ["install", "--no-save", "--no-audit", "--no-fund", "--prefer-offline", join(folder, filename)], {
      cwd: folder,
    });
    const installed = join(folder, "node_modules/flambeau");
    await symlink(join(own, "node_modules/webgpu"), join(folder, "node_modules/webgpu"));
    const parts = [
      ["package.json", () => manifest(installed)],
      ["types", () => types(folder)],
      ["Vite app", () => viteApp(folder, say)],
      ["Vite's server", () => viteServer(folder, say)],
      ["plain page", () => page(folder, "plain.html", say)],
      ["Web Worker", () => page(folder, "worker.html", say)],
      ["Node", () => inNode(folder, say)],
    ];
    const failed = [];
    for (const [name, part] of parts) {
      const start = performance.now();
      const wrong = await part().catch((error) => [error.stack ?? String(error)]);
      failed.push(...wrong.map((what) => `${name}: ${what}`));
      say(`${wrong.length === 0 ? "ok    " : "FAILED"} ${name} (${Math.round(performance.now() - start)} ms)`);
    }
    return failed;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
