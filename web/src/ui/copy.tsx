/** Links to the clipboard, or where there is none (browsers give it to secure pages only) shown to be copied by hand. */

import { useCallback, useEffect, useRef, useState } from "react";
import { Field } from "./controls.js";

/** What became of a link. */
export interface Copied {
  link: string;
  /** Is it on the clipboard? */
  done: boolean;
}

/** Copies links, and says what became of the last one. */
export function useCopy(): { copied: Copied | undefined; copy: (link: string) => Promise<void>; forget: () => void } {
  const [copied, setCopied] = useState<Copied>();
  const copy = useCallback(async (link: string) => {
    // Pages over plain http have no clipboard, whatever the types say.
    const { clipboard } = navigator as { clipboard?: Clipboard };
    const written = clipboard?.writeText(link).then(
      () => true,
      () => false,
    );
    setCopied({ link, done: (await written) ?? false });
  }, []);
  const forget = useCallback(() => setCopied(undefined), []);
  return { copied, copy, forget };
}

/** A link that is not on the clipboard, selected to be copied. */
export function LinkToCopy({ copied }: { copied: Copied }) {
  const input = useRef<HTMLInputElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a link that is asked for again is selected again.
  useEffect(() => {
    input.current?.focus();
    input.current?.select();
  }, [copied]);
  return (
    <Field label="The link" hint="This browser gives the page no clipboard. The link is selected: copy it with Ctrl+C or ⌘C.">
      {(id) => (
        <input
          ref={input}
          id={id}
          className="input"
          readOnly
          value={copied.link}
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
      )}
    </Field>
  );
}
