/** The worker that reads one's own data: idx files, a CSV table, a folder of pictures. */

import { data, init } from "flambeau";
import { answerQuestions } from "flambeau/worker";
import { counted } from "../ui/write.js";
import type { DataSet, ReadNote, ReadQuestions } from "./messages.js";
import { divide, type IdxFile, idxSet, picturesOf, tableSet, toPlanes } from "./reading.js";

async function readIdx(file: File): Promise<IdxFile> {
  const read = await data.readIdx(file).catch((error: unknown) => {
    throw new Error(`${file.name} is no idx file: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (!(read.data instanceof Uint8Array)) throw new Error(`${file.name} holds ${read.dtype} values; bytes are expected`);
  return { name: file.name, values: read.data, shape: read.shape };
}

async function readFolder(files: File[], size: number, channels: 1 | 3): Promise<DataSet> {
  const { pictures, classes, labels } = picturesOf(files);
  const each = channels * size * size;
  const items = new Uint8Array(pictures.length * each);
  const context = new OffscreenCanvas(size, size).getContext("2d", { willReadFrequently: true });
  if (context === null) throw new Error("this browser has no canvas to read pictures with");
  for (const [index, file] of pictures.entries()) {
    const picture = await createImageBitmap(file).catch(() => {
      throw new Error(`${file.name} cannot be read as a picture`);
    });
    context.clearRect(0, 0, size, size);
    context.drawImage(picture, 0, 0, size, size);
    picture.close();
    toPlanes(context.getImageData(0, 0, size, size).data, channels, items.subarray(index * each, (index + 1) * each));
    if (index % 16 === 0) tell({ label: `Reading ${counted(pictures.length, "picture")}`, part: index / pictures.length });
  }
  return { name: "Pictures", shape: [channels, size, size], classes, ...divide({ items, labels }, each) };
}

const tell: (note: ReadNote) => void = answerQuestions<ReadQuestions, ReadNote>({
  async idx({ files, names }) {
    await init({ device: "cpu" });
    const read: IdxFile[] = [];
    for (const file of files) read.push(await readIdx(file));
    return idxSet(read, names);
  },
  async csv(file) {
    await init({ device: "cpu" });
    return tableSet(file.name, await data.readCsv(file));
  },
  folder: ({ files, size, channels }) => readFolder(files, size, channels),
});
