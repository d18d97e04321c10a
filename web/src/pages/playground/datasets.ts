/** The 2-D sets: points with classes, the same for the same seed. */

import { uniform } from "../../work/random.js";
import { classesOf, EXTENT, type Config, type Feature, type Point } from "./config.js";

/** Normal numbers by Box and Muller. */
function normal(random: () => number): () => number {
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A set, split into the points that are trained on and those that are only looked at. */
export interface Split {
  train: Point[];
  test: Point[];
  classes: number;
}

/** What decides a set. */
export type SetConfig = Pick<Config, "set" | "classes" | "points" | "noise" | "share" | "seed" | "own">;

/** The points of a configuration. */
export function makeSet(config: SetConfig): Split {
  const random = uniform(config.seed);
  const classes = classesOf(config);
  const points = config.set === "own" ? [...config.own] : generate(config, classes, random);
  shuffle(points, random);
  const count = Math.max(1, Math.round((points.length * config.share) / 100));
  return { train: points.slice(0, count), test: points.slice(count), classes };
}

function generate(config: SetConfig, classes: number, random: () => number): Point[] {
  const gauss = normal(random);
  const blur = config.noise / 100;
  const each = Math.ceil(config.points / classes);
  const points: Point[] = [];
  for (let label = 0; label < classes; label += 1) {
    for (let index = 0; index < each; index += 1) {
      const along = index / each;
      const [x, y] = place(config.set, label, classes, along, random, gauss);
      points.push({ x: x + blur * gauss(), y: y + blur * gauss(), label });
    }
  }
  return points;
}

function place(
  set: Config["set"],
  label: number,
  classes: number,
  along: number,
  random: () => number,
  gauss: () => number,
): [number, number] {
  switch (set) {
    case "spirals": {
      const angle = 1.75 * 2 * Math.PI * along + (2 * Math.PI * label) / classes;
      const radius = 0.15 + 2.5 * along;
      return [radius * Math.sin(angle), radius * Math.cos(angle)];
    }
    case "moons": {
      const angle = Math.PI * along;
      return label === 0
        ? [1.5 * Math.cos(angle) - 0.75, 1.5 * Math.sin(angle) - 0.4]
        : [0.75 - 1.5 * Math.cos(angle), 0.4 - 1.5 * Math.sin(angle)];
    }
    case "circles": {
      const angle = 2 * Math.PI * random();
      const width = 2.6 / (classes - 0.4);
      const radius = label === 0 ? 0.55 * width * Math.sqrt(random()) : width * (label - 0.1 + 0.4 * random());
      return [radius * Math.cos(angle), radius * Math.sin(angle)];
    }
    case "xor": {
      const [side, other] = [0.15 + 2.35 * random(), 0.15 + 2.35 * random()];
      const sign = random() < 0.5 ? -1 : 1;
      return [sign * side, (label === 0 ? sign : -sign) * other];
    }
    case "blobs": {
      const angle = (2 * Math.PI * label) / classes + Math.PI / 4;
      return [1.5 * Math.cos(angle) + 0.45 * gauss(), 1.5 * Math.sin(angle) + 0.45 * gauss()];
    }
    case "own":
      return [0, 0];
  }
}

/** Brings a list into a random order. */
export function shuffle<T>(list: T[], random: () => number): void {
  for (let last = list.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [list[last], list[other]] = [list[other] as T, list[last] as T];
  }
}

const compute: Record<Feature, (x: number, y: number) => number> = {
  x: (x) => x,
  y: (_, y) => y,
  x2: (x) => x * x,
  y2: (_, y) => y * y,
  xy: (x, y) => x * y,
  sinx: (x) => Math.sin(x),
  siny: (_, y) => Math.sin(y),
};

/** What the network sees of points: one row each. */
export function inputsOf(points: readonly { x: number; y: number }[], chosen: readonly Feature[]): Float32Array {
  const rows = new Float32Array(points.length * chosen.length);
  for (const [row, { x, y }] of points.entries()) {
    for (const [column, feature] of chosen.entries()) rows[row * chosen.length + column] = compute[feature](x, y);
  }
  return rows;
}

/** The middles of a grid of `side` × `side` cells over the plane, from the top left, row by row. */
export function gridPoints(side: number): { x: number; y: number }[] {
  const at = (index: number) => EXTENT * ((2 * (index + 0.5)) / side - 1);
  return Array.from({ length: side * side }, (_, index) => ({
    x: at(index % side),
    y: -at(Math.floor(index / side)),
  }));
}
