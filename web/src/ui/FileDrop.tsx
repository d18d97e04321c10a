/** Files by button or by drag-and-drop. */

import { useRef, useState, type ReactNode } from "react";
import { Button } from "./controls.js";

interface FileDropProps {
  /** The button's words. */
  label: string;
  accept?: string;
  multiple?: boolean;
  /** Lets one choose a folder instead of files. */
  folder?: boolean;
  onFiles: (files: File[]) => void;
  children?: ReactNode;
  disabled?: boolean;
}

export function FileDrop({ label, accept, multiple = false, folder = false, onFiles, children, disabled }: FileDropProps) {
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const take = (files: FileList | File[] | null) => {
    if (disabled !== true && files !== null && files.length > 0) onFiles([...files]);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a short cut; the button inside does the same.
    <div
      className={`drop ${over ? "over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (folder) void filesOf(event.dataTransfer).then(take);
        else take(event.dataTransfer.files);
      }}
    >
      <Button small disabled={disabled} onClick={() => input.current?.click()}>
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        className="visually-hidden"
        aria-label={label}
        tabIndex={-1}
        multiple={multiple || folder}
        disabled={disabled}
        {...(accept !== undefined && { accept })}
        {...(folder && { webkitdirectory: "" })}
        onChange={({ target }) => {
          take(target.files);
          target.value = "";
        }}
      />
      <span>{children ?? "or drop it here"}</span>
    </div>
  );
}

/** The files of what was dropped, folders with all they hold; their names are paths. */
async function filesOf(dropped: DataTransfer): Promise<File[]> {
  const entries = [...dropped.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return [...dropped.files];
  return (await Promise.all(entries.map((entry) => filesUnder(entry, "")))).flat();
}

async function filesUnder(entry: FileSystemEntry, folder: string): Promise<File[]> {
  const path = folder + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [new File([file], path, { type: file.type })];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: File[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return found;
    for (const each of some) found.push(...(await filesUnder(each, `${path}/`)));
  }
}
