/** What the shell says of the app's own files: whether it works offline, and whether a newer build waits. */

import { useSyncExternalStore } from "react";

export interface OfflineState {
  /** Every page opens without a network. */
  ready: boolean;
  /** A newer build is whole: whoever opens the page again gets it. */
  newer: boolean;
}

let state: OfflineState = { ready: false, newer: false };
const listeners = new Set<() => void>();

export function setOffline(next: OfflineState): void {
  state = next;
  for (const listener of [...listeners]) listener();
}

export function useOffline(): OfflineState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => state,
  );
}
