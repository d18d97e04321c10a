// Attacks on the package in a real Chromium: `node tests/soak/run.mjs [--minutes M | --tabs N --gpus N] [--seed S]
// [--tab CASE] [--gpu CASE]`. Without options the tab is killed 100 times and the GPU process 20 times.
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { bundlePages, page } from "../bundle.mjs";
import { serve } from "../server.mjs";
import { attackGpu } from "./gpu.mjs";
import { openGround } from "./ground.mjs";
import { Session } from "./session.mjs";
import { attackTabs } from "./tab.mjs";

/** The options, all of which are numbers; an error ends the program. */
function readOptions() {
  try {
    const options = Object.fromEntries(
      ["minutes", "tabs", "gpus", "seed", "tab", "gpu"].map((name) => [name, { type: "string" }]),
    );
    const read = Object.entries(parseArgs({ options }).values).map(([name, text]) => {
      const value = Number(text);
      if (!(value >= 0) || (name !== "minutes" && !Number.isSafeInteger(value))) throw new Error(`--${name} cannot be ${text}`);
      return [name, value];
    });
    return Object.fromEntries(read);
  } catch (error) {
    console.error(`error: ${error.message}`);
    process.exit(2);
  }
}

const { minutes, seed = 1, tabs = 100, gpus = 20, tab, gpu } = readOptions();
const isOne = tab !== undefined || gpu !== undefined;
/** The limit of an attack: one case, a time, or a number of kills. */
const limit = (only, kills) => (isOne ? { only } : minutes !== undefined ? { minutes: minutes / 2 } : { kills });
const ATTACKS = [
  ["tab", attackTabs, limit(tab, tabs), !isOne || tab !== undefined],
  ["gpu", attackGpu, limit(gpu, gpus), !isOne || gpu !== undefined],
];

await bundlePages(["soak/page", "soak/worker"]);
const server = await serve(fileURLToPath(new URL("../../../..", import.meta.url)), { "/": page("soak/page") });
const asked = ATTACKS.filter(([, , limit, isAsked]) => isAsked && limit.kills !== 0);
let passed = asked.length > 0;
for (const [name, attack, limit] of asked) {
  const session = new Session(name, limit, seed);
  const ground = await openGround(server.address);
  try {
    await attack(ground, session);
  } finally {
    await ground.close();
  }
  passed = session.finish() && passed;
}
server.close();
process.exit(passed ? 0 : 1);
