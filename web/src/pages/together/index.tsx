/** The page Together: several tabs train one model, each on pictures of its own, without a server that sees any of it. */

import { roomName } from "flambeau/peers";
import { useMemo } from "react";
import { useDevice } from "../../app/device.js";
import { Misread } from "../../app/Misread.js";
import { useSettings } from "../../app/route.js";
import { Button, Fields, Notice, PageHead, Panel, Progress, useFields } from "../../ui/index.js";
import { INCLUDED, isIncluded } from "../../work/included.js";
import { useChanges } from "../../work/store.js";
import { Invitation } from "./Invitation.js";
import { Accuracy, Losses, MembersTable, Sent } from "./Members.js";
import { session } from "./session.js";
import { ownSchema, roomSchema } from "./settings.js";
import { OwnPanel, RoomPanel } from "./Setup.js";
import { plainName } from "./tellings.js";
import "./together.css";

const schema = { ...roomSchema, ...ownSchema };

export default function TogetherPage() {
  const [settings, change] = useSettings(schema);
  const { used } = useDevice();
  const fields = useFields();
  useChanges(session.changes);
  const { record, error, isOn } = session;
  const { set } = settings;
  const { title } = INCLUDED[set];
  const problem =
    fields.problem ?? (isIncluded(set) ? undefined : `${title} is not on this server: the room cannot be entered here`);
  // The tab draws other pictures than its neighbours.
  const seed = useMemo(() => crypto.getRandomValues(new Uint32Array(1))[0] ?? 0, []);

  const enter = () => {
    if (!isIncluded(set)) return;
    const room = settings.room === "" ? roomName() : settings.room;
    change({ room });
    void session.enter({
      device: used,
      server: document.baseURI,
      source: { kind: "included", name: set, folder: new URL(INCLUDED[set].folder, document.baseURI).href },
      settings: { ...settings, room },
      own: { ...settings, name: plainName(settings.name) },
      seed,
    });
  };
  const invited = settings.room !== "";

  return (
    <>
      <PageHead title="Together">
        Several tabs train one model, each on pictures that stay with it. They meet in a room, talk directly to each other, and
        bring their models together every few steps. Who leaves or comes does not stop the others.
      </PageHead>
      <Misread schema={schema} />
      {error !== undefined && (
        <Notice kind="error" title="The room had to be left">
          <p>{error}</p>
        </Notice>
      )}
      <div className="together">
        <div className="together-side">
          {isOn ? (
            <>
              <Invitation settings={settings} />
              {record !== undefined && <Sent record={record} settings={settings} />}
            </>
          ) : (
            <Fields tell={fields.tell}>
              <RoomPanel settings={settings} change={change} />
              <OwnPanel settings={settings} own={settings} change={change} />
            </Fields>
          )}
        </div>
        <div className="together-main">
          <Panel>
            <div className="buttons">
              {isOn ? (
                <Button onClick={() => session.leave()}>Leave the room</Button>
              ) : (
                <Button kind="primary" resting={problem !== undefined} onClick={enter}>
                  {invited ? "Join the room" : "Make a room"}
                </Button>
              )}
              {!isOn && (
                <span className="panel-note">
                  {problem ?? "Only what is said on this page leaves the tab, to those in the room."}
                </span>
              )}
            </div>
            {record?.loading !== undefined && <Progress label={record.loading.label} part={record.loading.part} />}
          </Panel>
          {record !== undefined && record.rounds.length > 0 && (
            <>
              <Accuracy record={record} />
              <Losses record={record} />
            </>
          )}
          {record !== undefined && record.members.length > 0 && <MembersTable record={record} />}
          {!isOn && record !== undefined && record.rounds.length > 0 && <Sent record={record} settings={settings} />}
        </div>
      </div>
    </>
  );
}
