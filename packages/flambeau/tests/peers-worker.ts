/** The worker of a tab that trains together with others (`peers.ts`). */

import { type Say, train } from "./together.js";

const say: Say = (what, value) => postMessage([what, value]);

self.onmessage = ({ data: { asked, port } }: MessageEvent<{ asked: string; port: MessagePort }>) => {
  train(new URLSearchParams(asked), say, port).catch((error: unknown) =>
    say("failed", error instanceof Error ? error.message : String(error)),
  );
};
