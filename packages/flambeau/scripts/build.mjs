// Makes dist/*.js and dist/*.d.ts of src; the WebAssembly is there already (`cargo xtask web`).
import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { resolve } from "node:path";
import { build } from "esbuild";

process.chdir(new URL("..", import.meta.url).pathname);
execFileSync("node", ["node_modules/typescript/bin/tsc", "-p", "tsconfig.json", "--emitDeclarationOnly"], { stdio: "inherit" });
copyFileSync("src/wasm/flambeau.d.ts", "dist/wasm/flambeau.d.ts");
/** What users import, by its place in `src` and `dist`. */
const entries = [
  "index",
  "worker/index",
  "func",
  "peers/index",
  "federated/index",
  ...["fft", "linalg", "numeric", "random"].map((name) => `generated/${name}`),
];
const forms = {
  dist: [],
  "dist/node": [
    {
      name: "the module for Node",
      setup: (esbuild) => esbuild.onResolve({ filter: /\/parts\.js$/ }, () => ({ path: resolve("src/parts.node.ts") })),
    },
  ],
};
for (const [outdir, plugins] of Object.entries(forms))
  await build({
    entryPoints: Object.fromEntries(entries.map((name) => [name, `src/${name}.ts`])),
    outdir,
    plugins,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    minify: true,
    sourcemap: true,
    external: ["node:*"],
    logLevel: "warning",
  });
