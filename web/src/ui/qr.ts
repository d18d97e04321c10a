/** A text as a QR code. */

import qrcode from "qrcode-generator";

/** The code's dark squares as the path of a picture, and the picture's side, with the quiet edge that readers need. */
export interface QrCode {
  path: string;
  side: number;
}

const EDGE = 4;

/** The smallest code that holds the text; undefined if none does. */
export function qrCode(text: string): QrCode | undefined {
  const code = qrcode(0, "M");
  try {
    code.addData(text);
    code.make();
  } catch {
    return undefined;
  }
  const count = code.getModuleCount();
  let path = "";
  for (let row = 0; row < count; row += 1) {
    for (let start = 0; start < count; start += 1) {
      if (!code.isDark(row, start)) continue;
      // Neighbours in a row are one piece: seams between squares show when the picture is scaled.
      let end = start;
      while (end < count && code.isDark(row, end)) end += 1;
      path += `M${start + EDGE} ${row + EDGE}h${end - start}v1h${start - end}z`;
      start = end;
    }
  }
  return { path, side: count + 2 * EDGE };
}
