// What the attacks share: random numbers that a seed and a case decide, how long they go on, what they say meanwhile and
// in the end. The words are those of the attacks on the library (tools/soak).

/** Failures that are printed, and milliseconds between two lines about how it goes. */
const SHOWN = 20;
const PAUSE = 10_000;
/** Cases that may end before anything could be killed. */
const MISSED = 10;
const MASK = (1n << 64n) - 1n;
const GOLDEN = 0x9e3779b97f4a7c15n;

/** SplitMix64: the stream of a seed and a case. */
export function randomOf(seed, number) {
  let state = ((BigInt(seed) * GOLDEN) & MASK) ^ BigInt(number);
  const bits = () => {
    state = (state + GOLDEN) & MASK;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return z ^ (z >> 31n);
  };
  bits();
  /** A number in [0, 1). */
  const unit = () => Number(bits() >> 11n) / 2 ** 53;
  return { unit, below: (count) => Math.floor(unit() * count) };
}

/** One attack: `limit` is { kills }, { minutes } or { only }, a case. */
export class Session {
  kills = 0;
  #cases = 0;
  #failures = 0;
  /** What else the last line tells, such as what the cases consisted of. */
  note = "";
  #started = performance.now();
  #said = performance.now();

  constructor(name, limit, seed) {
    [this.name, this.limit, this.seed] = [name, limit, seed];
    console.log(`${name}: seed ${seed}`);
  }

  /** The number of the next case and the kills that are left for it; undefined when the attack is over. */
  next(most) {
    if (performance.now() - this.#said > PAUSE) {
      this.#said = performance.now();
      console.log(`${this.name}: ${this.#cases} cases, ${this.kills} kills, ${this.#failures} failures`);
    }
    const { kills, minutes, only } = this.limit;
    const left = kills === undefined ? most : Math.min(most, kills - this.kills);
    const isOver =
      only !== undefined
        ? this.#cases > 0
        : minutes !== undefined
          ? performance.now() - this.#started > minutes * 60_000
          : left <= 0 || this.#cases >= kills + MISSED;
    if (isOver) return undefined;
    const number = only ?? this.#cases;
    this.#cases += 1;
    return { number, kills: left, random: randomOf(this.seed, number) };
  }

  /** Records that a case failed. */
  fail({ number }, what) {
    this.#failures += 1;
    if (this.#failures > SHOWN) return;
    console.log(
      `${this.name}: case ${number} FAILED: ${what}\n    again: cargo xtask soak browser --seed ${this.seed} --${this.name} ${number}`,
    );
  }

  /** Prints what came out; true if nothing failed and as much was killed as was asked for. */
  finish() {
    const seconds = ((performance.now() - this.#started) / 1000).toFixed(1);
    console.log(
      `summary: soak browser, ${this.name}: ${this.#cases} cases, ${this.kills} kills, ${this.#failures} failures, ${this.note} (seed ${this.seed}, ${seconds} s)`,
    );
    return this.#failures === 0 && this.kills >= (this.limit.kills ?? 1);
  }
}
