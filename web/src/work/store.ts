/** What the pages share: a store that tells its listeners at most ten times a second, on an animation frame. */

import { useSyncExternalStore } from "react";

const SHORTEST = 90;

/** Tells listeners that something has changed, but not more often than a screen can show. */
export class Changes {
  #listeners = new Set<() => void>();
  #version = 0;
  #waiting = false;
  #told = 0;

  listen = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  version = () => this.#version;

  /** Something has changed; `now` tells it at once. */
  changed(now = false): void {
    if (now) {
      this.#tell();
      return;
    }
    if (this.#waiting) return;
    this.#waiting = true;
    // A hidden page has no frames: it is told by the clock.
    const soon = () => (document.hidden ? setTimeout(() => this.#tell(), SHORTEST) : requestAnimationFrame(() => this.#tell()));
    setTimeout(soon, Math.max(SHORTEST - (performance.now() - this.#told), 0));
  }

  #tell(): void {
    this.#waiting = false;
    this.#told = performance.now();
    this.#version += 1;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Draws the component anew when something has changed. */
export function useChanges(changes: Changes): number {
  return useSyncExternalStore(changes.listen, changes.version);
}
