/** A trained model for the page: load it, and ask it about pictures. */

import { WorkerClient } from "flambeau/worker";
import { MODELS, readLayers, type ItemShape } from "./layers.js";
import type { PredictQuestions } from "./messages.js";
import { readHead } from "./safetensors.js";

/** What a model file says of its model. */
export interface ModelAbout {
  layers: string;
  shape: ItemShape;
  classes: string[];
}

/** The list that a text says, if it says one. */
function listOf(text = ""): unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}

/** What the file's metadata say; a file of another maker is taken for the first of our models that has its names. */
export function aboutModel(weights: Uint8Array): ModelAbout {
  const { metadata, tensors } = readHead(weights);
  const { layers = "?" } = metadata;
  const [shape, classes] = [listOf(metadata["shape"]), listOf(metadata["classes"])];
  if (shape !== undefined && classes !== undefined && readLayers(layers) !== undefined) {
    return { layers, shape: shape as number[], classes: classes as string[] };
  }
  const first = tensors.find(({ name }) => name.endsWith("weight"));
  const known = first?.shape.length === 4 ? MODELS.cnn : MODELS.mlp;
  return { layers: known, shape: [1, 28, 28], classes: Array.from({ length: 10 }, (_, digit) => String(digit)) };
}

export class Predictor {
  readonly #worker = new WorkerClient<PredictQuestions>(
    new Worker(new URL("./predict.worker.ts", import.meta.url), { type: "module", name: "reading pictures" }),
  );

  /** Takes a model up. */
  async load(weights: Uint8Array): Promise<ModelAbout> {
    const about = aboutModel(weights);
    await this.#worker.ask("load", { weights, layers: about.layers, shape: about.shape });
    return about;
  }

  /** The probabilities of the classes for one picture. */
  read(pixels: Float32Array): Promise<Float32Array> {
    return this.#worker.ask("read", pixels);
  }

  end(): void {
    this.#worker.end();
  }
}
