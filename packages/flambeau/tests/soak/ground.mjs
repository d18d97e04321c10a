// Where the attacks take place: Chromium with a profile on disk, visits of the attacked page, and what a run says that
// nobody disturbs.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openChromiumProfile } from "../browsers.mjs";

/** A page that says nothing for so long hangs. */
const SILENCE = 120_000;

/** Opens the browser; `address` is that of the attacked page. */
export async function openGround(address) {
  const folder = await mkdtemp(join(tmpdir(), "flambeau-soak-"));
  const browser = await openChromiumProfile(folder);
  return {
    /** The ids of the browser's processes of a type: "renderer", "GPU". */
    processes: browser.processes,
    /** Ends processes as a system does that runs out of memory, and returns when the browser has noticed. */
    async kill(ids) {
      for (const id of ids) end(id);
      // Until then it may give a new page a process that is dead.
      while ((await browser.processes()).some((id) => ids.includes(id))) await new Promise((done) => setTimeout(done, 5));
    },
    visit: (asked, hear) => visit(browser, `${address}?${new URLSearchParams(asked)}`, hear),
    async close() {
      await browser.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Opens the page, hands on its events, and returns how it ended: "done", "killed", or an error. */
async function visit(browser, address, hear) {
  const page = await browser.newPage();
  let silence;
  try {
    return await new Promise((resolve, reject) => {
      const wait = () => {
        clearTimeout(silence);
        silence = setTimeout(() => reject(new Error(`the page said nothing for ${SILENCE / 1000} s`)), SILENCE);
      };
      wait();
      page.on("crash", () => resolve("killed"));
      page.on("pageerror", (error) => reject(new Error(`the page broke: ${error.stack ?? error}`)));
      page.on("console", (message) => {
        const text = message.text();
        if (!text.startsWith("@")) return;
        wait();
        const event = JSON.parse(text.slice(1));
        try {
          hear(event);
        } catch (error) {
          reject(error);
        }
        if (event.what === "done") resolve("done");
        if (event.what === "failed") reject(new Error(`training failed: ${event.why}`));
      });
      // A page that is killed while it loads has not loaded, which is no error here.
      page.goto(address).catch((error) => (page.isClosed() || /crash/i.test(String(error)) ? undefined : reject(error)));
    });
  } finally {
    clearTimeout(silence);
    await page.close();
  }
}

function end(id) {
  try {
    process.kill(id, "SIGKILL");
  } catch (error) {
    // It has ended by itself.
    if (error.code !== "ESRCH") throw error;
  }
}

/** What a run says when it is left alone, and what holds every other run to it. */
export class Undisturbed {
  #losses = new Map();
  #digests = new Map();
  #steps = new Map();
  last = "";

  /** Trains once, alone; `hear` may look on. */
  static async of(ground, asked, hear) {
    const own = new Undisturbed();
    const ended = await ground.visit({ ...asked, name: "undisturbed", fresh: "" }, (event) => {
      if (event.what === "step") own.#losses.set(event.step, event.loss);
      if (event.what === "written") own.#digests.set(event.step, event.digest);
      if (event.what === "done") own.last = event.kept[0] ?? "";
      hear(event);
    });
    if (ended !== "done") throw new Error(`a run that nobody disturbs was ${ended}`);
    for (const [step, digest] of own.#digests) own.#steps.set(digest, step);
    if (own.#losses.size === 0 || own.#steps.get(own.last) !== Math.max(...own.#losses.keys())) {
      throw new Error("a run that nobody disturbs does not keep its last step");
    }
    return own;
  }

  /** The steps of checkpoints that a page found; an error if one is not as the undisturbed run wrote it. */
  stepsOf(digests) {
    return digests.map((digest, index) => {
      const step = this.#steps.get(digest);
      if (step === undefined)
        throw new Error(`the ${index === 0 ? "latest checkpoint" : "checkpoint before"} is no checkpoint of the undisturbed run`);
      return step;
    });
  }

  /** An error if a disturbed run says what the undisturbed one does not. */
  holds(event) {
    if (event.what === "step" && !Object.is(this.#losses.get(event.step), event.loss)) {
      throw new Error(`the loss of step ${event.step} is ${event.loss}, undisturbed ${this.#losses.get(event.step)}`);
    }
    if (event.what === "written" && this.#digests.get(event.step) !== event.digest) {
      throw new Error(`the checkpoint of step ${event.step} is another than undisturbed`);
    }
    if (event.what === "restarted") throw new Error(`the worker broke: ${event.why}`);
    if (event.what === "done" && event.kept[0] !== this.last) throw new Error("the last checkpoint is another than undisturbed");
  }
}
