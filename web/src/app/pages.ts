/** The pages: a new one is a line here and a folder in `src/pages`. */

import { lazy, type ComponentType, type LazyExoticComponent } from "react";

/** A page of the app. */
export interface Page {
  /** Its name in the address. */
  name: string;
  title: string;
  /** One line on what it is for. */
  about: string;
  component: LazyExoticComponent<ComponentType>;
}

export const PAGES: readonly Page[] = [
  {
    name: "train",
    title: "Train",
    about: "Train a network on pictures and look inside it",
    component: lazy(() => import("../pages/train/index.js")),
  },
  {
    name: "draw",
    title: "Draw",
    about: "Draw a digit and see what the network thinks",
    component: lazy(() => import("../pages/draw/index.js")),
  },
  {
    name: "playground",
    title: "Playground",
    about: "Watch a small network divide the plane",
    component: lazy(() => import("../pages/playground/index.js")),
  },
  {
    name: "benchmark",
    title: "Benchmark",
    about: "Measure this machine, and check every number",
    component: lazy(() => import("../pages/benchmark/index.js")),
  },
  {
    name: "device",
    title: "Device",
    about: "What this browser offers, and a self-test",
    component: lazy(() => import("../pages/device/index.js")),
  },
];
