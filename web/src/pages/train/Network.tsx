/** The network drawn: a list of its layers, each a box that is as wide as what goes in and out. */

import { useMemo } from "react";
import { write } from "../../ui/index.js";
import { boxesOf, wordsOf, type Box } from "../../work/drawing.js";
import { type ItemShape, readLayers } from "../../work/layers.js";
import "./network.css";

export interface NetworkProps {
  layers: string;
  input: ItemShape;
  outputs: number;
}

const [WIDTH, HEIGHT, GAP, MIDDLE] = [360, 46, 20, 155] as const;
/** Half of the widest box, and of the narrowest. */
const [MOST, LEAST] = [132, 40] as const;

export default function Network({ layers, input, outputs }: NetworkProps) {
  const boxes = useMemo(() => boxesOf(readLayers(layers) ?? [], input, outputs), [layers, input, outputs]);
  const parameters = boxes.reduce((sum, box) => sum + box.parameters, 0);
  return (
    <figure className="network-drawing">
      <ol aria-label="Layers of the network">
        {boxes.map((box, place) => (
          <li key={place} className={`drawn-${box.problem === undefined ? box.kind : "wrong"}`}>
            <span className="visually-hidden">{wordsOf(box)}</span>
            <Layer box={box} isLast={place === boxes.length - 1} />
          </li>
        ))}
      </ol>
      <figcaption className="panel-note">
        {write.counted(boxes.length - 1, "layer")}, {write.counted(parameters, "parameter")}. A box is as wide as the numbers that
        come in and go out, on a logarithmic scale.
      </figcaption>
    </figure>
  );
}

/** A box, and the arrow to the next one. */
function Layer({ box, isLast }: { box: Box; isLast: boolean }) {
  const { name, shape, parameters, shortcut, wide, problem } = box;
  const [above, below] = wide.map((share) => LEAST + (MOST - LEAST) * share) as [number, number];
  const corners = [
    [MIDDLE - above, 0],
    [MIDDLE + above, 0],
    [MIDDLE + below, HEIGHT],
    [MIDDLE - below, HEIGHT],
  ];
  const right = MIDDLE + Math.max(above, below) + 18;
  return (
    <svg viewBox={`0 0 ${WIDTH} ${isLast ? HEIGHT + 1 : HEIGHT + GAP}`} aria-hidden="true">
      <polygon points={corners.map((corner) => corner.join()).join(" ")} />
      <text x={MIDDLE} y={19} className="network-name">
        {name}
      </text>
      <text x={MIDDLE} y={36} className="network-shape">
        {problem === undefined ? shape : "does not fit"}
        {parameters > 0 && `, ${write.counted(parameters, "parameter")}`}
      </text>
      {shortcut && (
        <>
          <path className="network-line" d={`M${MIDDLE} -6 H${right} V${HEIGHT + 6} H${MIDDLE + 1}`} />
          <text x={right + 5} y={HEIGHT / 2 + 4} className="network-plus">
            + input
          </text>
        </>
      )}
      {!isLast && <path className="network-line" d={`M${MIDDLE} ${HEIGHT} v${GAP - 4} m-4 -5 l4 5 l4 -5`} />}
    </svg>
  );
}
