/** The curves of several runs as one: at every step the mean of those that have it, the smallest and the largest. */

/** A curve of one run. */
export interface Line {
  steps: readonly number[];
  values: readonly number[];
}

export interface Spread {
  steps: number[];
  mean: number[];
  least: number[];
  greatest: number[];
}

function spread(lines: readonly Line[]): Spread {
  const at = new Map<number, number[]>();
  for (const { steps, values } of lines)
    for (const [place, step] of steps.entries()) {
      const value = values[place] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      const known = at.get(step);
      if (known === undefined) at.set(step, [value]);
      else known.push(value);
    }
  const steps = [...at.keys()].sort((a, b) => a - b);
  const each = (join: (values: number[]) => number) => steps.map((step) => join(at.get(step) ?? []));
  return {
    steps,
    mean: each((values) => values.reduce((sum, value) => sum + value, 0) / values.length),
    least: each((values) => Math.min(...values)),
    greatest: each((values) => Math.max(...values)),
  };
}

interface Known {
  lines: readonly Line[];
  lengths: readonly number[];
  spread: Spread;
}

const known = new WeakMap<readonly number[], Known>();

/** The same lists at the same lengths give the same result, made once. */
export function spreadOf(lines: readonly Line[]): Spread {
  const [first] = lines;
  if (first === undefined) return { steps: [], mean: [], least: [], greatest: [] };
  const before = known.get(first.values);
  const isSame =
    before !== undefined &&
    before.lines.length === lines.length &&
    lines.every(({ values }, place) => before.lines[place]?.values === values && before.lengths[place] === values.length);
  if (isSame) return before.spread;
  const made: Known = { lines: [...lines], lengths: lines.map(({ values }) => values.length), spread: spread(lines) };
  known.set(first.values, made);
  return made.spread;
}
