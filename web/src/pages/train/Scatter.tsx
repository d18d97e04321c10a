/** How numbers are predicted: what each is across, what was said of it upwards. Right answers lie on the line. */

import { memo } from "react";
import "./scatter.css";

const SIDE = 260;
const EDGE = 8;

export const Scatter = memo(function Scatter({ name, pairs }: { name: string; pairs: Float32Array }) {
  const [low, high] = [Math.min(...pairs), Math.max(...pairs)];
  const place = (value: number) => EDGE + ((value - low) / (high - low || 1)) * (SIDE - 2 * EDGE);
  const points = Array.from(
    { length: pairs.length / 2 },
    (_, index) => [pairs[2 * index] ?? 0, pairs[2 * index + 1] ?? 0] as const,
  );
  return (
    <figure className="scatter">
      <svg
        viewBox={`0 0 ${SIDE} ${SIDE}`}
        role="img"
        aria-label={`${points.length} predictions of ${name} against what it is, from ${low.toPrecision(3)} to ${high.toPrecision(3)}`}
      >
        <line x1={place(low)} y1={SIDE - place(low)} x2={place(high)} y2={SIDE - place(high)} />
        {points.map(([is, said], index) => (
          <circle key={index} cx={place(is)} cy={SIDE - place(said)} r={2.5} />
        ))}
      </svg>
      <figcaption className="panel-note">
        Across: what “{name}” is, from {low.toPrecision(3)} to {high.toPrecision(3)}. Upwards: what the network says. Right
        answers lie on the line.
      </figcaption>
    </figure>
  );
});
