// Tabs of a browser, apart from each other, train together over WebRTC; some are closed meanwhile, and others come.
import { openTabs } from "./browsers.mjs";
import { built } from "./bundle.mjs";
import { openRooms } from "./rooms.mjs";

/** Rounds of the two tests, and what chance is made of in the second. */
const ROUNDS = 24;
const LONG_ROUNDS = 200;
const SEED = 20;
/** The last rounds, in which nobody comes or is killed. */
const CALM = 30;
/** What a hostile tab sends meanwhile. */
const HOSTILE = 10_000;

/** Waits until something holds, and says what did not. */
async function until(what, minutes, holds) {
  const end = Date.now() + minutes * 60_000;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`not within ${minutes} minutes: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Opens tabs in a room, which all make so many rounds; what breaks in one is in `failed`. */
async function openRoom(address, rounds, say) {
  const server = await openRooms(built);
  const browser = await openTabs();
  const room = `test-${Date.now()}`;
  const failed = [];
  const tabs = [];
  return {
    failed,
    tabs,
    check: (holds, what) => {
      if (!holds) failed.push(what);
    },
    async open(seed) {
      const tab = { seed, rounds: [], news: [], told: [], page: await browser.newTab() };
      tab.page.on("console", (message) => {
        const [, what, json] = /^@(\w+) (.*)$/s.exec(message.text()) ?? [];
        if (what === undefined) {
          if (message.type() === "error") failed.push(`tab ${seed}: ${message.text()}`);
          return say(`tab ${seed}: ${message.text()}`);
        }
        const value = JSON.parse(json);
        if (what === "round") tab.rounds.push(value);
        else if (what === "news") tab.news.push(value);
        else if (what === "told") tab.told.push(value);
        else tab[what] = value;
      });
      tab.page.on("pageerror", (error) => failed.push(`tab ${seed} broke: ${error.stack ?? error}`));
      const asked = new URLSearchParams({ rooms: server.address, room, seed: String(seed), rounds: String(rounds) });
      // Half of them train in workers, by links that their pages lend.
      if (seed % 2 === 0) asked.set("worker", "1");
      await tab.page.goto(`${address}peers?${asked}`);
      tabs.push(tab);
      return tab;
    },
    /** A tab that means harm; what it has done when it is through. */
    async attack(messages) {
      const page = await browser.newTab();
      page.on("pageerror", (error) => failed.push(`the hostile tab broke: ${error.stack ?? error}`));
      const asked = new URLSearchParams({ rooms: server.address, room, seed: String(SEED), messages: String(messages) });
      const through = new Promise((done) => {
        page.on("console", (message) => {
          const [, json] = /^@hostile (.*)$/s.exec(message.text()) ?? [];
          if (json !== undefined) done(JSON.parse(json));
        });
      });
      await page.goto(`${address}hostile?${asked}`);
      return through;
    },
    /** Nothing has gone wrong so far. */
    isFine() {
      const bad = tabs.find((tab) => tab.failed !== undefined);
      if (bad !== undefined) throw new Error(`tab ${bad.seed}: ${bad.failed}`);
      if (failed.length > 0) throw new Error(failed.join("\n"));
      return true;
    },
    /** After each round all have the same model; nobody misses one, and together they have made all. */
    checkRounds() {
      const models = new Map();
      for (const { seed, rounds: made } of tabs) {
        for (const { rounds: round, model } of made) {
          const known = models.get(round) ?? model;
          models.set(round, known);
          this.check(JSON.stringify(known) === JSON.stringify(model), `tab ${seed} has another model after round ${round}`);
        }
        const numbers = made.map(({ rounds: round }) => round);
        const isWhole = numbers.every((round, k) => k === 0 || round === numbers[k - 1] + 1);
        this.check(isWhole, `tab ${seed} has lost a round: ${numbers}`);
      }
      this.check(models.size === rounds, `rounds were lost: ${[...models.keys()]}`);
    },
    async close() {
      await browser.close();
      server.close();
    },
  };
}

/** Four tabs, of which one is closed and another one comes late; what failed. `address` serves the page. */
export async function trainTogether(address, minutes, say) {
  const room = await openRoom(address, ROUNDS, say);
  const { check, failed } = room;
  try {
    const tabs = await Promise.all([1, 2, 3, 4].map(room.open));
    const isRoundOf = (members, of) => room.isFine() && of.every((tab) => tab.rounds.at(-1)?.members === members);
    await until("four tabs make a round together", minutes, () => isRoundOf(4, tabs));
    const [first, gone, ...others] = tabs;
    await gone.page.close();
    const stayed = [first, ...others];
    await until("the others go on without it", minutes, () => isRoundOf(3, stayed));
    const late = await room.open(5);
    const there = [...stayed, late];
    await until("all come to the end", minutes, () => room.isFine() && there.every((tab) => tab.end !== undefined));

    room.checkRounds();
    // Who comes later begins with what the others have learned.
    const begin = Math.max(...tabs.map(({ rounds }) => rounds[0].loss));
    check(late.start.rounds > 0, "the late tab begins with the group's rounds");
    for (const { seed, news, told, rounds, end } of stayed) {
      const knows = (what, who) => news.some(({ happening, peer }) => happening === what && peer === who.start.own);
      check(knows("left", gone), `tab ${seed} does not know who left`);
      check(knows("came", late), `tab ${seed} does not know who came`);
      check(!news.some(({ happening }) => happening === "refused"), `tab ${seed} has refused somebody: ${JSON.stringify(news)}`);
      const hasHeard = told.some(({ peer, text }) => peer === late.start.own && text === "seed 5");
      check(hasHeard, `tab ${seed} has not heard what the late one told`);
      const last = rounds.at(-1).loss;
      check(last < 0.3 * begin, `tab ${seed}: the loss is ${last} after ${begin}`);
      check(end.sent > 0 && end.received > 0, `tab ${seed} has sent ${end.sent} bytes and got ${end.received}`);
    }
    say(
      `${ROUNDS} rounds of four tabs; one left, one came after round ${late.start.rounds}; ${first.end.sent} bytes sent by the first`,
    );
  } finally {
    await room.close();
  }
  return failed;
}

/** Numbers from 0 to 1 that look like chance (mulberry32), the same for a seed. */
function chance(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Ends a tab: by closing it, which it can tell the others, or as when its process breaks. */
async function kill(tab, isClosed) {
  tab.isKilled = true;
  if (isClosed) return tab.page.close();
  const session = await tab.page.context().newCDPSession(tab.page);
  // The answer would come from the process that ends.
  session.send("Page.crash").catch(() => undefined);
  await new Promise((done) => tab.page.once("crash", done));
}

/**
 * Two hundred rounds of about four tabs, which are killed and opened by chance while another one sends them nonsense: no round is lost, nobody
 * waits for ever, and all have the same model.
 */
export async function trainLong(address, minutes, say) {
  const room = await openRoom(address, LONG_ROUNDS, say);
  const next = chance(SEED);
  let seed = 0;
  let killed = 0;
  const start = performance.now();
  const there = () => room.tabs.filter((tab) => !tab.isKilled);
  const latest = () => Math.max(0, ...there().map((tab) => tab.rounds.at(-1)?.rounds ?? 0));
  const open = () => {
    seed += 1;
    return room.open(seed);
  };
  try {
    await Promise.all([open(), open(), open(), open()]);
    let attacked = { sent: 0 };
    void room.attack(HOSTILE).then((what) => {
      attacked = what;
    });
    for (;;) {
      const goal = Math.min(latest() + 2 + Math.floor(6 * next()), LONG_ROUNDS);
      await until(`round ${goal} of ${LONG_ROUNDS}`, minutes, () => room.isFine() && latest() >= goal);
      if (goal === LONG_ROUNDS) break;
      // Who comes when all have done their rounds and left would begin anew.
      if (goal > LONG_ROUNDS - CALM) continue;
      const members = there().filter((tab) => tab.start !== undefined);
      // Between two and six tabs; the group never loses all who know its model.
      if (members.length > 2 && (there().length >= 6 || next() < 0.5)) {
        const tab = members[Math.floor(next() * members.length)];
        const isClosed = next() < 0.5;
        killed += 1;
        await kill(tab, isClosed);
        say(`round ${goal}: tab ${tab.seed} ${isClosed ? "is closed" : "breaks"}, ${there().length} are left`);
      } else if (there().length < 6) {
        const { seed } = await open();
        say(`round ${goal}: tab ${seed} comes, ${there().length} are there`);
      }
    }
    await until("all come to the end", minutes, () => room.isFine() && there().every((tab) => tab.end !== undefined));
    room.checkRounds();
    const losses = there().map((tab) => tab.rounds.at(-1)?.loss ?? 0);
    const begun = Math.max(...room.tabs.slice(0, 4).map((tab) => tab.rounds[0]?.loss ?? 0));
    const mean = (of) => of.reduce((sum, each) => sum + each, 0) / of.length;
    room.check(mean(losses) < 0.05 * begun, `the mean loss is ${mean(losses)} after ${begun}`);
    const honest = new Set(room.tabs.map(({ start }) => start?.own));
    const refused = room.tabs.flatMap(({ news }) => news.filter(({ happening }) => happening === "refused"));
    const wronged = refused.filter(({ peer }) => honest.has(peer));
    room.check(wronged.length === 0, `somebody honest was refused: ${JSON.stringify(wronged)}`);
    const strangers = refused.filter(({ peer }) => !honest.has(peer)).length;
    room.check(attacked.sent >= HOSTILE, `the hostile tab has sent ${attacked.sent} messages`);
    room.check(strangers > 0, "the hostile tab was not refused once");
    say(`${attacked.sent} hostile messages; members refused strangers ${strangers} times`);
    say(
      `${LONG_ROUNDS} rounds; ${seed} tabs opened, ${killed} closed or broken, in ${((performance.now() - start) / 1000).toFixed(0)} s; the mean loss fell from ${begun.toFixed(4)} to ${mean(losses).toExponential(1)}`,
    );
  } finally {
    await room.close();
  }
  return room.failed;
}
