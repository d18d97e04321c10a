// How the app is built: relative addresses, so that dist can be put on any host and into any folder; MNIST beside it.
import { createReadStream } from "node:fs";
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { withAddress } from "./scripts/address.mjs";
import { writeServiceWorker } from "./scripts/offline.mjs";

/** The library's own test suite as a module, which the package does not ship: the Device page runs it. */
const selftest = fileURLToPath(new URL("../packages/flambeau/tests/wasm/", import.meta.url));
const mnist = fileURLToPath(new URL("../data/mnist/", import.meta.url));

/** Serves the repository's data set at `mnist/`, and copies it into the build. */
function embedMnist(): Plugin {
  let out = "dist";
  return {
    name: "mnist",
    configResolved: (config) => {
      out = config.build.outDir;
    },
    configureServer: (server) =>
      void server.middlewares.use((request, response, next) => {
        const file = /^\/mnist\/([\w-]+\.gz)$/.exec(request.url ?? "")?.[1];
        if (file === undefined) next();
        else
          createReadStream(mnist + file)
            .on("error", next)
            .pipe(response);
      }),
    async closeBundle() {
      const folder = fileURLToPath(new URL(`${out}/mnist/`, import.meta.url));
      await mkdir(folder, { recursive: true });
      for (const file of await readdir(mnist)) await copyFile(mnist + file, folder + file);
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
  plugins: [react(), nameAddress(), embedMnist(), keepOffline()],
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
