/** The size of text and charts: as usual, or large, for a classroom's projector. It is kept in the browser. */

import { useCallback, useLayoutEffect, useSyncExternalStore } from "react";

const KEY = "flambeau.size";
const LARGE = "projector";
/** How much larger text and charts are then; `base.css` has the same for text. */
const SCALE = 1.4;

const listeners = new Set<() => void>();
const listen = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};
const isLarge = () => localStorage.getItem(KEY) === LARGE;

/** Is it large, and how to change it. */
export function useLarge(): [boolean, (large: boolean) => void] {
  const large = useSyncExternalStore(listen, isLarge);
  const choose = useCallback((next: boolean) => {
    if (next) localStorage.setItem(KEY, LARGE);
    else localStorage.removeItem(KEY);
    for (const listener of [...listeners]) listener();
  }, []);
  return [large, choose];
}

/** How much larger than usual things are: for what is drawn on canvases. */
export function useScale(): number {
  return useSyncExternalStore(listen, isLarge) ? SCALE : 1;
}

/** Puts the size on the document, where the style sheets look for it. */
export function useSizeOnDocument(): void {
  const [large] = useLarge();
  useLayoutEffect(() => {
    if (large) document.documentElement.dataset["size"] = LARGE;
    else delete document.documentElement.dataset["size"];
  }, [large]);
}
