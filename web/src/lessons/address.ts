/** Which lesson the address asks for, and at which step. Small: the page Train has it before any lesson is fetched. */

import { integer, text, type Schema } from "../app/url.js";

export interface LessonPlace {
  lesson: string;
  /** From 1. */
  at: number;
}

export const lessonSchema: Schema<LessonPlace> = { lesson: text(), at: integer(1, 1) };

/** The address of a step, with the settings that it begins with. */
export function addressOfStep(lesson: string, at: number, settings: string): string {
  const query = new URLSearchParams(settings);
  query.set("lesson", lesson);
  if (at > 1) query.set("at", String(at));
  return `#/train?${query}`;
}
