/**
 * A tab that trains together with others: `?rooms=<address>&room=<name>&seed=<n>&rounds=<n>`, with `&worker=1` in a worker. It logs
 * `@start`, `@round`, `@news`, `@told` and `@end` as JSON, or `@failed`.
 */

import { lendLinks } from "flambeau/peers";
import { type Say, train } from "./together.js";

const asked = new URLSearchParams(location.search);
const say: Say = (what, value) => console.log(`@${what} ${JSON.stringify(value)}`);

if (asked.has("worker")) {
  const worker = new Worker("/packages/flambeau/tests/.build/peers-worker.mjs", { type: "module" });
  const { port } = lendLinks();
  worker.onmessage = ({ data: [what, value] }: MessageEvent<[string, unknown]>) => say(what, value);
  worker.onerror = ({ message }) => say("failed", message);
  worker.postMessage({ asked: asked.toString(), port }, [port]);
} else {
  train(asked, say).catch((error: unknown) => say("failed", error instanceof Error ? error.message : String(error)));
}
