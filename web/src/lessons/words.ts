/** The words of the lessons' frame, in every language; a new language is a column here and in the lessons' files. */

import { useSyncExternalStore } from "react";
import { LANGUAGES, type Language } from "./lesson.js";

interface Frame {
  name: string;
  title: string;
  about: string;
  language: string;
  begin: string;
  step: (now: number, all: number) => string;
  tasks: string;
  done: string;
  open: string;
  allDone: string;
  back: string;
  next: string;
  end: string;
  missing: (name: string) => string;
}

export const FRAME: Record<Language, Frame> = {
  en: {
    name: "English",
    title: "Learn",
    about: "Five lessons of some minutes each. Tasks check themselves, and controls that a lesson does not need are put away.",
    language: "Language of the lessons",
    begin: "Begin",
    step: (now, all) => `Step ${now} of ${all}`,
    tasks: "Tasks",
    done: "done",
    open: "open",
    allDone: "Everything is done. Well learnt!",
    back: "Back",
    next: "Next",
    end: "End the lesson",
    missing: (name) => `There is no lesson “${name}”.`,
  },
  de: {
    name: "Deutsch",
    title: "Lernen",
    about: "Fünf Lektionen von wenigen Minuten. Aufgaben prüfen sich selbst, und was eine Lektion nicht braucht, ist weggeräumt.",
    language: "Sprache der Lektionen",
    begin: "Beginnen",
    step: (now, all) => `Schritt ${now} von ${all}`,
    tasks: "Aufgaben",
    done: "erledigt",
    open: "offen",
    allDone: "Alles ist erledigt. Gut gelernt!",
    back: "Zurück",
    next: "Weiter",
    end: "Lektion beenden",
    missing: (name) => `Es gibt keine Lektion „${name}“.`,
  },
};

const KEY = "flambeau.language";
const listeners = new Set<() => void>();
const isLanguage = (word: string | null): word is Language => LANGUAGES.some((each) => each === word);

/** What was chosen, else what the browser speaks, else English. */
function chosen(): Language {
  const word = localStorage.getItem(KEY);
  if (isLanguage(word)) return word;
  const spoken = navigator.language.slice(0, 2);
  return isLanguage(spoken) ? spoken : "en";
}

export function speak(language: Language): void {
  localStorage.setItem(KEY, language);
  for (const listener of [...listeners]) listener();
}

export function useLanguage(): Language {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, chosen);
}
