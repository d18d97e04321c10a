// Bundles tests for where they run, and writes the pages they run in.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Where bundles are put. */
export const built = fileURLToPath(new URL(".build", import.meta.url));
mkdirSync(built, { recursive: true });

/** Bundles tests into a folder; `place` says where the package itself is found, as it is published. */
const bundle = (names, place, outdir = built, extension = ".mjs") =>
  build({
    entryPoints: names.map((name) => fileURLToPath(new URL(`${name}.ts`, import.meta.url))),
    outdir,
    outbase: fileURLToPath(new URL(".", import.meta.url)),
    bundle: true,
    format: "esm",
    target: "es2022",
    external: ["node:*", "webgpu"],
    // What the ported tests import, under the name that Rust has for it; the module's script names it once for each function.
    logOverride: { "duplicate-object-key": "silent" },
    alias: { "flambeau-tests": fileURLToPath(new URL("suspended.ts", import.meta.url)) },
    outExtension: { ".js": extension },
    // The package says that its files have no side effects; the tests are nothing else.
    ignoreAnnotations: true,
    plugins: [
      {
        name: "the package",
        setup: (esbuild) =>
          esbuild.onResolve({ filter: /^flambeau(\/\w+)?$/ }, ({ path }) => ({ path: place(path), external: true })),
      },
    ],
    logLevel: "warning",
  });

/** Where a name of the package leads to in `dist`. */
const FILES = {
  flambeau: "index.js",
  "flambeau/worker": "worker/index.js",
  "flambeau/func": "func.js",
  "flambeau/peers": "peers/index.js",
  "flambeau/federated": "federated/index.js",
};
const file = (name) => FILES[name] ?? `${name.replace("flambeau", "generated")}.js`;

/** Bundles scripts of pages and workers. Workers know no import maps: in browsers the package is named by its address. */
export const bundlePages = (names) => bundle(names, (name) => `/packages/flambeau/dist/${file(name)}`);

/** Bundles scripts of pages into the root of a site that has the package in its folder `flambeau`. */
export const bundleBeside = (names, folder) => bundle(names, (name) => `/flambeau/${file(name)}`, folder, ".js");

/** Bundles scripts for Node. */
export const bundleForNode = (names) => bundle(names, (name) => name);

/** A page with one script. */
export const page = (script) => `<!doctype html><meta charset="utf-8"><title>Flambeau's tests</title>
<link rel="icon" href="data:,">
<script type="module" src="/packages/flambeau/tests/.build/${script}.mjs"></script>`;
