/** What the page Together and the worker of a room say to each other. */

import type { DeviceInfo } from "flambeau";
import type { Used } from "../../../app/device.js";
import type { DataSource } from "../../../work/messages.js";
import type { PartQuestions } from "../session.js";
import type { OwnSettings, RoomSettings } from "../settings.js";
import type { Introduction, Telling } from "./tellings.js";

/** What the worker is to do. */
export interface Order {
  device: Used;
  /** The app's own address: its server has the rooms. */
  server: string;
  /** The page's links: workers have no WebRTC. */
  links: MessagePort;
  source: DataSource;
  settings: RoomSettings;
  own: OwnSettings;
  /** Which pictures this tab draws. */
  seed: number;
}

/** A round that was made. */
export interface Round {
  round: number;
  /** The mean loss of this tab's steps before it. */
  loss: number;
  /** The share of the test pictures that this tab's model read right before the round, and the common one after it. */
  alone: number;
  together: number;
  /** The members, the oldest first. */
  members: string[];
  /** Bytes to and from other tabs so far. */
  sent: number;
  received: number;
}

/** What the worker tells. */
export type RoomNote =
  | { kind: "loading"; label: string; part: number | undefined }
  | { kind: "entered"; own: string; info: DeviceInfo; parameters: number; tested: number; introduction: Introduction }
  /** This tab is in the group, whose model is now its own. */
  | { kind: "joined"; round: number; members: string[] }
  | { kind: "round"; made: Round }
  | { kind: "happened"; happening: "came" | "left" | "refused"; peer: string; why: string }
  | { kind: "told"; peer: string; telling: Telling }
  /** The others have gone on without this tab: it asks to be let in again. */
  | { kind: "behind"; why: string };

export type RoomQuestions = PartQuestions<Order>;
