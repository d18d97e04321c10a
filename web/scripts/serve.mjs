// A tiny server of web/dist: `node scripts/serve.mjs [port]`. Any static host does as well.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("../dist", import.meta.url));
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".wasm": "application/wasm",
  ".json": "application/json",
  ".gz": "application/octet-stream",
};

/** Serves a folder (web/dist unless told) on localhost; port 0 takes a free one. */
export async function serve(port = 0, folder = dist) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    try {
      const bytes = await readFile(join(folder, path.endsWith("/") ? `${path}index.html` : path));
      response
        .writeHead(200, {
          "content-type": TYPES[extname(path) || ".html"] ?? "application/octet-stream",
          "content-length": bytes.length,
        })
        .end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  const { port: taken } = server.address();
  return {
    address: `http://localhost:${taken}/`,
    port: taken,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { address } = await serve(Number(process.argv[2] ?? 4173));
  console.log(`Flambeau is at ${address}`);
}
