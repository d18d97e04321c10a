// What a page fetches until its first training step: dist/index.js, what it imports, and the WebAssembly, gzipped.
// Fails above the limit.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT = 500_000;
const dist = new URL("../dist/", import.meta.url);

const seen = new Set();
const files = [];
function add(name) {
  if (seen.has(name)) return;
  seen.add(name);
  const bytes = readFileSync(new URL(name, dist));
  files.push([name, bytes.byteLength, gzipSync(bytes, { level: 9 }).byteLength]);
  if (!name.endsWith(".js")) return;
  for (const [, path] of bytes.toString().matchAll(/(?:from|import)\s*"(\.[^"]+)"/g)) {
    add(new URL(path, new URL(name, "file:///")).pathname.slice(1));
  }
}
add("index.js");
add("wasm/flambeau_bg.wasm");

const total = files.reduce((sum, [, , gzipped]) => sum + gzipped, 0);
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;
if (process.argv.includes("--short")) {
  console.log(`${kilobytes(total)} gzipped until the first step`);
} else {
  for (const [name, bytes, gzipped] of files) {
    console.log(`${name.padEnd(28)} ${kilobytes(bytes).padStart(10)}  gzipped ${kilobytes(gzipped).padStart(9)}`);
  }
  const gzipped = (name) => kilobytes(gzipSync(readFileSync(new URL(name, dist)), { level: 9 }).byteLength);
  console.log(`Afterwards, or when it is needed, wasm/flambeau_later.wasm: ${gzipped("wasm/flambeau_later.wasm")} gzipped.`);
  for (const name of ["fft", "linalg", "func", "numeric", "peers", "federated"]) {
    console.log(`When it is first used, wasm/flambeau_${name}.wasm: ${gzipped(`wasm/flambeau_${name}.wasm`)} gzipped.`);
  }
  console.log(`A page fetches ${kilobytes(total)} (gzipped) until its first training step; the limit is ${kilobytes(LIMIT)}.`);
}
if (total > LIMIT) {
  console.error(`error: ${kilobytes(total - LIMIT)} too much`);
  process.exit(1);
}
