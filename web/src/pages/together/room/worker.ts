/** The worker of a room: enters a room, trains on a share of its own, and makes rounds with the others. */

import { DataLoader, init, manualSeed, type nn, optim, scope, type Tensor, tensor } from "flambeau";
import { diloco, join, type Room, type Together } from "flambeau/peers";
import { answerQuestions } from "flambeau/worker";
import { assess } from "../../../work/assess.js";
import { messageOf } from "../../../work/errors.js";
import { MODELS, readLayers } from "../../../work/layers.js";
import type { DataSet } from "../../../work/messages.js";
import { buildModel } from "../../../work/model.js";
import { outcomeOf } from "../../../work/objective.js";
import { hostArrays, openSet, toInput } from "../../../work/sets.js";
import type { Order, RoomNote, RoomQuestions } from "./messages.js";
import { shareOf } from "../share.js";
import { readTelling, writeTelling } from "./tellings.js";

/** Test pictures that the models are measured by. */
const TESTED = 1000;
/** The longest update that is taken: far above what honest steps bring about. */
const LARGEST_NORM = 20;
/** How often a tab asks in a row to be let in again. */
const MOST_ATTEMPTS = 3;

let room: Room | undefined;
let hasLeft = false;

function leave(): void {
  hasLeft = true;
  room?.leave();
}

/** Batches without end. */
async function* batchesOf(loader: DataLoader): AsyncGenerator<Tensor[], never, void> {
  for (;;) yield* loader;
}

/** Takes the steps before a round; their mean loss. */
async function takeSteps(
  steps: number,
  batches: AsyncGenerator<Tensor[], never, void>,
  model: nn.Sequential,
  optimizer: optim.Optimizer,
): Promise<number> {
  // The losses are added up on the device: reading each would make every step wait for it.
  let total = tensor(0).keep();
  for (let step = 0; step < steps && !hasLeft; step += 1) {
    const [items, y] = (await batches.next()).value;
    if (items === undefined || y === undefined) throw new Error("a batch is items and labels");
    const before = total;
    total = scope(() => {
      const { loss } = outcomeOf(model.forward(toInput(items)), y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return before.add(loss.detach()).keep();
    });
    before.dispose();
  }
  const sum = await total.item();
  total.dispose();
  return sum / steps;
}

/** Makes a round; a tab that the others have gone on without is let in again. */
async function meet(together: Together): Promise<void> {
  try {
    await together.round();
  } catch (error) {
    if (hasLeft) return;
    tell({ kind: "behind", why: messageOf(error) });
    for (let attempt = 1; ; attempt += 1) {
      try {
        await together.rejoin();
        return;
      } catch (again) {
        if (hasLeft) return;
        if (attempt === MOST_ATTEMPTS) throw again;
      }
    }
  }
}

async function train({ device, server, links, source, settings, own, seed }: Order): Promise<void> {
  tell({ kind: "loading", label: "Opening the device", part: undefined });
  const { info } = await init({ device });
  const set = await openSet(source, (note) => {
    if (note.kind === "loading") tell(note);
  });
  const size = set.shape.reduce((product, each) => product * each, 1);
  const share = shareOf(set.train, size, own.classes, own.items, seed);
  if (share.labels.length === 0) throw new Error("there are no pictures of the classes that were chosen");
  // Only this tab's share stays here, beside the test pictures.
  const kept: DataSet = { ...set, train: share };
  manualSeed(seed);
  const model = buildModel(readLayers(MODELS[settings.model]) ?? [], set.shape);
  const optimizer = optim.adam(model.parameters(), { lr: settings.lr });
  const batches = batchesOf(new DataLoader(hostArrays(share, set.shape), { batchSize: settings.batch, shuffle: seed }));

  tell({ kind: "loading", label: "Entering the room", part: undefined });
  const entered = await join(server, settings.room, { links });
  room = entered;
  if (hasLeft) return entered.leave();
  for (const happening of ["came", "left", "refused"] as const)
    entered.on(happening, (peer, why) => tell({ kind: "happened", happening, peer, why }));
  entered.on("told", (peer, text) => {
    const telling = readTelling(text);
    if (telling !== undefined) tell({ kind: "told", peer, telling });
  });
  const introduction = { name: own.name, classes: own.classes, items: share.labels.length };
  tell({ kind: "entered", own: entered.own, info, parameters: model.parameterCount(), tested: TESTED, introduction });
  tell({ kind: "loading", label: "Waiting to be let in, between two rounds", part: undefined });
  const together = await diloco(model.parameters(), entered, { innerSteps: settings.inner, largestNorm: LARGEST_NORM });
  tell({ kind: "joined", round: together.rounds, members: [...entered.members] });

  while (!hasLeft) {
    const loss = await takeSteps(together.innerSteps, batches, model, optimizer);
    if (hasLeft) return;
    const alone = await assess(model, kept, 0, "test", TESTED);
    await meet(together);
    if (hasLeft) return;
    const after = await assess(model, kept, 0, "test", TESTED);
    const { sent, received, members } = entered;
    const round = together.rounds;
    const made = { round, loss, alone: alone.accuracy, together: after.accuracy, members: [...members], sent, received };
    tell({ kind: "round", made });
    entered.tell(writeTelling({ ...introduction, round, loss, alone: alone.accuracy }));
  }
}

const tell: (note: RoomNote) => void = answerQuestions<RoomQuestions, RoomNote>({
  train: async (order) => {
    try {
      await train(order);
    } catch (error) {
      if (!hasLeft) throw error;
    } finally {
      leave();
    }
  },
  leave,
});
