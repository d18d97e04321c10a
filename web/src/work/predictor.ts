/** A trained model for the page: load it, and ask it about pictures or rows. */

import { WorkerClient } from "flambeau/worker";
import { aboutModel, type ModelAbout } from "./about.js";
import type { PredictQuestions } from "./messages.js";

export class Predictor {
  readonly #worker = new WorkerClient<PredictQuestions>(
    new Worker(new URL("./predict.worker.ts", import.meta.url), { type: "module", name: "reading" }),
  );

  /** Takes a model up. */
  async load(weights: Uint8Array): Promise<ModelAbout> {
    const about = aboutModel(weights);
    const { layers, shape, number } = about;
    await this.#worker.ask("load", { weights, layers, shape, isNumber: number !== undefined });
    return about;
  }

  /** The probabilities of the classes for one item, or the number as the network gives it. */
  read(item: Float32Array): Promise<Float32Array> {
    return this.#worker.ask("read", item);
  }

  end(): void {
    this.#worker.end();
  }
}
