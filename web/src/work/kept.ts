/** Files of data sets, kept in the browser once they have been read: the next run needs no network. */

import { io } from "flambeau";

const CACHE = "flambeau-data";

/** The cache of the data; none on plain http, in some private windows, and where the browser keeps nothing. */
async function openCache(): Promise<Cache | undefined> {
  if (typeof caches === "undefined") return undefined;
  return caches.open(CACHE).catch(() => undefined);
}

/**
 * Fetches a file and reads it, or reads what was kept of it. It is kept only after `read` has made something of it; what was
 * kept and cannot be read is fetched again.
 */
export async function readKept<T>(
  address: string,
  read: (bytes: Uint8Array) => Promise<T>,
  onProgress: (loaded: number) => void,
): Promise<T> {
  const cache = await openCache();
  const kept = await cache?.match(address, { ignoreVary: true });
  if (kept !== undefined) {
    try {
      const bytes = new Uint8Array(await kept.arrayBuffer());
      const made = await read(bytes);
      onProgress(bytes.length);
      return made;
    } catch {
      await cache?.delete(address);
    }
  }
  const bytes = await io.bytes(address, { onProgress });
  const made = await read(bytes);
  // The run does not wait for it, and goes on where there is no room.
  void cache?.put(address, new Response(bytes as Uint8Array<ArrayBuffer>)).catch(() => undefined);
  return made;
}
