/** The page Together: several tabs train one model, each on pictures of its own, in a room of their own or for a Flower server. */

import { useMemo } from "react";
import { type Used, useDevice } from "../../app/device.js";
import { Misread } from "../../app/Misread.js";
import { useSettings } from "../../app/route.js";
import { Fields, PageHead, Segments, useFields } from "../../ui/index.js";
import { INCLUDED, isIncluded } from "../../work/included.js";
import type { DataSource } from "../../work/messages.js";
import { useChanges } from "../../work/store.js";
import { Flower } from "./flower/Flower.js";
import { flower } from "./flower/flower.js";
import { Room } from "./room/Room.js";
import { room } from "./room/room.js";
import { type OwnSettings, ownSchema, type RoomSettings, roomSchema, type Way } from "./settings.js";
import "./together.css";

type Settings = RoomSettings & OwnSettings;

/** With what one begins, or why one cannot. */
interface Beginning {
  problem: string | undefined;
  source: DataSource | undefined;
  device: Used;
  /** Which pictures this tab draws: others than its neighbours. */
  seed: number;
}

/** What both ways are given. */
export interface WayProps {
  settings: Settings;
  change: (change: Partial<Settings>) => void;
  beginning: Beginning;
}

const WAYS: readonly (readonly [Way, string])[] = [
  ["room", "In a room"],
  ["flower", "For a Flower server"],
];
const ABOUT: Record<Way, string> = {
  room: "They meet in a room, talk directly to each other, and bring their models together every few steps. Who leaves or comes does not stop the others.",
  flower: "A server sends its model to tabs and programs, and brings together what they make of it.",
};

const schema = { ...roomSchema, ...ownSchema };

export default function TogetherPage() {
  const [settings, change] = useSettings(schema);
  const { used: device } = useDevice();
  const fields = useFields();
  useChanges(room.session.changes);
  useChanges(flower.changes);
  const { set, way } = settings;
  const { title, folder } = INCLUDED[set];
  const source: DataSource | undefined = isIncluded(set)
    ? { kind: "included", name: set, folder: new URL(folder, document.baseURI).href }
    : undefined;
  const lacking = source === undefined ? `${title} is not on this server: nothing can be trained with it here` : undefined;
  const seed = useMemo(() => crypto.getRandomValues(new Uint32Array(1))[0] ?? 0, []);
  const parts = { settings, change, beginning: { problem: fields.problem ?? lacking, source, device, seed } };
  const isOn = room.session.isOn || flower.isOn;

  return (
    <>
      <PageHead title="Together">Several tabs train one model, each on pictures that stay with it. {ABOUT[way]}</PageHead>
      <Misread schema={schema} />
      <div className="together-way">
        <Segments label="With whom" value={way} options={WAYS} disabled={isOn} onChange={(way) => change({ way })} />
      </div>
      <Fields tell={fields.tell}>{way === "room" ? <Room {...parts} /> : <Flower {...parts} />}</Fields>
    </>
  );
}
