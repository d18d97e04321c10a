/** The languages that a run can be shown in. */

import { javascriptProgram } from "./javascript.js";
import { pythonProgram } from "./python.js";
import { rustProgram } from "./rust.js";
import type { CodeSource } from "./source.js";

export type { CodeSource } from "./source.js";

export type Language = "javascript" | "rust" | "python";

/** A program, and what it is saved as. */
export interface Program {
  file: string;
  text: string;
  /** How near it comes to the run. */
  promise: string;
}

export const LANGUAGES: readonly (readonly [Language, string])[] = [
  ["javascript", "JavaScript"],
  ["rust", "Rust"],
  ["python", "PyTorch"],
];

const ROUNDING =
  "First weights, order of batches and all other chance are those of the run. Sums are rounded in another order there, so losses differ in their last digits, and after thousands of steps in more of them.";

/** Names stand in comments, which end with their line. */
const inOneLine = (words: string) => words.replace(/\s+/g, " ");

/** The program of a run in a language. */
export function programOf(language: Language, given: CodeSource): Program {
  const source = { ...given, name: inOneLine(given.name), begunWith: given.begunWith && inOneLine(given.begunWith) };
  switch (language) {
    case "javascript":
      return {
        file: "run.mjs",
        text: javascriptProgram(source),
        promise:
          source.device === "cpu"
            ? "In Node it gives the losses of this run bit for bit."
            : `${ROUNDING} (In Node on the CPU it gives the losses of a run on the CPU bit for bit.)`,
      };
    case "rust":
      return { file: "main.rs", text: rustProgram(source), promise: ROUNDING };
    case "python":
      return { file: "run.py", text: pythonProgram(source), promise: ROUNDING };
  }
}
