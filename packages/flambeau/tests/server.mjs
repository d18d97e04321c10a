// Serves a folder, as plain web servers do; nothing about it helps the package (no COOP or COEP headers).
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";

const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".html": "text/html" };

/** Serves `folder` until it is closed; pages made on the spot are in `pages`, by path. */
export async function serve(folder, pages = {}) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const path = pathname.endsWith("/") && pages[pathname] === undefined ? `${pathname}index.html` : pathname;
    try {
      const bytes = pages[path] ?? (await readFile(join(folder, normalize(path))));
      const type = pages[path] === undefined ? TYPES[extname(path)] : "text/html";
      response.writeHead(200, { "content-type": type ?? "application/octet-stream" }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { address: `http://localhost:${server.address().port}/`, close: () => server.close() };
}
