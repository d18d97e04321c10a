/** A picture from elsewhere as ink on the sheet. */

/** A rectangle of whole pixels. */
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Where a picture lies on a square sheet: as large as fits, in the middle. Whole pixels, as a canvas is read by them. */
export function fitted(width: number, height: number, side: number): Box {
  const scale = side / Math.max(width, height);
  const [across, down] = [width, height].map((length) => Math.max(Math.round(length * scale), 1)) as [number, number];
  return { left: Math.floor((side - across) / 2), top: Math.floor((side - down) / 2), width: across, height: down };
}

/** What differs from the picture's upper and lower edge, darker or brighter, as ink on a sheet of `side` × `side`. */
export function inkOf(picture: ImageBitmap, side: number): Float32Array {
  const context = new OffscreenCanvas(side, side).getContext("2d", { willReadFrequently: true });
  if (context === null) throw new Error("this browser has no canvas to read pictures with");
  const { left, top, width, height } = fitted(picture.width, picture.height, side);
  context.fillStyle = "white";
  context.fillRect(0, 0, side, side);
  context.drawImage(picture, left, top, width, height);
  const { data } = context.getImageData(left, top, width, height);
  const bright = (x: number, y: number) => {
    const place = 4 * (y * width + x);
    return (0.299 * (data[place] ?? 0) + 0.587 * (data[place + 1] ?? 0) + 0.114 * (data[place + 2] ?? 0)) / 255;
  };
  let edge = 0;
  for (let x = 0; x < width; x += 1) edge += (bright(x, 0) + bright(x, height - 1)) / (2 * width);
  const ink = new Float32Array(side * side);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const difference = edge > 0.5 ? edge - bright(x, y) : bright(x, y) - edge;
      ink[(y + top) * side + x + left] = Math.min(Math.max((difference - 0.1) * 1.4, 0), 1);
    }
  }
  return ink;
}
