/** What the attacked page and its worker are told, and what they say. */

/** A run: how large, how long, how often saved. */
export interface Settings {
  steps: number;
  saveEvery: number;
  /** The width of the network's hidden layers: most of what a checkpoint weighs. */
  width: number;
}

/** The parts of writing a file, in their order: each is said as it begins, and `closed` when it is over. */
export type Part = "opening" | "writing" | "closing" | "closed";

export type Event =
  /** Digests of the checkpoints that the page found, the latest first. */
  | { what: "kept"; kept: string[] }
  | { what: "device"; type: "cpu" | "gpu" }
  | { what: "step"; step: number; loss: number }
  /** The worker writes a file. */
  | { what: "file"; name: string; part: Part }
  /** The digest of what it writes after a step. */
  | { what: "written"; step: number; digest: string }
  | { what: "saved"; step: number }
  | { what: "recovered"; type: "cpu" | "gpu"; step: number; why: string }
  | { what: "restarted"; why: string }
  | { what: "done"; steps: number; kept: string[] }
  | { what: "failed"; why: string };

/** The SHA-256 of bytes, in hexadecimal digits. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Says an event to who drives the browser. */
export const say = (event: Event) => console.log(`@${JSON.stringify(event)}`);
