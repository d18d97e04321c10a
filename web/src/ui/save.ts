/** Files for the reader. */

/** A name that every file system takes. */
export const fileName = (name: string, ending: string) =>
  `${name.replace(/[^\p{L}\p{N}.]+/gu, "-").replace(/^-|-$/g, "") || "run"}.${ending}`;

/** Hands a file to the reader. */
export function saveFile(name: string, content: BlobPart, type = "application/octet-stream"): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
