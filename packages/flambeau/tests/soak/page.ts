/**
 * The page that is attacked: `?name=…&device=…&settings=…` says what its checkpoints hold, goes on from the latest or begins
 * (`&fresh`: in any case), and says all that happens until the run is over. Each line that begins with `@` is an `Event`.
 */

import { Checkpoints, openStore, TrainingWorker } from "flambeau/worker";
import { digestOf, say, type Settings } from "./events.js";

const asked = new URLSearchParams(location.search);
const name = asked.get("name") ?? "soak";
const settings = JSON.parse(asked.get("settings") ?? "{}") as Settings;
const checkpoints = new Checkpoints(await openStore(), name);

/** The digests of what is kept, the latest first. */
async function kept(): Promise<string[]> {
  const found: string[] = [];
  for await (const bytes of checkpoints.latest()) found.push(await digestOf(bytes));
  return found;
}

if (asked.has("fresh")) await checkpoints.clear();
say({ what: "kept", kept: await kept() });

const open = () => new Worker("/packages/flambeau/tests/.build/soak/worker.mjs", { type: "module" });
const run = new TrainingWorker(open, {
  onDevice: ({ type }) => say({ what: "device", type }),
  onProgress: ({ step, metrics }) => say({ what: "step", step, loss: metrics["loss"] ?? Number.NaN }),
  onCheckpoint: (step) => say({ what: "saved", step }),
  onRecovered: ({ info, step, why }) => say({ what: "recovered", type: info.type, step, why }),
  onRestarted: (why) => say({ what: "restarted", why }),
});
try {
  const { steps } = await run.start({
    name,
    device: asked.get("device") === "cpu" ? "cpu" : "software",
    resume: true,
    epochs: settings.steps,
    maxSteps: settings.steps,
    logEvery: 1,
    checkpointEvery: settings.saveEvery,
    settings,
  });
  run.terminate();
  say({ what: "done", steps, kept: await kept() });
} catch (error) {
  say({ what: "failed", why: error instanceof Error ? error.message : String(error) });
}
