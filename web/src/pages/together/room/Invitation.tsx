/** The room's link, for those who are to come. */

import { Loaded } from "../../../app/Loaded.js";
import { shareLink } from "../../../app/route.js";
import { Button, LinkToCopy, Panel, useCopy } from "../../../ui/index.js";
import { roomSchema, type RoomSettings } from "../settings.js";

const loadQrCode = () => import("../../../ui/QrCode.js");

export function Invitation({ settings }: { settings: RoomSettings }) {
  const { copied, copy } = useCopy();
  const link = shareLink("together", roomSchema, settings);
  return (
    <Panel title="Ask others in" note="whoever has the link can enter">
      <div className="shared">
        <div className="qr-place">
          <Loaded name="QR code" load={loadQrCode} props={{ link }} />
        </div>
        <div className="stack">
          <p className="panel-note">
            Open it in other tabs, browsers or machines that reach this server. Browsers on other machines need a server that
            listens for them: <code>flambeau serve --listen 0.0.0.0</code>.
          </p>
          <div>
            <Button kind="primary" onClick={() => void copy(link)}>
              Copy the link
            </Button>
          </div>
          {copied?.done === true && (
            <p className="panel-note" role="status">
              The link is on the clipboard.
            </p>
          )}
          {copied?.done === false && <LinkToCopy copied={copied} />}
        </div>
      </div>
    </Panel>
  );
}
