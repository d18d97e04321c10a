// Together: tabs with other digits each train one model, which reads all of them; who leaves does not stop the others. The server is the one
// of `flambeau serve`, the links are WebRTC's.
import { fileURLToPath } from "node:url";
import { openRooms } from "../../packages/flambeau/tests/rooms.mjs";
import { assert } from "./context.mjs";
import { figure } from "./training.mjs";

const dist = fileURLToPath(new URL("../dist", import.meta.url));

/** Opens the page at a server; from now on its tab keeps what is said of each round. */
async function visit({ page, until }, address, query) {
  await page.goto(`${address}#/together?device=cpu&${query}`);
  await until(() => document.querySelector("main h1")?.textContent === "Together", undefined, "the page Together");
  await page.evaluate(() => {
    const said = new Set();
    globalThis.said = said;
    const look = () => {
      for (const note of document.querySelectorAll(".panel-head")) {
        const found = /^The common model\s*(\S+ %) after (\S+) rounds?$/.exec(note.textContent);
        if (found) said.add(`${found[2]}: ${found[1]}`);
      }
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
}

/** The common model's accuracy by round, as the page has shown it. */
const shown = async ({ page }) =>
  new Map(
    (await page.evaluate(() => [...globalThis.said])).map((line) => line.split(": ")).map(([round, part]) => [round, part]),
  );

const roundsOf = async (tab) => Math.max(0, ...[...(await shown(tab)).keys()].map(Number));

export const tests = [
  {
    name: "two tabs with five digits each train one model that reads all ten; one leaves, and the other goes on",
    launch: { rooms: true },
    seconds: 240,
    async run(context) {
      const server = await openRooms(dist);
      try {
        await visit(context, server.address, "name=Ada&classes=01234&items=1000&inner=20");
        await context.accessible();
        await context.press("Make a room");
        await context.sees("Ask others in");
        const room = await context.page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).get("room"));
        assert(/^[0-9a-f]{32}$/.test(room), `the room's name is ${room}`);

        const other = await context.freshProfile();
        await visit(other, server.address, `room=${room}&name=Ben&classes=56789&items=1000&inner=20`);
        await other.press("Join the room");
        for (const tab of [context, other]) await tab.sees("2 members now");
        await context.sees("Ben");
        await other.sees("Ada");
        // A tab that has seen five of ten digits alone reads about half of them right.
        await context.until(
          () => [...globalThis.said].some((line) => Number.parseFloat(line.split(": ")[1]) > 75),
          undefined,
          "the common model reads more than 75 % right",
          120,
        );
        await context.picture("together");
        const [here, there] = [await shown(context), await shown(other)];
        const both = [...there].filter(([round]) => here.has(round));
        assert(both.length >= 3, `rounds that both have shown: ${both.length}`);
        for (const [round, part] of both)
          assert(here.get(round) === part, `round ${round}: ${here.get(round)} here, ${part} there`);
        assert(/[1-9].* [KM]?B/.test(await figure(context, "Sent")), "nothing was sent");
        await context.accessible();

        await other.press("Leave the room");
        await context.sees("1 member now");
        const left = await roundsOf(context);
        await context.until(
          (left) => [...globalThis.said].some((line) => Number(line.split(":")[0]) > left + 2),
          left,
          "more rounds",
        );
        // It goes on while one looks at another page.
        await context.press("Playground");
        await context.press("Together");
        await context.press("Leave the room");
        await context.sees("Join the room");
      } finally {
        server.close();
      }
    },
  },
  {
    name: "where the server has no rooms, the page says what has them",
    async run(context) {
      await context.open("together?device=cpu&items=10");
      await context.press("Make a room");
      await context.sees("is `flambeau serve` running");
      const isSocket = (error) => /WebSocket/.test(error);
      assert(context.errors.every(isSocket), `the console shows ${context.errors}`);
      context.errors.length = 0;
    },
  },
];
