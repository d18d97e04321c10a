/** A trained model for the page: load it, and ask it about pictures. */

import { MODELS, readLayers, type ItemShape } from "./layers.js";
import type { PredictReport, PredictTask } from "./predict.worker.js";
import { readHead } from "./safetensors.js";

/** What a model file says of its model. */
export interface ModelAbout {
  layers: string;
  shape: ItemShape;
  classes: string[];
}

/** What the file's metadata say; a file of another maker is taken for the first of our models that has its names. */
export function aboutModel(weights: Uint8Array): ModelAbout {
  const { metadata, tensors } = readHead(weights);
  const { layers, shape, classes } = metadata;
  if (layers !== undefined && shape !== undefined && classes !== undefined && readLayers(layers) !== undefined) {
    return { layers, shape: JSON.parse(shape) as number[], classes: JSON.parse(classes) as string[] };
  }
  const first = tensors.find(({ name }) => name.endsWith("weight"));
  const known = first?.shape.length === 4 ? MODELS.cnn : MODELS.mlp;
  return { layers: known, shape: [1, 28, 28], classes: Array.from({ length: 10 }, (_, digit) => String(digit)) };
}

type Waiting = { resolve: (report: PredictReport) => void; reject: (error: Error) => void };

export class Predictor {
  readonly #worker = new Worker(new URL("./predict.worker.ts", import.meta.url), { type: "module", name: "reading pictures" });
  readonly #waiting = new Map<number, Waiting>();
  #count = 0;

  constructor() {
    this.#worker.onmessage = ({ data: report }: MessageEvent<PredictReport>) => {
      const waiting = this.#waiting.get(report.id);
      this.#waiting.delete(report.id);
      if (report.type === "failed") waiting?.reject(new Error(report.message));
      else waiting?.resolve(report);
    };
    this.#worker.onerror = ({ message }) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(message));
      this.#waiting.clear();
    };
  }

  #ask(make: (id: number) => PredictTask): Promise<PredictReport> {
    this.#count += 1;
    const id = this.#count;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage(make(id));
    });
  }

  /** Takes a model up. */
  async load(weights: Uint8Array): Promise<ModelAbout> {
    const about = aboutModel(weights);
    await this.#ask((id) => ({ type: "load", id, weights, layers: about.layers, shape: about.shape }));
    return about;
  }

  /** The probabilities of the classes for one picture. */
  async read(pixels: Float32Array): Promise<Float32Array> {
    const report = await this.#ask((id) => ({ type: "read", id, pixels }));
    return report.type === "read" ? report.probabilities : new Float32Array();
  }

  end(): void {
    this.#worker.terminate();
  }
}
