// The tab's process is killed while its worker writes a checkpoint, again and again, then the run is left alone. What is
// stored is whole after every kill, nothing that was said to be saved is lost, and the run goes on as if nothing had been.
import { Undisturbed } from "./ground.mjs";

/** A checkpoint of some megabytes after every step: most of the time is spent writing. */
const SETTINGS = { steps: 40, saveEvery: 1, width: 512 };
const ASKED = { device: "cpu", settings: JSON.stringify(SETTINGS) };
/** Kills of a run before it is left alone, and the writes that may go by before each. */
const KILLS = 4;
const WRITES = 3;
/** How far beyond the end of a write a kill may come, as a part of its length. */
const BEYOND = 0.3;

/** Follows the writing of a checkpoint: a large file, then a small one that says which is the latest. */
class Writing {
  /** Writes begun, and the part that is under way. */
  begun = 0;
  part = "none";
  #since = 0;
  lengths = [];

  hear({ what, name, part }) {
    if (what !== "file") return false;
    const isMark = name.endsWith(".latest");
    const begins = !isMark && part === "opening";
    if (begins) {
      this.begun += 1;
      this.#since = performance.now();
    }
    if (isMark && part === "closed") {
      this.lengths.push(performance.now() - this.#since);
      this.part = "none";
    } else {
      this.part = isMark || part === "closed" ? "marking" : part;
    }
    return begins;
  }
}

export async function attackTabs(ground, session) {
  const calm = new Writing();
  const undisturbed = await Undisturbed.of(ground, ASKED, (event) => calm.hear(event));
  const length = calm.lengths.sort((a, b) => a - b)[calm.lengths.length >> 1];
  console.log(`${session.name}: a checkpoint is written in about ${length.toFixed(0)} ms`);
  const found = { opening: 0, writing: 0, closing: 0, marking: 0, none: 0 };
  for (let now = session.next(KILLS); now !== undefined; now = session.next(KILLS)) {
    try {
      await disturb(ground, session, undisturbed, length, now, found);
    } catch (error) {
      session.fail(now, error.message);
    }
  }
  const { opening, writing, closing, marking, none } = found;
  session.note = `${opening + writing + closing + marking} inside a write (${opening} opening the file, ${writing} writing, ${closing} closing, ${marking} marking it as the latest), ${none} between writes`;
}

async function disturb(ground, session, undisturbed, length, { kills, random }, found) {
  let saved = 0;
  for (let visit = 0; visit <= kills; visit += 1) {
    const writing = new Writing();
    const [target, delay] = [1 + random.below(WRITES), random.unit() * (1 + BEYOND) * length];
    let [renderers, expected, timer, noticed] = [];
    const ended = await ground
      .visit({ ...ASKED, name: "tab", ...(visit === 0 && { fresh: "" }) }, (event) => {
        undisturbed.holds(event);
        if (event.what === "kept") {
          const [step = 0] = undisturbed.stepsOf(event.kept);
          if (step < saved) throw new Error(`step ${saved} was saved, and step ${step} is what is left`);
          expected = step + 1;
          renderers = ground.processes("renderer");
        }
        if (event.what === "step" && event.step !== expected++)
          throw new Error(`step ${event.step} came instead of ${expected - 1}`);
        if (event.what === "saved") saved = event.step;
        if (writing.hear(event) && writing.begun === target && visit < kills) {
          timer = setTimeout(() => (noticed = renderers.then(ground.kill)), delay);
        }
      })
      .finally(() => clearTimeout(timer));
    await noticed;
    if (ended === "done") return;
    if (noticed === undefined) throw new Error("the tab ended by itself");
    session.kills += 1;
    found[writing.part] += 1;
  }
}
