/** The pages: a new one is a line here and a folder in `src/pages`. */

import type { ComponentType } from "react";

/** A page of the app. */
export interface Page {
  /** Its name in the address. */
  name: string;
  title: string;
  /** One line on what it is for. */
  about: string;
  /** Fetches it. */
  load: () => Promise<{ default: ComponentType }>;
}

export const PAGES: readonly Page[] = [
  {
    name: "train",
    title: "Train",
    about: "Train a network on pictures and look inside it",
    load: () => import("../pages/train/index.js"),
  },
  {
    name: "draw",
    title: "Draw",
    about: "Draw a digit and see what the network thinks",
    load: () => import("../pages/draw/index.js"),
  },
  {
    name: "try",
    title: "Try",
    about: "Show a model a picture or a row of numbers and see its answer",
    load: () => import("../pages/try/index.js"),
  },
  {
    name: "playground",
    title: "Playground",
    about: "Watch a small network divide the plane",
    load: () => import("../pages/playground/index.js"),
  },
  {
    name: "together",
    title: "Together",
    about: "Train one model with others, each on data of their own",
    load: () => import("../pages/together/index.js"),
  },
  {
    name: "learn",
    title: "Learn",
    about: "Lessons with tasks that check themselves",
    load: () => import("../pages/learn/index.js"),
  },
  {
    name: "benchmark",
    title: "Benchmark",
    about: "Measure this machine, and check every number",
    load: () => import("../pages/benchmark/index.js"),
  },
  {
    name: "device",
    title: "Device",
    about: "What this browser offers, and a self-test",
    load: () => import("../pages/device/index.js"),
  },
];
