/** Training with the other tabs of a room. */

import { roomName } from "flambeau/peers";
import { useChanges } from "../../../work/store.js";
import type { WayProps } from "../index.js";
import { Layout } from "../Layout.js";
import { OwnPanel, RoomPanel } from "../Setup.js";
import { Invitation } from "./Invitation.js";
import { Accuracy, Losses, MembersTable, Sent } from "./Members.js";
import { room } from "./room.js";
import { plainName } from "./tellings.js";

export function Room({ settings, change, beginning }: WayProps) {
  const { session } = room;
  useChanges(session.changes);
  const { record, isOn } = session;
  const begin = () => {
    const { source, device, seed } = beginning;
    if (source === undefined) return;
    const name = settings.room === "" ? roomName() : settings.room;
    change({ room: name });
    const own = { ...settings, name: plainName(settings.name) };
    void room.enter({ device, server: document.baseURI, source, settings: { ...settings, room: name }, own, seed });
  };
  const words = {
    failed: "The room had to be left",
    begin: settings.room === "" ? "Make a room" : "Join the room",
    leave: "Leave the room",
    promise: "Only what is said on this page leaves the tab, to those in the room.",
  };
  const sent = record !== undefined && <Sent record={record} settings={settings} />;
  const side = isOn ? (
    <>
      <Invitation settings={settings} />
      {sent}
    </>
  ) : (
    <>
      <RoomPanel settings={settings} change={change} />
      <OwnPanel settings={settings} change={change} isNamed />
    </>
  );
  return (
    <Layout session={session} words={words} problem={beginning.problem} begin={begin} side={side}>
      {record !== undefined && record.rounds.length > 0 && (
        <>
          <Accuracy record={record} />
          <Losses record={record} />
        </>
      )}
      {record !== undefined && record.members.length > 0 && <MembersTable record={record} />}
      {!isOn && sent}
    </Layout>
  );
}
