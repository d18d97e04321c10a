/** Links to runs: copied, with what the link promises beside it. */

import { useState } from "react";
import { useDevice } from "../../app/device.js";
import { LinkToCopy, useCopy } from "../../ui/index.js";
import { promiseOf, settingsHash, whatIsMissing } from "../../work/link.js";
import { reachedBy } from "../../work/reached.js";
import type { Run } from "../../work/runs.js";
import type { TrainSettings } from "../../work/settings.js";

/** Shares a run, or the settings of the panels where there is none. The address and the page stay as they are. */
export function useShare() {
  const { wanted } = useDevice();
  const { copied, copy } = useCopy();
  const [sentences, setSentences] = useState<readonly string[]>([]);
  const send = (hash: string, said: readonly string[]) => {
    setSentences(said);
    void copy(location.href.replace(/#.*$/, "") + hash);
  };
  return {
    copied,
    sentences,
    shareRun: (run: Run) => send(settingsHash(run.settings, run.device, { reached: reachedBy(run) }), promiseOf(run).sentences),
    shareSettings: (settings: TrainSettings, seeds: number) =>
      send(settingsHash(settings, wanted === "best" ? undefined : wanted, { seeds }), [
        "It opens this page with these settings.",
        ...whatIsMissing(settings),
      ]),
  };
}

/** What became of the link. */
export function Shared({ copied, sentences }: Pick<ReturnType<typeof useShare>, "copied" | "sentences">) {
  if (copied === undefined) return null;
  return (
    <>
      <p className="panel-note" role="status">
        {copied.done && "The link is on the clipboard. "}
        {sentences.join(" ")}
      </p>
      {!copied.done && <LinkToCopy copied={copied} />}
    </>
  );
}
