/** The shared components. */

export * from "./controls.js";
export * from "./show.js";
export * from "./wrong.js";
export * from "./copy.js";
export { LineChart, type Mark, type Series, type View } from "./LineChart.js";
export { colourOf, type Palette } from "./colour.js";
export { PixelCanvas } from "./PixelCanvas.js";
export { FileDrop } from "./FileDrop.js";
export { useWidth } from "./useWidth.js";
export { fileName, saveFile } from "./save.js";
export * as write from "./write.js";
