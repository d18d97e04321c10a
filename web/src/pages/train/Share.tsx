/** Links to runs: copied, with what the link promises beside it, and as a QR code. */

import { useState } from "react";
import { Loaded } from "../../app/Loaded.js";
import { useDevice } from "../../app/device.js";
import { Button, LinkToCopy, useCopy } from "../../ui/index.js";
import { promiseOf, settingsHash, whatIsMissing } from "../../work/link.js";
import { reachedBy } from "../../work/reached.js";
import type { Run } from "../../work/runs.js";
import type { TrainSettings } from "../../work/settings.js";

const loadQrCode = () => import("../../ui/QrCode.js");

/** Shares a run, or the settings of the panels where there is none. The address and the page stay as they are. */
export function useShare() {
  const { wanted } = useDevice();
  const { copied, copy, forget } = useCopy();
  const [sentences, setSentences] = useState<readonly string[]>([]);
  const send = (hash: string, said: readonly string[]) => {
    setSentences(said);
    void copy(location.href.replace(/#.*$/, "") + hash);
  };
  return {
    copied,
    sentences,
    forget,
    shareRun: (run: Run) => send(settingsHash(run.settings, run.device, { reached: reachedBy(run) }), promiseOf(run).sentences),
    shareSettings: (settings: TrainSettings, seeds: number) =>
      send(settingsHash(settings, wanted === "best" ? undefined : wanted, { seeds }), [
        "It opens this page with these settings.",
        ...whatIsMissing(settings),
      ]),
  };
}

/** What became of the link. */
export function Shared({ copied, sentences, forget }: Pick<ReturnType<typeof useShare>, "copied" | "sentences" | "forget">) {
  if (copied === undefined) return null;
  return (
    <div className="shared">
      <div className="qr-place">
        <Loaded name="QR code" load={loadQrCode} props={{ link: copied.link }} />
      </div>
      <div className="stack">
        <p className="panel-note" role="status">
          {copied.done && "The link is on the clipboard. "}
          {sentences.join(" ")}
        </p>
        {!copied.done && <LinkToCopy copied={copied} />}
        <div>
          <Button small onClick={forget}>
            Hide the link
          </Button>
        </div>
      </div>
    </div>
  );
}
