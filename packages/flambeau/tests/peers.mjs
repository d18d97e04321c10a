// Four tabs of a browser, apart from each other, train together over WebRTC; one is closed meanwhile, and another one comes.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { openTabs } from "./browsers.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const ROUNDS = 24;

/** The server of rooms, as `flambeau serve` has it. */
async function openRooms() {
  const what = ["-p", "flambeau-page", "--no-default-features", "--features", "rooms", "--example", "rooms"];
  const server = spawn("cargo", ["run", "--quiet", ...what, "--", fileURLToPath(new URL(".build", import.meta.url))], {
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

/** Waits until something holds, and says what did not. */
async function until(what, minutes, holds) {
  const end = Date.now() + minutes * 60_000;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`not within ${minutes} minutes: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Runs the test; what failed. `address` serves the page. */
export async function trainTogether(address, minutes, say) {
  const rooms = await openRooms();
  const browser = await openTabs();
  const failed = [];
  const check = (holds, what) => {
    if (!holds) failed.push(what);
  };
  try {
    const room = `test-${Date.now()}`;
    const open = async (seed) => {
      const tab = { seed, rounds: [], news: [], page: await browser.newTab() };
      tab.page.on("console", (message) => {
        const [, what, json] = /^@(\w+) (.*)$/s.exec(message.text()) ?? [];
        if (what === undefined) return say(`tab ${seed}: ${message.text()}`);
        const value = JSON.parse(json);
        if (what === "round") tab.rounds.push(value);
        else if (what === "news") tab.news.push(value);
        else tab[what] = value;
      });
      tab.page.on("pageerror", (error) => failed.push(`tab ${seed} broke: ${error.stack ?? error}`));
      const asked = new URLSearchParams({ rooms: rooms.address, room, seed: String(seed), rounds: String(ROUNDS) });
      await tab.page.goto(`${address}peers?${asked}`);
      return tab;
    };
    const isFine = (tabs) => {
      const bad = tabs.find((tab) => tab.failed !== undefined);
      if (bad !== undefined) throw new Error(`tab ${bad.seed}: ${bad.failed}`);
      return failed.length === 0;
    };
    const tabs = await Promise.all([1, 2, 3, 4].map(open));
    await until(
      "four tabs make a round together",
      minutes,
      () => isFine(tabs) && tabs.every((tab) => tab.rounds.at(-1)?.members === 4),
    );
    const gone = tabs[1];
    await gone.page.close();
    await until(
      "the others go on without it",
      minutes,
      () => isFine(tabs) && [0, 2, 3].every((k) => tabs[k].rounds.at(-1)?.members === 3),
    );
    const late = await open(5);
    const there = [tabs[0], tabs[2], tabs[3], late];
    await until("all come to the end", minutes, () => isFine(there) && there.every((tab) => tab.end !== undefined));

    const models = new Map();
    for (const { seed, rounds } of [...tabs, late]) {
      for (const { rounds: round, model } of rounds) {
        const known = models.get(round) ?? model;
        models.set(round, known);
        check(JSON.stringify(known) === JSON.stringify(model), `tab ${seed} has another model after round ${round}`);
      }
      const numbers = rounds.map(({ rounds: round }) => round);
      check(
        numbers.every((round, k) => k === 0 || round === numbers[k - 1] + 1),
        `tab ${seed} has lost a round: ${numbers}`,
      );
    }
    check([...models.keys()].length === ROUNDS, `rounds were lost: ${[...models.keys()]}`);
    check(late.start.rounds > 0, "the late tab begins with the group's rounds");
    for (const tab of [tabs[0], tabs[2], tabs[3]]) {
      check(
        tab.news.some(({ happening, peer }) => happening === "left" && peer === gone.start.own),
        `tab ${tab.seed} does not know who left`,
      );
      check(
        tab.news.some(({ happening, peer }) => happening === "came" && peer === late.start.own),
        `tab ${tab.seed} does not know who came`,
      );
      check(
        !tab.news.some(({ happening }) => happening === "refused"),
        `tab ${tab.seed} has refused somebody: ${JSON.stringify(tab.news)}`,
      );
      check(
        tab.rounds.at(-1).loss < 0.3 * tab.rounds[0].loss,
        `tab ${tab.seed}: the loss is ${tab.rounds.at(-1).loss} after ${tab.rounds[0].loss}`,
      );
      check(
        tab.end.sent > 0 && tab.end.received > 0,
        `tab ${tab.seed} has sent ${tab.end.sent} bytes and got ${tab.end.received}`,
      );
    }
    say(
      `${ROUNDS} rounds of four tabs; one left, one came after round ${late.start.rounds}; ${tabs[0].end.sent} bytes sent by the first`,
    );
  } finally {
    await browser.close();
    rooms.close();
  }
  return failed;
}
