/** The settings of a room, which all its members have alike, and those of this tab. Only the former are in the room's link. */

import { choice, integer, number, type Param, type Schema, text } from "../../app/url.js";
import type { ModelName } from "../../work/layers.js";

/** What the members of a room agree on. */
export interface RoomSettings {
  /** The room's name; whoever knows it can enter. Empty where none was made yet. */
  room: string;
  set: "mnist" | "fashion";
  model: Exclude<ModelName, "resnet">;
  lr: number;
  batch: number;
  /** Steps of each member between two rounds. */
  inner: number;
}

/** With whom a tab trains. */
export type Way = "room" | "flower";

/** What a tab brings along. */
export interface OwnSettings {
  way: Way;
  /** What the others call this tab. */
  name: string;
  /** The classes that it has pictures of. */
  classes: readonly number[];
  /** Pictures that it trains on, at most. */
  items: number;
}

/** The most letters of a name. */
export const MOST_LETTERS = 24;

/** Some of the ten classes: their digits in a row. */
const someClasses: Param<readonly number[]> = {
  initial: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  read: (said) => (/^\d{1,10}$/.test(said) ? [...new Set([...said].map(Number))].sort((a, b) => a - b) : undefined),
  write: (classes) => classes.join(""),
};

/** A room's name, as its server takes it. */
const roomName: Param<string> = {
  initial: "",
  read: (said) => (/^[\w-]{1,64}$/.test(said) ? said : undefined),
  write: (name) => name,
};

export const roomSchema: Schema<RoomSettings> = {
  room: roomName,
  set: choice(["mnist", "fashion"], "mnist"),
  model: choice(["mlp", "cnn"], "mlp"),
  lr: number(0.001, 1e-6, 1),
  batch: integer(32, 1, 1024),
  inner: integer(20, 1, 1000),
};

export const ownSchema: Schema<OwnSettings> = {
  way: choice(["room", "flower"], "room"),
  name: text(),
  classes: someClasses,
  items: integer(2000, 1, 60_000),
};
