/** Where checkpoints are kept: the origin's private file system, or IndexedDB where there is none. */

/** A place for named bytes. */
export interface Store {
  /** Saves under a name, whole or not at all. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** What was saved under a name, if anything was. */
  read(name: string): Promise<Uint8Array | undefined>;
  /** Forgets a name. */
  remove(name: string): Promise<void>;
}

const FOLDER = "flambeau";

async function privateFiles(): Promise<Store> {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle(FOLDER, { create: true });
  return {
    async write(name, bytes) {
      const file = await folder.getFileHandle(name, { create: true });
      // The file changes when the stream is closed, all at once.
      const stream = await file.createWritable();
      await stream.write(bytes as Uint8Array<ArrayBuffer>);
      await stream.close();
    },
    async read(name) {
      try {
        const file = await (await folder.getFileHandle(name)).getFile();
        // An empty file is what a first write leaves that was cut off: nothing has been saved yet.
        return file.size === 0 ? undefined : new Uint8Array(await file.arrayBuffer());
      } catch (error) {
        if (error instanceof DOMException && error.name === "NotFoundError") return undefined;
        throw error;
      }
    },
    async remove(name) {
      await folder.removeEntry(name).catch(() => undefined);
    },
  };
}

async function database(): Promise<Store> {
  const done = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error("IndexedDB failed"));
    });
  const opening = indexedDB.open(FOLDER, 1);
  opening.onupgradeneeded = () => void opening.result.createObjectStore("files");
  const opened = await done(opening);
  const files = (mode: IDBTransactionMode) => opened.transaction("files", mode).objectStore("files");
  return {
    write: async (name, bytes) => void (await done(files("readwrite").put(bytes, name))),
    read: async (name) => await done(files("readonly").get(name) as IDBRequest<Uint8Array | undefined>),
    remove: async (name) => void (await done(files("readwrite").delete(name))),
  };
}

/** The best place there is. */
export async function openStore(): Promise<Store> {
  const hasFiles =
    "storage" in navigator &&
    "getDirectory" in navigator.storage &&
    typeof FileSystemFileHandle !== "undefined" &&
    "createWritable" in FileSystemFileHandle.prototype;
  return hasFiles ? privateFiles() : database();
}

/** The checkpoints of one run: two files, written in turn, so that one is always whole. */
export class Checkpoints {
  #next = 0;

  constructor(
    readonly store: Store,
    readonly name: string,
  ) {}

  #file(which: number): string {
    return `${this.name}.${which}.safetensors`;
  }

  /** Saves one. */
  async save(bytes: Uint8Array): Promise<void> {
    await this.store.write(this.#file(this.#next), bytes);
    await this.store.write(`${this.name}.latest`, Uint8Array.of(this.#next));
    this.#next = 1 - this.#next;
  }

  /** The latest, then the one before it. */
  async *latest(): AsyncGenerator<Uint8Array, void, void> {
    const [which] = (await this.store.read(`${this.name}.latest`)) ?? [];
    if (which === undefined) return;
    this.#next = 1 - which;
    for (const each of [which, 1 - which]) {
      const bytes = await this.store.read(this.#file(each));
      if (bytes !== undefined) yield bytes;
    }
  }

  /** Forgets them. */
  async clear(): Promise<void> {
    for (const name of [`${this.name}.latest`, this.#file(0), this.#file(1)]) await this.store.remove(name);
  }
}
