/** What the tabs that train together do, in a page or in its worker. */

import { init, manualSeed, nn, optim, tensor } from "flambeau";
import { diloco, type Happening, join } from "flambeau/peers";

export type Say = (what: string, value: unknown) => void;

/** Trains, and says how it goes: "start", "round", "news", "told" and "end". */
export async function train(asked: URLSearchParams, say: Say, links?: MessagePort): Promise<void> {
  const seed = Number(asked.get("seed"));
  await init({ device: "cpu" });
  manualSeed(seed);
  const model = nn.sequential(nn.linear(3, 8), nn.tanh(), nn.linear(8, 1));
  // Points of this tab's own, of one function: y = x₀ − 2 x₁ + x₂ / 2.
  const points = Array.from({ length: 48 }, (_, k) => Math.sin(k * 12.9898 + seed * 78.233));
  const x = tensor(new Float32Array(points), { shape: [16, 3] }).keep();
  const at = (row: number, column: number) => points[3 * row + column] ?? 0;
  const values = Array.from({ length: 16 }, (_, row) => at(row, 0) - 2 * at(row, 1) + at(row, 2) / 2);
  const y = tensor(new Float32Array(values), { shape: [16, 1] }).keep();

  const room = await join(asked.get("rooms") ?? "", asked.get("room") ?? "", links === undefined ? {} : { links });
  room.on("told", (peer, text) => say("told", { peer, text }));
  for (const happening of ["came", "left", "refused"] satisfies Happening[]) {
    room.on(happening, (peer, why) => say("news", { happening, peer, why }));
  }
  const options = { innerSteps: 10, compression: "none", largestNorm: 100, outerMomentum: 0.5 } as const;
  const together = await diloco(model.parameters(), room, options);
  say("start", { own: room.own, rounds: together.rounds });
  const inner = optim.sgd(model.parameters(), { lr: 0.05 });
  while (together.rounds < Number(asked.get("rounds"))) {
    let loss = 0;
    for (let step = 0; step < together.innerSteps; step += 1) {
      const error = model.forward(x).mseLoss(y);
      error.backward();
      inner.step();
      inner.zeroGrad();
      loss = await error.item();
    }
    // So that members can come and go within the test.
    await new Promise((done) => setTimeout(done, 100));
    await together.round();
    room.tell(`seed ${seed}`);
    const parameters = await Promise.all(model.parameters().map((parameter) => parameter.value().array()));
    const { rounds } = together;
    say("round", {
      rounds,
      loss,
      members: room.members.length,
      model: parameters.flat(),
      sent: room.sent,
      received: room.received,
    });
  }
  say("end", { sent: room.sent, received: room.received });
  room.leave();
}
