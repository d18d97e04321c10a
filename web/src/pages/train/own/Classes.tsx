/** The classes of a set with their counts, and some of its pictures. */

import { memo } from "react";
import { Bars, PixelCanvas, write } from "../../../ui/index.js";
import type { DataSet } from "../../../work/messages.js";
import { pixelsIn } from "../../../work/pixels.js";

const MOST_PICTURES = 12;
const MOST_CLASSES = 20;

/** One picture of each class, then others. */
function shownPictures({ train, classes }: DataSet): number[] {
  const labels = Array.from(train.labels);
  const firsts = classes.map((_, label) => labels.indexOf(label)).filter((place) => place >= 0);
  const others = labels.map((_, place) => place).filter((place) => !firsts.includes(place));
  return [...firsts, ...others.slice(0, MOST_PICTURES)].slice(0, MOST_PICTURES);
}

export const Classes = memo(function Classes({ set }: { set: DataSet }) {
  const { shape, classes, train, validation, test, number } = set;
  const [, height = 0, width = 0] = shape;
  const counts = classes.map(() => 0);
  for (const part of [train, validation, test])
    for (const label of part?.labels ?? []) if (number === undefined) counts[label] = (counts[label] ?? 0) + 1;
  return (
    <>
      {shape.length === 3 && (
        <ul className="gallery own-pictures">
          {shownPictures(set).map((place) => (
            <li key={place}>
              <PixelCanvas
                label={`A picture of ${classes[train.labels[place] ?? 0] ?? "the set"}`}
                width={width}
                height={height}
                values={pixelsIn(train, shape, place)}
                palette="grey"
                scale={44 / Math.max(width, height)}
              />
              <span>{classes[train.labels[place] ?? 0]}</span>
            </li>
          ))}
        </ul>
      )}
      {number === undefined ? (
        <>
          <Bars
            bars={classes.slice(0, MOST_CLASSES).map((name, index) => ({ name, value: counts[index] ?? 0 }))}
            full={Math.max(...counts, 1)}
            write={write.count}
            showTop={false}
          />
          {classes.length > MOST_CLASSES && (
            <p className="panel-note">and {write.counted(classes.length - MOST_CLASSES, "more class", "more classes")}</p>
          )}
        </>
      ) : (
        <p className="panel-note">
          “{number.name}” is {number.mean.toPrecision(4)} in the mean, and differs from it by {number.deviation.toPrecision(3)}{" "}
          (standard deviation).
        </p>
      )}
    </>
  );
});
