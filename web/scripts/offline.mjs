// Makes the service worker of a build: `sw.js` with the list of the build's files and their hashes inside. Vite calls it at the end
// of a build, and tests for builds of their own: `node scripts/offline.mjs [folder]`.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const source = fileURLToPath(new URL("../src/offline/service.worker.ts", import.meta.url));

/** Not the app's own: data sets are kept when they are read, the picture for links is for other hosts. */
const isLeftOut = (path) => /^(fashion-)?mnist\//.test(path) || path === "sw.js" || path === "social.png";

function filesUnder(folder, path = "") {
  return readdirSync(join(folder, path), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesUnder(folder, `${path}${entry.name}/`) : [`${path}${entry.name}`],
  );
}

/** The files of a build by their addresses, with their SHA-256. The page itself is asked for as hosts like it: as a folder. */
export function filesOf(folder) {
  const hash = (path) =>
    createHash("sha256")
      .update(readFileSync(join(folder, path)))
      .digest("base64");
  const paths = filesUnder(folder).filter((path) => !isLeftOut(path));
  return Object.fromEntries(paths.sort().map((path) => [path === "index.html" ? "" : path, hash(path)]));
}

/** Writes the service worker of the build in a folder; gives the build's name. */
export async function writeServiceWorker(folder) {
  const files = filesOf(folder);
  const name = createHash("sha256").update(JSON.stringify(files)).digest("hex").slice(0, 16);
  const { outputFiles } = await build({
    entryPoints: [source],
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: "es2022",
    define: { BUILD: JSON.stringify(name), FILES: JSON.stringify(files) },
  });
  writeFileSync(join(folder, "sw.js"), outputFiles[0].contents);
  return name;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(await writeServiceWorker(process.argv[2] ?? fileURLToPath(new URL("../dist", import.meta.url))));
}
