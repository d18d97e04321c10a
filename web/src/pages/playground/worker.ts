/** The Playground's worker: trains as fast as it may, answers at once, and sends pictures at a bounded rate. */

import { init, type Device } from "flambeau";
import { hasClasses, type Config } from "./config.js";
import { answerQuestions } from "flambeau/worker";
import { messageOf } from "../../work/errors.js";
import type { DeviceChoice, PlaygroundNote, PlaygroundQuestions, Snapshot } from "./messages.js";
import { Session } from "./session.js";

/** At least so many milliseconds lie between two pictures. */
const PICTURE_EVERY = 40;
/** So many milliseconds of training at most go by before messages are let in. */
const SLICE = 8;

let device: { choice: DeviceChoice; opened: Device } | undefined;
let session: Session | undefined;
let config: Config | undefined;
let generation = 0;
let running = false;
let looping = false;
/** Is a picture on its way, and is it already old? */
let picturing = false;
let outdated = false;
let lastPicture = 0;
let pace = { since: 0, steps: 0, perSecond: 0 };

function failed(error: unknown): void {
  running = false;
  tell({ type: "state", running });
  tell({ type: "error", message: messageOf(error) });
}

/** Lets messages in. */
const { port1, port2 } = new MessageChannel();
const waiting: (() => void)[] = [];
port1.onmessage = () => waiting.shift()?.();
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    port2.postMessage(0);
  });
}
const sleep = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

async function open(choice: DeviceChoice): Promise<Device> {
  if (device?.choice === choice && device.opened.error === undefined) return device.opened;
  const opened = await init({ device: choice });
  device = { choice, opened };
  const { name, type, reason } = opened.info;
  tell({ type: "ready", name, kind: type, reason });
  return opened;
}

/** Lets go of the network, and of pictures of it that are on their way. */
function drop(): void {
  generation += 1;
  session?.dispose();
  session = undefined;
}

async function configure(next: Config, choice: DeviceChoice, reset: boolean): Promise<void> {
  const anew = reset || session === undefined || device?.choice !== choice;
  config = next;
  if (!hasClasses(next)) {
    // A network that can give one answer only is right at once and learns nothing: the page asks for points instead.
    drop();
    running = false;
    tell({ type: "state", running });
    return;
  }
  if (anew) {
    drop();
    const mine = generation;
    const opened = await open(choice);
    if (mine !== generation) return;
    session = new Session(config, opened);
    pace = { since: performance.now(), steps: 0, perSecond: 0 };
  } else {
    session?.change(next);
  }
  picture();
}

/** Asks for a picture; one at a time. */
function picture(): void {
  if (session === undefined) return;
  if (picturing) {
    outdated = true;
    return;
  }
  picturing = true;
  outdated = false;
  lastPicture = performance.now();
  const mine = generation;
  session
    .picture()
    .then((seen) => {
      if (mine !== generation) return;
      const snapshot: Snapshot = { ...seen, generation, stepsPerSecond: running ? pace.perSecond : 0 };
      const arrays = [snapshot.probabilities, ...snapshot.layers, ...snapshot.weights];
      tell(
        { type: "snapshot", snapshot },
        arrays.map(({ buffer }) => buffer as ArrayBuffer),
      );
    })
    .catch((error: unknown) => {
      if (mine === generation) failed(error);
    })
    .finally(() => {
      picturing = false;
      if (outdated && !running) picture();
    });
}

function step(): void {
  if (running || session === undefined) return;
  try {
    session.step();
    picture();
  } catch (error) {
    failed(error);
  }
}

/** Counts steps, and their speed over about half a second. */
function count(steps: number): void {
  pace.steps += steps;
  const passed = performance.now() - pace.since;
  if (passed < 500) return;
  pace = { since: performance.now(), steps: 0, perSecond: (1000 * pace.steps) / passed };
}

async function loop(): Promise<void> {
  if (looping) return;
  looping = true;
  let [from, done] = [performance.now(), 0];
  pace = { since: from, steps: 0, perSecond: 0 };
  try {
    while (running) {
      const now = session;
      if (now === undefined || config === undefined) {
        await sleep(5);
        continue;
      }
      const limit = config.speed;
      const start = performance.now();
      let taken = 0;
      do {
        if (limit > 0 && done + taken >= ((performance.now() - from) / 1000) * limit + 1) break;
        now.step();
        taken += 1;
        if (now.onGpu) {
          await now.device.throttle();
          break;
        }
      } while (performance.now() - start < SLICE);
      done += taken;
      if (limit === 0 || performance.now() - from > 1000) [from, done] = [performance.now(), 0];
      count(taken);
      if (!picturing && performance.now() - lastPicture >= PICTURE_EVERY) picture();
      await (taken === 0 ? sleep(Math.min(20, 1000 / Math.max(1, limit))) : breathe());
    }
  } catch (error) {
    failed(error);
  } finally {
    looping = false;
  }
  picture();
}

const tell: (note: PlaygroundNote, transfer?: Transferable[]) => void = answerQuestions<PlaygroundQuestions, PlaygroundNote>({
  configure: ({ config, device, reset }) => configure(config, device, reset).catch(failed),
  run: () => {
    running = true;
    tell({ type: "state", running });
    void loop();
  },
  pause: () => {
    running = false;
    tell({ type: "state", running });
  },
  step,
  export: () => session?.save(),
  import: async (bytes) => {
    await session?.load(bytes);
    picture();
  },
});
