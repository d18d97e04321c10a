// The browser's GPU process is killed while a worker trains on WebGPU, at times again while it makes a new device: that
// takes over, and the run ends as one that nobody disturbed.
import { Undisturbed } from "./ground.mjs";

const SETTINGS = { steps: 60, saveEvery: 3, width: 32 };
const ASKED = { device: "software", settings: JSON.stringify(SETTINGS) };
/** Kills of a run: a worker replaces three lost devices before it takes the CPU. */
const KILLS = 3;
/** A kill comes within so many steps after the run has begun or gone on. */
const STEPS = 5;
/** How many kills are followed by another at once, and which part of the first step's time that may take. */
const AGAIN = 1 / 3;
const FOLLOWS = 20;

export async function attackGpu(ground, session) {
  let [since, first, each] = [0, 0, 0];
  const undisturbed = await Undisturbed.of(ground, ASKED, ({ what, step }) => {
    if (what === "device") since = performance.now();
    if (what !== "step") return;
    const now = performance.now();
    if (step === 1) [first, since] = [now - since, now];
    else each = (now - since) / (step - 1);
  });
  console.log(`${session.name}: the first step takes about ${first.toFixed(0)} ms, others ${each.toFixed(0)} ms`);
  const found = { anew: 0, on: 0 };
  for (let now = session.next(KILLS); now !== undefined; now = session.next(KILLS)) {
    const run = new Disturbed(ground, session, now, { first, each }, found);
    try {
      const ended = await ground.visit({ ...ASKED, name: "gpu", fresh: "" }, (event) => {
        undisturbed.holds(event);
        run.hear(event);
      });
      if (ended !== "done") throw new Error("the tab ended by itself");
    } catch (error) {
      session.fail(now, error.message);
    } finally {
      await run.end();
    }
  }
  const { anew, on } = found;
  session.note = `${session.kills - anew - on} of them while a new device was made, begun anew ${anew} times, gone on from a checkpoint ${on} times`;
}

/** A run whose GPU process is killed some times. */
class Disturbed {
  #killed = 0;
  /** Kills that the run has not told of yet. */
  #pending = 0;
  #taken = 0;
  #target = 0;
  #timer;
  #striking;
  #isOver = false;

  constructor(ground, session, { kills, random }, length, found) {
    Object.assign(this, { ground, session, kills, random, length, found });
  }

  hear({ what, type, step }) {
    if (what === "recovered") {
      if (type !== "gpu") throw new Error(`after ${this.#killed} kills the CPU took over`);
      this.session.kills += this.#pending;
      this.found[step === 0 ? "anew" : "on"] += 1;
      this.#pending = 0;
    }
    if (what === "step") this.#taken += 1;
    if (what === "device" || what === "recovered") [this.#taken, this.#target] = [0, this.random.below(STEPS)];
    if (["device", "recovered", "step"].includes(what) && this.#taken === this.#target) {
      this.#strikeWithin(this.#target === 0 ? this.length.first : this.length.each);
    }
  }

  /** Kills the process within so many milliseconds. */
  #strikeWithin(most) {
    const [delay, isFollowed] = [this.random.unit() * most, this.random.unit() < AGAIN];
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.#striking = this.#strike(isFollowed)), delay);
  }

  async #strike(isFollowed) {
    let processes = [];
    // After a kill it takes the browser a moment to start another.
    while (processes.length === 0) processes = await this.ground.processes("GPU");
    if (this.#isOver || this.#killed >= this.kills) return;
    this.#killed += 1;
    this.#pending += 1;
    await this.ground.kill(processes);
    if (isFollowed && !this.#isOver) this.#strikeWithin(this.length.first / FOLLOWS);
  }

  /** Kills no more. */
  async end() {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#striking;
  }
}
