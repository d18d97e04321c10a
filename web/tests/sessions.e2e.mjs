// Runs that outlive the page: lost devices, reloads, other tabs.
import { assert } from "./context.mjs";
import { finishes, pictureTable, reaches, stepNow } from "./training.mjs";

export const tests = [
  {
    name: "a lost device is replaced, and after a reload the session is resumed",
    async run(context) {
      const { open, press, sees, page, until } = context;
      await open("train?device=software&steps=2000");
      await press("Start");
      await reaches(context, 110);
      await press("Lose the GPU");
      await sees("Training went on from step");
      await reaches(context, 130);
      await page.reload();
      await sees("Resume the last session?");
      await press("Resume the session");
      await until(() => document.querySelector(".controls .panel-note, .controls .progress") !== null);
      await reaches(context, 110);
      await press("Stop");
      await finishes(context);
      await sees("Stopped");
    },
  },
  {
    name: "a session that waits to be resumed outlives other runs, whatever becomes of them",
    async run(context) {
      const { open, press, sees, page } = context;
      await open("train?device=cpu&steps=2000&seed=3");
      await press("Start");
      await reaches(context, 110);
      await page.reload();
      await sees("Resume the last session?");
      // A run that saves checkpoints, cannot be resumed itself, and ends with the page.
      await open("train?device=cpu&data=csv&epochs=1000&batch=16&layers=flatten_linear-16_relu_linear-2");
      await page.setFiles("Choose files", pictureTable());
      await press("Start");
      await reaches(context, 110);
      await page.reload();
      // One that is over before it saves any.
      await open("train?device=cpu&steps=20");
      await press("Start");
      await finishes(context);
      await page.reload();
      await sees("of 2000 (");
      await press("Resume the session");
      await sees("Training on the CPU");
      await press("Stop");
      await finishes(context);
      await sees("Stopped on the CPU");
      assert(
        (await stepNow(context)) > 100,
        `the session went on from the start, and was stopped at step ${await stepNow(context)}`,
      );
    },
  },
];
