/** What the test page does: runs everything, and tells the console. */

import { runAll } from "./cases/index.js";
import "./cases/worker.js";
import "./cases/parts.js";
import { runSuite } from "./selftest.js";

const asked = new URLSearchParams(location.search);
const device = asked.get("device") === "cpu" ? "cpu" : "software";
const [thorough, everyCase] = [asked.get("parts") === "long", asked.get("parts") === "cases"];
const only = asked.get("only") ?? "";
const tell = (line: string) => console.log(line);

const file = async (path: string): Promise<Uint8Array> => {
  const response = await fetch(`/${path}`);
  if (!response.ok) throw new Error(`${path}: HTTP ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
};

async function everything(): Promise<string[]> {
  const failed = await runAll({ device, file, tell, thorough, filter: only });
  const suite =
    only === "" || only === "suite"
      ? await runSuite({ device, everyCase, file, tell, wasm: "/packages/flambeau/tests/wasm/flambeau_bg.wasm" })
      : [];
  return [...failed, ...suite];
}

everything()
  .catch((error: unknown) => [error instanceof Error ? (error.stack ?? error.message) : String(error)])
  .then((failed) => console.log(`@failed ${JSON.stringify(failed)}`));
