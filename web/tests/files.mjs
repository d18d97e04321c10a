// Files of one's own, as tests choose them.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A text file. */
export const text = (name, lines) => ({ name, mimeType: "text/csv", buffer: Buffer.from(lines.join("\n")) });

/** A picture of 8 × 8 pixels in one colour, as BMP. */
export function bmp(red, green, blue) {
  const file = Buffer.alloc(54 + 192);
  file.write("BM");
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(54, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(8, 18);
  file.writeInt32LE(8, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(24, 28);
  for (let place = 0; place < 64; place += 1) file.set([blue, green, red], 54 + 3 * place);
  return file;
}

/** A folder with bright and dark pictures, for as long as `body` takes. */
export async function withFolder(body) {
  const folder = mkdtempSync(join(tmpdir(), "flambeau-"));
  try {
    for (const [name, light] of [
      ["bright", 200],
      ["dark", 0],
    ]) {
      mkdirSync(join(folder, name));
      for (let each = 0; each < 15; each += 1)
        writeFileSync(join(folder, name, `${each}.bmp`), bmp(light + each, light + each + 1, light + each + 2));
    }
    return await body(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Prices of things by their width and height. */
export const PRICES = [
  "width,height,price",
  ...Array.from({ length: 140 }, (_, row) => [row % 10, row % 7]).map(([width, height]) =>
    [width, height, 30 * width + 20 * height + 5].join(),
  ),
];
