/** Light or dark: as the system says, unless the reader has chosen. */

import { useCallback, useLayoutEffect, useSyncExternalStore } from "react";

export type Theme = "light" | "dark";
export type ThemeChoice = Theme | "system";

const KEY = "flambeau.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
const tell = () => {
  for (const listener of [...listeners]) listener();
};
dark.addEventListener("change", tell);

function chosen(): ThemeChoice {
  const word = localStorage.getItem(KEY);
  return word === "light" || word === "dark" ? word : "system";
}

const listen = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** The theme in use: for what is drawn on canvases. */
export function useTheme(): Theme {
  const choice = useSyncExternalStore(listen, chosen);
  const system = useSyncExternalStore(listen, () => dark.matches);
  return choice === "system" ? (system ? "dark" : "light") : choice;
}

/** What was chosen, and how to choose. */
export function useThemeChoice(): [ThemeChoice, (choice: ThemeChoice) => void] {
  const choice = useSyncExternalStore(listen, chosen);
  const choose = useCallback((next: ThemeChoice) => {
    if (next === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
    tell();
  }, []);
  return [choice, choose];
}

/** Puts the theme on the document, where the style sheets look for it. */
export function useThemeOnDocument(): void {
  const theme = useTheme();
  // Before the effects of the pages, whose canvases ask for the theme's colours.
  useLayoutEffect(() => {
    document.documentElement.dataset["theme"] = theme;
  }, [theme]);
}
