/** Smoothed curves: running means that weigh what is recent more, as they grow. */

interface Smoothed {
  weight: number;
  values: number[];
  /** The mean so far, and the weight of what it was made of. */
  mean: number;
  share: number;
  last: number;
}

const known = new WeakMap<readonly number[], Smoothed>();

/**
 * The list smoothed: `weight` of 0 leaves it as it is, one near 1 smooths much. The same list, longer or with another last
 * value, gives the same array, longer: only what is new is computed.
 */
export function smoothed(values: readonly number[], weight: number): readonly number[] {
  if (weight === 0) return values;
  let state = known.get(values);
  const isSame =
    state !== undefined &&
    state.weight === weight &&
    state.values.length <= values.length &&
    (state.values.length === 0 || Object.is(values[state.values.length - 1], state.last));
  if (state === undefined || !isSame) {
    state = { weight, values: [], mean: 0, share: 0, last: Number.NaN };
    known.set(values, state);
  }
  for (let index = state.values.length; index < values.length; index += 1) {
    const value = values[index] ?? Number.NaN;
    // What was not measured is no part of the mean.
    if (Number.isNaN(value)) {
      state.values.push(value);
      continue;
    }
    state.mean = weight * state.mean + (1 - weight) * value;
    state.share = weight * state.share + (1 - weight);
    state.values.push(state.mean / state.share);
  }
  state.last = values.at(-1) ?? Number.NaN;
  return state.values;
}
