/**
 * Which tab has which run: a run that is being trained is nobody else's. Web Locks say it where the page is secure: a tab
 * that ends, however it ends, lets go of its runs at once. Pages over plain http have none. There a tab writes its name
 * beside its runs in the local storage, and takes it away when it ends; whether one that did not is still there is asked
 * over a broadcast channel, which all browsers give every page. Only after a crash is an answer waited for in vain.
 */

/** What tabs without locks tell each other: who is asked for, and who is there. */
interface Word {
  kind: "ask" | "here";
  tab: string;
}

const NAME = "flambeau.hold.";
/** How long a tab that has crashed, or is very busy, is waited for, in milliseconds. */
const PATIENCE = 5000;

/** The runs of this tab, and those of others. */
export interface Holding {
  /** Takes a run; false if another tab has it. */
  hold(run: string): Promise<boolean>;
  release(run: string): void;
  /** The runs that other tabs have. */
  elsewhere(): Promise<ReadonlySet<string>>;
  /** Called when another tab has let go of a run, where the storage does not tell. */
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

/** By names in the storage, and by asking. */
export class Names implements Holding {
  onChange: () => void = () => undefined;
  readonly #tab = `${Date.now()}-${Math.random()}`;
  #mine = new Set<string>();
  /** Called with the tabs that answer. */
  #heard = new Set<(tab: string) => void>();

  constructor(
    readonly storage: Storage,
    readonly channel: Pick<BroadcastChannel, "postMessage" | "addEventListener">,
    readonly patience = PATIENCE,
  ) {
    channel.addEventListener("message", (event) => this.#told((event as MessageEvent<Word>).data));
  }

  #told({ kind, tab }: Word): void {
    if (kind === "here") for (const heard of this.#heard) heard(tab);
    else if (tab === this.#tab) {
      // One that waited in vain may have taken the name away: it stands there again before the answer is heard.
      for (const run of this.#mine) this.storage.setItem(NAME + run, this.#tab);
      this.channel.postMessage({ kind: "here", tab } satisfies Word);
    }
  }

  /** Is this tab there? */
  #isThere(tab: string): Promise<boolean> {
    return new Promise((resolve) => {
      const answered = (isThere: boolean) => {
        this.#heard.delete(heard);
        clearTimeout(late);
        resolve(isThere);
      };
      const heard = (other: string) => other === tab && answered(true);
      const late = setTimeout(() => answered(false), this.patience);
      this.#heard.add(heard);
      this.channel.postMessage({ kind: "ask", tab } satisfies Word);
    });
  }

  /** Does another tab have it? The name of one that is gone is taken away. */
  async #isHeld(run: string): Promise<boolean> {
    const tab = this.storage.getItem(NAME + run);
    if (tab === null || tab === this.#tab) return false;
    // It may have let go of the run meanwhile.
    if (await this.#isThere(tab)) return this.storage.getItem(NAME + run) === tab;
    if (this.storage.getItem(NAME + run) === tab) this.storage.removeItem(NAME + run);
    return false;
  }

  async hold(run: string): Promise<boolean> {
    if (await this.#isHeld(run)) return false;
    this.#mine.add(run);
    this.storage.setItem(NAME + run, this.#tab);
    return true;
  }

  release(run: string): void {
    if (this.#mine.delete(run)) this.storage.removeItem(NAME + run);
  }

  /** The tab ends. */
  releaseAll(): void {
    for (const run of [...this.#mine]) this.release(run);
  }

  async elsewhere(): Promise<ReadonlySet<string>> {
    const keys = Array.from({ length: this.storage.length }, (_, place) => this.storage.key(place) ?? "");
    const runs = keys.filter((key) => key.startsWith(NAME)).map((key) => key.slice(NAME.length));
    const held = await Promise.all(runs.map((run) => this.#isHeld(run)));
    return new Set(runs.filter((_, place) => held[place]));
  }
}

/** The best this page has. Other tabs' names are told by the storage's own events. */
export function openHolding(): Holding {
  const { locks } = navigator as { locks?: LockManager };
  if (locks !== undefined) return new Locks(locks);
  const names = new Names(localStorage, new BroadcastChannel("flambeau.runs"));
  window.addEventListener("pagehide", () => names.releaseAll());
  return names;
}
