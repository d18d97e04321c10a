/** What a lesson puts away on the page Train. The lessons are fetched only where the address asks for one. */

import { useEffect, useState } from "react";
import { useSettings } from "../app/route.js";
import { lessonSchema } from "./address.js";
import type { Lesson, TrainPart } from "./lesson.js";

const NOTHING: ReadonlySet<TrainPart> = new Set();

export function useLesson(): { isOn: boolean; hidden: ReadonlySet<TrainPart> } {
  const [{ lesson: name, at }] = useSettings(lessonSchema);
  const [lessons, setLessons] = useState<ReadonlyMap<string, Lesson>>();
  const isOn = name !== "";
  useEffect(() => {
    if (!isOn) return;
    let here = true;
    // What hinders it is said where the lesson itself is shown.
    import("./lessons.js").then(({ LESSONS }) => here && setLessons(LESSONS)).catch(() => undefined);
    return () => {
      here = false;
    };
  }, [isOn]);
  const step = isOn ? lessons?.get(name)?.steps[at - 1] : undefined;
  return { isOn, hidden: step === undefined ? NOTHING : new Set(step.hidden) };
}
