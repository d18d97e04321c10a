/** The ported tests in a page. */

import { portion, runPorted } from "./ported.js";

const asked = new URLSearchParams(location.search);
const tell = (line: string) => console.log(line);
const fetched = async (path: string): Promise<Response> => {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: HTTP ${response.status}`);
  return response;
};

async function everything(): Promise<string[]> {
  const wasm = await fetched("/packages/flambeau/tests/wasm-ported/flambeau_bg.wasm").then((response) => response.arrayBuffer());
  const rows = await fetched("/crates/flambeau/tests/data/pytorch_rows.txt").then((response) => response.text());
  const tests = portion(asked.get("only"), asked.get("first"), asked.get("count"));
  return runPorted({ wasm: new Uint8Array(wasm), rows, ...tests, tell });
}

everything()
  .catch((error: unknown) => [error instanceof Error ? (error.stack ?? error.message) : String(error)])
  .then((failed) => console.log(`@failed ${JSON.stringify(failed)}`));
