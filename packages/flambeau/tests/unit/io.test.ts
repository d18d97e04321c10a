import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { bytes } from "../../src/io.js";

const BODY = Uint8Array.from({ length: 3000 }, (_, place) => place % 251);
function* endless(): Generator<Uint8Array> {
  for (;;) yield BODY;
}
const server = createServer((request, response) => {
  if (request.url === "/missing") response.writeHead(404).end();
  else if (request.url === "/endless") Readable.from(endless()).pipe(response);
  else if (request.url === "/unknown") response.writeHead(200, { "transfer-encoding": "chunked" }).end(BODY);
  else response.writeHead(200, { "content-length": BODY.length }).end(BODY);
});
let address = "";
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.close();
  server.closeAllConnections();
});

test("bytes come from arrays, buffers and files", async () => {
  const own = Uint8Array.of(1, 2, 3);
  assert.equal(await bytes(own), own);
  assert.deepEqual(await bytes(own.buffer), own);
  assert.deepEqual(await bytes(new Blob([own])), own);
});

test("bytes come from an address, and progress is told with the whole where the server says it", async () => {
  const seen: [number, number | undefined][] = [];
  const onProgress = (loaded: number, total: number | undefined) => void seen.push([loaded, total]);
  assert.deepEqual(await bytes(`${address}/known`, { onProgress }), BODY);
  assert.deepEqual(seen.at(-1), [3000, 3000]);
  assert.deepEqual(await bytes(new URL(`${address}/unknown`), { onProgress }), BODY);
  assert.deepEqual(seen.at(-1), [3000, undefined]);
});

test("what is more than the limit is refused, wherever it comes from", async () => {
  for (const source of [BODY, BODY.buffer, new Blob([BODY]), `${address}/known`]) {
    await assert.rejects(bytes(source, { limit: 2999 }), RangeError);
    assert.equal((await bytes(source, { limit: 3000 })).length, 3000);
  }
});

test("a download beyond the limit is broken off, and not read to an end that may never come", { timeout: 5000 }, async () => {
  await assert.rejects(bytes(`${address}/endless`, { limit: 10_000 }), /endless is more than the limit, 10000 bytes/);
});

test("an address with nothing behind it is an error with the server's number", async () => {
  await assert.rejects(bytes(`${address}/missing`), /missing: HTTP 404/);
});

test("bytes that are not the expected ones are refused by their digest, in capitals or not", async () => {
  const sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const abc = new TextEncoder().encode("abc");
  assert.deepEqual(await bytes(abc, { sha256 }), abc);
  assert.deepEqual(await bytes(abc, { sha256: sha256.toUpperCase() }), abc);
  await assert.rejects(bytes(new TextEncoder().encode("abd"), { sha256 }), /not the expected one/);
});

test("a download can be called off", async () => {
  await assert.rejects(bytes(`${address}/known`, { signal: AbortSignal.abort() }), { name: "AbortError" });
});
