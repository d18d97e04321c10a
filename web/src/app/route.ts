/** Where the app is, as React sees it: pages and their settings live in the address's hash. */

import { useCallback, useMemo, useSyncExternalStore } from "react";
import { readHash, readQuery, writeHash, writeQuery, type Place, type Schema } from "./url.js";

/** Settings that all pages share: they stay when one goes to another page. */
const SHARED = ["device"];

const listeners = new Set<() => void>();
const listen = (listener: () => void) => {
  listeners.add(listener);
  window.addEventListener("hashchange", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("hashchange", listener);
  };
};

/** Changes the address without a step in the history. */
function replace(place: Place): void {
  const hash = writeHash(place);
  if (hash === location.hash) return;
  history.replaceState(null, "", hash);
  for (const listener of [...listeners]) listener();
}

/** The place the address names now. */
export function usePlace(): Place {
  const hash = useSyncExternalStore(listen, () => location.hash);
  return useMemo(() => readHash(hash), [hash]);
}

/** What each page was last set to in this tab. */
const last = new Map<string, URLSearchParams>();

/** Keeps the place's settings for the menu: a page that is left and entered again is as it was. */
export function remember({ page, query }: Place): void {
  last.set(page, query);
}

/** Was this page opened in this tab? */
export const wasVisited = (page: string): boolean => last.has(page);

/** The address of a page as it was last, with the settings that all share as they are here. */
export function addressOf(page: string, here: Place): string {
  const query = new URLSearchParams(page === here.page ? here.query : last.get(page));
  for (const name of SHARED) {
    const value = here.query.get(name);
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  return writeHash({ page, query });
}

/** Some settings of the address, and how to change them. Settings of other schemas stay as they are. */
export function useSettings<S extends object>(schema: Schema<S>): [S, (change: Partial<S>) => void] {
  const { query } = usePlace();
  const said = query.toString();
  const settings = useMemo(() => readQuery(schema, new URLSearchParams(said)), [schema, said]);
  const change = useCallback(
    (change: Partial<S>) => {
      const place = readHash(location.hash);
      const next = { ...readQuery(schema, place.query), ...change };
      const own = writeQuery(schema, next);
      const query = new URLSearchParams(own);
      for (const [name, value] of place.query) if (!(name in schema)) query.set(name, value);
      replace({ page: place.page, query });
    },
    [schema],
  );
  return [settings, change];
}

/** The whole address that reproduces these settings. */
export function shareLink<S extends object>(page: string, schema: Schema<S>, settings: S): string {
  return location.href.replace(/#.*$/, "") + writeHash({ page, query: writeQuery(schema, settings) });
}
