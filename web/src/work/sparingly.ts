/** How often something may be done that takes the longer the longer a run is, so that it takes a fixed part of the time at most. */

export class Sparingly {
  #next = 0;

  constructor(
    /** It may take one part of the time in so many. */
    readonly parts: number,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** May it be done now? Not while it is being done. */
  get isDue(): boolean {
    return this.now() >= this.#next;
  }

  begin(): void {
    this.#next = Number.POSITIVE_INFINITY;
  }

  /** It is done, and took so many milliseconds. */
  end(took: number): void {
    this.#next = this.now() + this.parts * took;
  }
}
