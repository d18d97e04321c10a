// Runs the unit tests of the package and of the web app in Node: `node tests/unit.mjs [part of a file's name]`. They are
// functions that need no browser and no WebAssembly: the module's place is taken by `unit/parts.ts`.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const out = fileURLToPath(new URL(".build/unit", import.meta.url));
const FOLDERS = ["packages/flambeau/tests/unit", "web/tests/unit"];
const PACKAGE = { flambeau: "index.ts", "flambeau/worker": "worker/index.ts" };

const [part = ""] = process.argv.slice(2);
const tests = FOLDERS.flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".test.ts") && name.includes(part))
    .map((name) => join(folder, name)),
);
if (tests.length === 0) throw new Error(`there is no unit test with “${part}” in its file's name`);

const source = (path) => join(root, "packages/flambeau", path);
rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: tests.map((path) => join(root, path)),
  outdir: out,
  outbase: root,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: "inline",
  outExtension: { ".js": ".mjs" },
  plugins: [
    {
      name: "the package's source",
      setup: (esbuild) => {
        esbuild.onResolve({ filter: /^flambeau(\/worker)?$/ }, ({ path }) => ({ path: source(`src/${PACKAGE[path]}`) }));
        esbuild.onResolve({ filter: /^\.\/parts\.js$|^\.\.\/parts\.js$/ }, () => ({ path: source("tests/unit/parts.ts") }));
      },
    },
  ],
  logLevel: "warning",
});
const built = tests.map((path) => join(out, path.replace(/\.ts$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-reporter=spec", ...built], {
  stdio: "inherit",
});
process.exit(status ?? 1);
