/** All lessons, in the order of their files' names; a new one is a file in `files`. */

import type { Lesson } from "./lesson.js";

const found = import.meta.glob<Lesson>("./files/*.json", { eager: true, import: "default" });

/** By their names in the address: `files/1-first-run.json` is `first-run`. */
export const LESSONS: ReadonlyMap<string, Lesson> = new Map(
  Object.entries(found)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, lesson]) => [path.replace(/^.*\/\d+-|\.json$/g, ""), lesson]),
);
