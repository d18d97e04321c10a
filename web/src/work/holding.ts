/**
 * Which tab has which run: a run that is being trained is nobody else's. Web Locks say it where the page is secure: a tab
 * that ends, however it ends, lets go of its runs at once. Pages over plain http have none; there the tabs ask each other
 * over a broadcast channel, which all browsers give every page, and one that does not answer is gone.
 */

/** What tabs without locks tell each other. */
type Word = { kind: "ask" } | { kind: "mine"; runs: string[] } | { kind: "free" };

const NAME = "flambeau.run.";
/** How long a tab is waited for, in milliseconds. One that answers later is heard all the same. */
const PATIENCE = 400;

/** The runs of this tab, and those of others. */
export interface Holding {
  /** Takes a run; false if another tab has it. */
  hold(run: string): Promise<boolean>;
  release(run: string): void;
  /** The runs that other tabs have. */
  elsewhere(): Promise<ReadonlySet<string>>;
  /** Called when another tab may have taken a run or let go of one. */
  onChange: () => void;
}

/** By locks. Where the browser refuses them, as it does to pages that may store nothing, there is no run to be shared either. */
export class Locks implements Holding {
  onChange: () => void = () => undefined;
  #mine = new Map<string, () => void>();
  #watched = new Set<string>();

  constructor(readonly locks: LockManager) {}

  hold(run: string): Promise<boolean> {
    if (this.#mine.has(run)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const granted = (lock: Lock | null) => {
        resolve(lock !== null);
        return lock === null ? undefined : new Promise<void>((release) => this.#mine.set(run, release));
      };
      this.locks.request(NAME + run, { ifAvailable: true }, granted).catch(() => resolve(true));
    });
  }

  release(run: string): void {
    this.#mine.get(run)?.();
    this.#mine.delete(run);
  }

  async elsewhere(): Promise<ReadonlySet<string>> {
    const { held = [] } = await this.locks.query().catch(() => ({ held: [] }));
    const names = held.flatMap(({ name = "" }) => (name.startsWith(NAME) ? [name.slice(NAME.length)] : []));
    const others = names.filter((run) => !this.#mine.has(run));
    for (const run of others) this.#watch(run);
    return new Set(others);
  }

  /** Waits in the queue of a run's lock, to hear when it is free. */
  #watch(run: string): void {
    if (this.#watched.has(run)) return;
    this.#watched.add(run);
    void this.locks
      .request(NAME + run, { mode: "shared" }, () => undefined)
      .then(() => {
        this.#watched.delete(run);
        this.onChange();
      });
  }
}

/** By asking. */
export class Asking implements Holding {
  onChange: () => void = () => undefined;
  #mine = new Set<string>();
  /** What each question that is open has been told so far. */
  #open = new Set<Set<string>>();

  constructor(
    readonly channel: Pick<BroadcastChannel, "postMessage" | "addEventListener">,
    readonly patience = PATIENCE,
  ) {
    channel.addEventListener("message", (event) => this.#heard((event as MessageEvent<Word>).data));
  }

  #heard(word: Word): void {
    if (word.kind === "ask") this.#say({ kind: "mine", runs: [...this.#mine] });
    if (word.kind === "mine") for (const told of this.#open) for (const run of word.runs) told.add(run);
    // An answer to a question that is open is no news.
    if (word.kind === "free" || (word.kind === "mine" && this.#open.size === 0 && word.runs.length > 0)) this.onChange();
  }

  #say(word: Word): void {
    this.channel.postMessage(word);
  }

  async hold(run: string): Promise<boolean> {
    if (this.#mine.has(run)) return true;
    // Two tabs that want it at once hear of each other, and neither gets it.
    this.#mine.add(run);
    if (!(await this.elsewhere()).has(run)) return true;
    this.#mine.delete(run);
    return false;
  }

  release(run: string): void {
    if (this.#mine.delete(run)) this.#say({ kind: "free" });
  }

  async elsewhere(): Promise<ReadonlySet<string>> {
    const told = new Set<string>();
    this.#open.add(told);
    this.#say({ kind: "ask" });
    await new Promise((done) => setTimeout(done, this.patience));
    this.#open.delete(told);
    return told;
  }
}

/** The best this page has. */
export function openHolding(): Holding {
  const { locks } = navigator as { locks?: LockManager };
  return locks === undefined ? new Asking(new BroadcastChannel("flambeau.runs")) : new Locks(locks);
}
