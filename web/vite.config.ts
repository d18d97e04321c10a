// How the app is built: relative addresses, so that dist can be put on any host and into any folder; data sets beside it.
import { createReadStream, existsSync } from "node:fs";
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { withAddress } from "./scripts/address.mjs";
import { writeServiceWorker } from "./scripts/offline.mjs";

/** The library's own test suite as a module, which the package does not ship: the Device page runs it. */
const selftest = fileURLToPath(new URL("../packages/flambeau/tests/wasm/", import.meta.url));

/** The data sets and their folders: MNIST is the repository's, Fashion-MNIST is taken where it is found. */
const sets = new Map([["mnist", fileURLToPath(new URL("../data/mnist/", import.meta.url))]]);
const fashion = process.env["FLAMBEAU_FASHION_MNIST"] ?? fileURLToPath(new URL("../data/fashion-mnist", import.meta.url));
if (existsSync(`${fashion}/train-images-idx3-ubyte.gz`)) sets.set("fashion-mnist", `${fashion}/`);

/** Serves the data sets beside the page, copies them into the build, and says in the page's head which there are. */
function embedSets(): Plugin {
  let out = "dist";
  return {
    name: "sets",
    configResolved: (config) => {
      out = config.build.outDir;
    },
    transformIndexHtml: () =>
      sets.has("fashion-mnist") ? [{ tag: "meta", attrs: { name: "flambeau-sets", content: "fashion" }, injectTo: "head" }] : [],
    configureServer: (server) =>
      void server.middlewares.use((request, response, next) => {
        const [, name = "", file = ""] = /^\/([\w-]+)\/([\w-]+\.gz)$/.exec(request.url ?? "") ?? [];
        const folder = sets.get(name);
        if (folder === undefined) next();
        else
          createReadStream(folder + file)
            .on("error", next)
            .pipe(response);
      }),
    async closeBundle() {
      for (const [name, from] of sets) {
        const folder = fileURLToPath(new URL(`${out}/${name}/`, import.meta.url));
        await mkdir(folder, { recursive: true });
        for (const file of await readdir(from)) await copyFile(from + file, folder + file);
      }
    },
  };
}

/** The service worker of the build, last of all: it lists every other file. */
function keepOffline(): Plugin {
  let out = "dist";
  return {
    name: "offline",
    apply: "build",
    configResolved: (config) => {
      out = config.build.outDir;
    },
    closeBundle: {
      order: "post",
      sequential: true,
      handler: async () => void (await writeServiceWorker(fileURLToPath(new URL(out, import.meta.url)))),
    },
  };
}

/** Pictures in the previews of links must have whole addresses: `FLAMBEAU_ADDRESS` says where the app will be. */
function nameAddress(): Plugin {
  return { name: "address", transformIndexHtml: (html) => withAddress(html, process.env["FLAMBEAU_ADDRESS"]) };
}

export default defineConfig({
  base: "./",
  plugins: [react(), nameAddress(), embedSets(), keepOffline()],
  worker: { format: "es" },
  resolve: {
    alias: [
      { find: /^flambeau-selftest\/wasm/, replacement: `${selftest}flambeau_bg.wasm` },
      { find: /^flambeau-selftest$/, replacement: `${selftest}flambeau.js` },
    ],
  },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 900 },
  server: { fs: { allow: [".."] } },
  // The package finds its WebAssembly beside its JavaScript.
  optimizeDeps: { exclude: ["flambeau"] },
});
