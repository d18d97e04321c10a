/** The data sets that lie beside the app: MNIST always, Fashion-MNIST where whoever built the app had it. */

import type { DataName } from "./settings.js";

/** The classes of Fashion-MNIST. */
export const FASHION = ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Boot"];

/** A set of 28 × 28 grey pictures in ten classes, as four idx files. */
interface Included {
  title: string;
  folder: string;
  classes: readonly string[];
  /** Of the four files together, for the bar until the server has said them. */
  bytes: number;
  /** How drawings and pictures are made like its own: see `prepare.ts`. */
  preparation: "ink" | "picture";
}

export const INCLUDED = {
  mnist: {
    title: "MNIST",
    folder: "mnist/",
    classes: Array.from({ length: 10 }, (_, digit) => String(digit)),
    bytes: 11_369_320,
    preparation: "ink",
  },
  fashion: {
    title: "Fashion-MNIST",
    folder: "fashion-mnist/",
    classes: FASHION,
    bytes: 30_878_551,
    preparation: "picture",
  },
} as const satisfies Partial<Record<DataName, Included>>;

export type IncludedName = keyof typeof INCLUDED;

/** What the build says that it has, in the page's head. */
function sets(): readonly string[] {
  if (typeof document === "undefined") return ["mnist"];
  const said = document.querySelector('meta[name="flambeau-sets"]')?.getAttribute("content");
  return ["mnist", ...(said?.split(" ") ?? [])];
}

/** Does the server have this data set? */
export const isIncluded = (name: DataName): name is IncludedName => Object.hasOwn(INCLUDED, name) && sets().includes(name);
