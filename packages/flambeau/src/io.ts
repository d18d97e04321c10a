/** Files: weights and checkpoints as safetensors, from and to bytes, `File`s, `Blob`s and URLs. */

import type { Module } from "./nn/module.js";
import type { Optimizer } from "./optim.js";
import { adopt } from "./maker.js";
import type { Tensor } from "./tensor.js";
import { arrived, loadPart, wasm } from "./wasm.js";

/** Where bytes come from. */
export type Source = Uint8Array | ArrayBuffer | Blob | string | URL;

/** What is asked of a download. */
export interface FetchOptions {
  /** The most bytes to take; 1 GiB unless told. */
  limit?: number;
  /** Told the bytes so far and, where the server says, of how many. */
  onProgress?: (loaded: number, total: number | undefined) => void;
  /** The SHA-256 that the bytes must have, in hexadecimal digits. */
  sha256?: string;
  signal?: AbortSignal;
}

const GIGABYTE = 2 ** 30;

/** The bytes of a source. */
export async function bytes(source: Source, options: FetchOptions = {}): Promise<Uint8Array> {
  const { limit = GIGABYTE, sha256 } = options;
  const read =
    source instanceof Uint8Array
      ? source
      : source instanceof ArrayBuffer
        ? new Uint8Array(source)
        : source instanceof Blob
          ? await ofBlob(source, limit)
          : await download(source, limit, options);
  if (read.byteLength > limit) throw new RangeError(`flambeau: ${read.byteLength} bytes are more than the limit, ${limit}`);
  if (sha256 !== undefined) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", read as Uint8Array<ArrayBuffer>));
    const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (found !== sha256.toLowerCase()) {
      throw new Error(`flambeau: the SHA-256 is ${found}, not ${sha256}: the file is not the expected one`);
    }
  }
  return read;
}

async function ofBlob(blob: Blob, limit: number): Promise<Uint8Array> {
  if (blob.size > limit) throw new RangeError(`flambeau: a file of ${blob.size} bytes is more than the limit, ${limit}`);
  return new Uint8Array(await blob.arrayBuffer());
}

async function download(url: string | URL, limit: number, { onProgress, signal }: FetchOptions): Promise<Uint8Array> {
  const response = await fetch(url, signal === undefined ? {} : { signal });
  if (!response.ok || response.body === null) throw new Error(`flambeau: ${String(url)}: HTTP ${response.status}`);
  const length = response.headers.get("content-length");
  const total = length === null ? undefined : Number(length);
  const parts: Uint8Array[] = [];
  let loaded = 0;
  const reader = response.body.getReader();
  for (let { done, value } = await reader.read(); !done && value !== undefined; { done, value } = await reader.read()) {
    parts.push(value);
    loaded += value.byteLength;
    if (loaded > limit) {
      await reader.cancel();
      throw new RangeError(`flambeau: ${String(url)} is more than the limit, ${limit} bytes`);
    }
    onProgress?.(loaded, total);
  }
  const all = new Uint8Array(loaded);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.byteLength;
  }
  return all;
}

function handles(tensors: Record<string, Tensor>): Uint32Array {
  return Uint32Array.from(Object.values(tensors), (tensor) => tensor.handle);
}

function named(read: { names: string[]; handles: Uint32Array; free(): void }): Record<string, Tensor> {
  const numbers = read.handles;
  const tensors = Object.fromEntries(read.names.map((name, index) => [name, adopt(numbers[index] ?? 0)]));
  read.free();
  return tensors;
}

/** Named tensors as a safetensors file. */
export async function writeSafetensors(
  tensors: Record<string, Tensor>,
  metadata: Record<string, string> = {},
): Promise<Uint8Array> {
  await loadPart("later");
  return arrived(wasm().safetensors_write(Object.keys(tensors), handles(tensors), JSON.stringify(metadata)));
}

/** The tensors of a safetensors file. */
export async function readSafetensors(source: Source, options: FetchOptions = {}): Promise<Record<string, Tensor>> {
  const read = await bytes(source, options);
  await loadPart("later");
  return named(wasm().safetensors_read(read));
}

/** A checkpoint: model, optimizer, and values of one's own (anything JSON can hold). */
export async function writeCheckpoint(
  model: Module,
  optimizer?: Optimizer,
  values: Record<string, unknown> = {},
): Promise<Uint8Array> {
  await loadPart("later");
  const state = model.stateDict();
  return arrived(wasm().checkpoint_write(Object.keys(state), handles(state), optimizer?.number ?? 0, JSON.stringify(values)));
}

/** Takes a checkpoint up; returns the values that were saved with it. */
export async function readCheckpoint(source: Source, model: Module, optimizer?: Optimizer): Promise<Record<string, unknown>> {
  const from = await bytes(source);
  await loadPart("later");
  const read = wasm().checkpoint_read(from, optimizer?.number ?? 0);
  const values = JSON.parse(read.text) as Record<string, unknown>;
  model.loadStateDict(named(read));
  return values;
}
