// Runs programs that the app has shown, and reads what they print.
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A folder for programs and their data, from which `import "flambeau"` finds the package; git does not see it. */
export const folder = fileURLToPath(new URL("../node_modules/.shown/", import.meta.url));

/** Puts a file there; gives its path. */
export function keep(name, content) {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** What a program prints: the points of its curve, and what the test came to where it has one. */
export function readOutput(text) {
  const points = [...text.matchAll(/^step (\d+): loss (\S+), accuracy (\S+)$/gm)].map(([, step, loss, accuracy]) => ({
    step: Number(step),
    loss: Number(loss),
    accuracy: Number(accuracy),
  }));
  const [, loss, accuracy] = /^test: loss (\S+), accuracy (\S+)$/m.exec(text) ?? [];
  if (points.length === 0) throw new Error(`the program printed no curve:\n${text.slice(-2000)}`);
  return { points, test: { loss: Number(loss), accuracy: Number(accuracy) } };
}

/** Runs a program with these arguments. */
export async function output(command, ...args) {
  const { stdout } = await run(command, args, { maxBuffer: 1 << 24, cwd: folder }).catch((error) => {
    throw new Error(`${command} ${args.join(" ")}: ${error.stderr || error.message}`);
  });
  return readOutput(stdout);
}
