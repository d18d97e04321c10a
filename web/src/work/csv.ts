/** Tables as text: rows of cells, those with commas, quotes or line ends in them quoted. */

const cell = (value: string | number) =>
  /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);

export const writeCsv = (rows: readonly (readonly (string | number)[])[]) =>
  `${rows.map((row) => row.map(cell).join(",")).join("\n")}\n`;
