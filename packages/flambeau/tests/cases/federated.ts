/** Clients of a Flower server whose server is away, no Flower server, or hostile. With a real one they run in `cargo xtask builds flower`. */

import { nn } from "flambeau";
import { type ClientOptions, load, serve } from "flambeau/federated";
import { assert, equal, test } from "../harness.js";

interface Call {
  address: string;
  options: RequestInit & { headers: Record<string, string> };
}

/** Takes part while a server answers like this; what came of it, and the calls. */
async function against(answer: () => Promise<Response>, options: Partial<ClientOptions> = {}): Promise<[unknown, Call[]]> {
  const { fetch } = globalThis;
  const calls: Call[] = [];
  // Its part of the module comes by the true one.
  await load();
  globalThis.fetch = (address, init) => {
    calls.push({ address: String(address), options: init as Call["options"] });
    return answer();
  };
  try {
    const train = () => ({ examples: 1 });
    const came = serve("http://server/page?x", { model: nn.linear(2, 1), train, patience: 0, ...options });
    return [await came.catch((error: unknown) => (error as Error).message), calls];
  } finally {
    globalThis.fetch = fetch;
  }
}

test("a client of a Flower server says which call was refused, and sends its public key alone", async () => {
  const refused = () => Promise.resolve(new Response("no such\nplace", { status: 404 }));
  const [said, calls] = await against(refused);
  equal(said, "register-node: the server answered 404: no such place");
  const [again, { address, options }] = [await against(refused), calls[0] as Call];
  equal([calls.length, address, options.method], [1, "http://server/v1/fleet/register-node", "POST"]);
  const key = ({ options }: Call) => atob(options.headers["flwr-public-key"] ?? "");
  assert(key(calls[0] as Call).startsWith("-----BEGIN PUBLIC KEY-----"), key(calls[0] as Call));
  assert(key(calls[0] as Call) !== key(again[1][0] as Call), "each client has a key of its own");
  assert(!JSON.stringify(options.headers).includes("PRIVATE"), "the private key stays");
  equal([options.redirect, options.credentials], ["error", "omit"]);
});

test("what is no Flower server is none, and an answer without end is not read to it", async () => {
  const [said] = await against(() => Promise.resolve(new Response("<html>", { headers: { "content-type": "text/html" } })));
  assert(/^register-node: .*text\/html.*a Flower server\?$/.test(String(said)), String(said));
  const block = new Uint8Array(8 << 20);
  let sent = 0;
  const endless = new ReadableStream({
    pull: (controller) => {
      sent += block.byteLength;
      controller.enqueue(block);
    },
  });
  const headers = { "content-type": "application/protobuf" };
  const [late] = await against(() => Promise.resolve(new Response(endless, { headers })));
  assert(/^register-node: .*more than the limit of 67108864 bytes/.test(String(late)), String(late));
  assert(sent <= 96 << 20, `${sent} bytes were read`);
});

test("a client that is asked to leave does not wait for a server that is away", async () => {
  const controller = new AbortController();
  let asked = 0;
  const away = () => {
    asked += 1;
    // It is asked to leave while it waits to ask once more.
    if (asked === 2) setTimeout(() => controller.abort());
    return Promise.reject(new TypeError("no way there"));
  };
  // With that patience it would wait longer than a test may take.
  const [served, calls] = await against(away, { patience: 3600, signal: controller.signal });
  equal(served, { answered: 0, node: "0", rounds: 0, runs: [], stopped: "asked" });
  assert(calls.length >= 2, "it has asked again");
});

test("settings of a client that make no sense are refused by name", async () => {
  const none = () => Promise.reject(new Error("it was asked"));
  for (const [options, name] of [
    [{ poll: -1 }, "poll"],
    [{ patience: Number.NaN }, "serve"],
    [{ privacy: { clip: 0, noise: 1 } }, "clip"],
    [{ privacy: { clip: 1, noise: Number.NaN } }, "serve"],
    [{ privacy: { clip: 1, noise: 1, delta: 2 } }, "delta"],
    [{ properties: { list: [1, "a"] } }, "properties"],
    [{ model: { weight: 7 } as never }, "weight"],
  ] satisfies [Partial<ClientOptions>, string][]) {
    const [said, calls] = await against(none, options);
    assert(typeof said === "string" && said.includes(name), `${name}: ${JSON.stringify(said)}`);
    equal(calls.length, 0);
  }
});
