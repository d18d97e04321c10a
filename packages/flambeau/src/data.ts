/** Data: readers of files and pictures, data sets, and the loader that makes batches. */

import { currentDevice } from "./device.js";
import { bytes, type FetchOptions, type Source } from "./io.js";
import { Generator } from "./random.js";
import { tensor, Tensor, view } from "./tensor.js";
import { dtypes, type DType, type TypedArray } from "./types.js";
import { wasm } from "./wasm.js";

/** An array in the host's memory: what data sets are made of before they go to the device. */
export interface HostArray {
  data: TypedArray;
  shape: readonly number[];
  dtype: DType;
}

function host(read: { bytes: Uint8Array; shape: Uint32Array; dtype: number; free(): void }): HostArray {
  const dtype = dtypes[read.dtype] ?? "u8";
  const array: HostArray = { data: view(read.bytes, dtype), shape: Array.from(read.shape), dtype };
  read.free();
  return array;
}

/** A host array as a tensor. */
export function toTensor({ data, shape, dtype }: HostArray): Tensor {
  return tensor(data, { shape, dtype });
}

/** What a gzipped file holds; other bytes as they are. */
async function unpacked(file: Uint8Array): Promise<Uint8Array> {
  if (file[0] !== 0x1f || file[1] !== 0x8b || typeof DecompressionStream === "undefined") return file;
  const stream = new Blob([file as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream("gzip"));
  try {
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch (error) {
    throw new Error("flambeau: the gzipped file is damaged or cut off", { cause: error });
  }
}

/** An idx file (MNIST's format), plain or gzipped. */
export async function readIdx(source: Source, options: FetchOptions = {}): Promise<HostArray> {
  return host(wasm().idx_read(await unpacked(await bytes(source, options))));
}

/** A table. */
export interface Table {
  names: string[];
  length: number;
  /** The text of a column. */
  text(name: string): string[];
  /** Columns of numbers, as (rows, columns). */
  numbers(...names: string[]): HostArray;
  /** A column of words as class numbers, with the words. */
  classes(name: string): { labels: HostArray; names: string[] };
}

/** A CSV file. */
export async function readCsv(
  source: Source,
  options: FetchOptions & { delimiter?: string; header?: boolean } = {},
): Promise<Table> {
  const { delimiter = ",", header = true } = options;
  const { CsvTable } = wasm();
  const table = new CsvTable(await bytes(source, options), delimiter.charCodeAt(0), header);
  return {
    names: table.names,
    length: table.length,
    text: (name) => table.text(name),
    numbers: (...names) => host(table.numbers(names)),
    classes: (name) => ({ labels: host(table.classes(name)), names: table.class_names(name) }),
  };
}

/** What a picture can be. */
export type Picture = ImageData | ImageBitmap | HTMLCanvasElement | OffscreenCanvas | HTMLImageElement | Blob;

/** A picture as (channels, height, width) in 0 … 1: 3 channels, or 1 for grey. */
export async function fromPicture(
  picture: Picture,
  options: { channels?: 1 | 3; width?: number; height?: number } = {},
): Promise<Tensor> {
  const { channels = 3 } = options;
  const { data, width, height } = await pixels(picture, options.width, options.height);
  const area = width * height;
  const values = new Float32Array(channels * area);
  for (let place = 0; place < area; place += 1) {
    const [red = 0, green = 0, blue = 0] = data.subarray(place * 4, place * 4 + 3);
    if (channels === 1) {
      values[place] = (0.299 * red + 0.587 * green + 0.114 * blue) / 255;
    } else {
      values[place] = red / 255;
      values[place + area] = green / 255;
      values[place + 2 * area] = blue / 255;
    }
  }
  return tensor(values, { shape: [channels, height, width] });
}

async function pixels(picture: Picture, width?: number, height?: number): Promise<ImageData> {
  if (
    picture instanceof ImageData &&
    (width ?? picture.width) === picture.width &&
    (height ?? picture.height) === picture.height
  ) {
    return picture;
  }
  const source = picture instanceof Blob || picture instanceof ImageData ? await createImageBitmap(picture) : picture;
  const [across, down] = [width ?? source.width, height ?? source.height];
  const context = new OffscreenCanvas(across, down).getContext("2d", { willReadFrequently: true });
  if (context === null) throw new Error("flambeau: there is no 2D canvas to read the picture with");
  context.drawImage(source, 0, 0, across, down);
  return context.getImageData(0, 0, across, down);
}

/** (1 or 3, height, width) in 0 … 1, as a picture for a canvas. */
export async function toPicture(tensor: Tensor): Promise<ImageData> {
  const [channels = 1, height = 1, width = 1] = tensor.shape;
  const values = (await tensor.data()) as Float32Array;
  const area = width * height;
  const picture = new ImageData(width, height);
  for (let place = 0; place < area; place += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      picture.data[place * 4 + channel] = 255 * (values[(channels === 1 ? 0 : channel * area) + place] ?? 0);
    }
    picture.data[place * 4 + 3] = 255;
  }
  return picture;
}

/** How batches are made. */
export interface LoaderOptions {
  batchSize?: number;
  /** Shuffles anew for each epoch, from this seed. */
  shuffle?: number;
  /** Leaves out the last batch when it is smaller. */
  dropLast?: boolean;
}

/** Whole rows of an array in the host's memory. */
function rowsOf({ data, shape, dtype }: HostArray, positions: Uint32Array): Tensor {
  const width = shape.slice(1).reduce((product, size) => product * size, 1);
  const picked = data.slice(0, 0).constructor as new (length: number) => TypedArray;
  const rows = new picked(positions.length * width);
  positions.forEach((position, place) => {
    // Both are of the same kind, which the type of a union cannot say.
    (rows as Uint8Array).set((data as Uint8Array).subarray(position * width, (position + 1) * width), place * width);
  });
  return tensor(rows, { shape: [positions.length, ...shape.slice(1)], dtype });
}

/**
 * Makes batches of arrays whose first dimensions are equal. Tensors are on the device already, and rows of them are picked
 * there; rows of arrays in the host's memory are sent batch by batch. A batch ends with the next one unless it is kept.
 *
 * ```ts
 * const loader = new DataLoader([pictures, labels], { batchSize: 32, shuffle: 1 });
 * for await (const [x, y] of loader) { … }
 * ```
 */
export class DataLoader implements AsyncIterable<Tensor[]> {
  readonly #parts: readonly (Tensor | HostArray)[];
  readonly #count: number;
  readonly batchSize: number;
  readonly dropLast: boolean;
  readonly #generator: Generator | undefined;
  #epoch = 0;
  #position = 0;
  /** The generator's counter at the start of the present epoch. */
  #counter = 0;

  constructor(parts: readonly (Tensor | HostArray)[], { batchSize = 32, shuffle, dropLast = false }: LoaderOptions = {}) {
    const sizes = new Set(parts.map((part) => part.shape[0]));
    if (parts.length === 0 || sizes.size !== 1) {
      throw new RangeError(`flambeau: the parts must have one first dimension, not ${[...sizes].join(", ")}`);
    }
    for (const part of parts) if (part instanceof Tensor) part.keep();
    this.#parts = parts;
    this.#count = parts[0]?.shape[0] ?? 0;
    this.batchSize = batchSize;
    this.dropLast = dropLast;
    this.#generator = shuffle === undefined ? undefined : new Generator(shuffle);
  }

  /** Batches in an epoch. */
  get length(): number {
    const round = this.dropLast ? Math.floor : Math.ceil;
    return round(this.#count / this.batchSize);
  }

  /** Items in an epoch. */
  get items(): number {
    return this.dropLast ? this.length * this.batchSize : this.#count;
  }

  /** Epochs so far. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Where it is, to go on later: epoch, batch, and how far the generator has come. */
  state(): { epoch: number; position: number; counter: number } {
    // Between epochs it is the next one's order that is still to be drawn.
    const counter = this.#position === 0 ? (this.#generator?.counter ?? 0) : this.#counter;
    return { epoch: this.#epoch, position: this.#position, counter };
  }

  /** Goes on from a state. */
  load(state: { epoch: number; position: number; counter: number }): void {
    this.#epoch = state.epoch;
    this.#position = state.position;
    if (this.#generator !== undefined) this.#generator.counter = state.counter;
  }

  /** The batches of one epoch, or of what is left of it. Awaits the device, so that it is never flooded. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Tensor[], void, void> {
    this.#counter = this.#generator?.counter ?? 0;
    const order = this.#generator?.permutation(this.#count);
    let batch: Tensor[] = [];
    try {
      while (this.#position < this.length) {
        await currentDevice().throttle();
        for (const tensor of batch) tensor.dispose();
        batch = this.#rows(this.#position * this.batchSize, order);
        this.#position += 1;
        yield batch;
      }
      this.#position = 0;
      this.#epoch += 1;
    } finally {
      for (const tensor of batch) tensor.dispose();
    }
  }

  #rows(start: number, order: Uint32Array | undefined): Tensor[] {
    const count = Math.min(this.batchSize, this.#count - start);
    const positions = order?.subarray(start, start + count) ?? Uint32Array.from({ length: count }, (_, place) => start + place);
    let picked: Tensor | undefined;
    const rows = this.#parts.map((part) => {
      if (!(part instanceof Tensor)) return rowsOf(part, positions);
      if (order === undefined) return part.narrow(0, start, count);
      picked ??= tensor(Int32Array.from(positions));
      return part.indexSelect(0, picked);
    });
    picked?.dispose();
    return rows;
  }
}
