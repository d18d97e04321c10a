/**
 * A tab that is closed while its worker trains, and the same page opened again: `?visit=first` trains until it is closed
 * (the driver does so after the second checkpoint), `?visit=second` must go on from there.
 */

import { TrainingWorker } from "flambeau/worker";

const asked = new URLSearchParams(location.search);
const report = (failed: string[]) => console.log(`@failed ${JSON.stringify(failed)}`);
const open = () => new Worker("/packages/flambeau/tests/.build/worker.mjs", { type: "module" });
const common = {
  name: "closed tab",
  device: asked.get("device") === "cpu" ? ("cpu" as const) : ("software" as const),
  logEvery: 1,
};

if (asked.get("visit") === "first") {
  const run = new TrainingWorker(open, { onCheckpoint: (step) => step === 8 && report([]) });
  run.start({ ...common, epochs: 100_000, checkpointEvery: 4 }).catch((error: unknown) => report([String(error)]));
} else {
  const seen: number[] = [];
  const run = new TrainingWorker(open, {
    onProgress: ({ step }) => {
      seen.push(step);
      if (seen.length === 3) run.stop();
    },
  });
  run.start({ ...common, epochs: 100_000, resume: true }).then(
    () => {
      run.terminate();
      const [first = 0] = seen;
      console.log(`ok     after the tab was closed, training goes on with step ${first}`);
      report(first > 8 ? [] : [`after the tab was closed, training began again with step ${first}`]);
    },
    (error: unknown) => report([String(error)]),
  );
}
