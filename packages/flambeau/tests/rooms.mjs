// The server of rooms, as `flambeau serve` has it: built by cargo when it is not there yet.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Serves a folder and rooms on localhost. */
export async function openRooms(folder) {
  const what = ["-p", "flambeau-page", "--no-default-features", "--features", "rooms", "--example", "rooms"];
  const server = spawn("cargo", ["run", "--quiet", ...what, "--", folder], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    // Cargo and the server end together.
    detached: true,
  });
  const address = await new Promise((done, fail) => {
    server.stdout.setEncoding("utf8").once("data", (line) => done(line.trim()));
    server.once("close", () => fail(new Error("the server of rooms did not start")));
  });
  return { address, close: () => process.kill(-server.pid) };
}
