/** Divides items into those to train with, to look at on the way, and to test with at the end. */

/** The shares that are kept back. */
export interface Shares {
  /** Looked at on the way. */
  validation: number;
  /** Looked at once it is trained. */
  test: number;
}

export const SHARES: Shares = { validation: 0.1, test: 0.2 };
const FEWEST = 10;

/** Places of items. */
export interface Division {
  train: Uint32Array;
  validation: Uint32Array;
  test: Uint32Array;
}

/** Items in a random order that is always the same, so that a run can be repeated. */
export function order(count: number): Uint32Array {
  const places = Uint32Array.from({ length: count }, (_, place) => place);
  let state = 0x9e3779b9;
  for (let place = count - 1; place > 0; place -= 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (place + 1));
    [places[place], places[other]] = [places[other] ?? 0, places[place] ?? 0];
  }
  return places;
}

/**
 * Every class has the same shares in all parts, as nearly as whole items allow; `classes` are the items' classes, all 0 where there
 * are none. What rounding leaves over goes to where it is wanted most: the parts have the sizes of the shares.
 */
export function divide(classes: ArrayLike<number>, { validation, test }: Shares): Division {
  const count = classes.length;
  if (count < FEWEST) throw new Error(`there must be ${FEWEST} items or more, and there ${count === 1 ? "is" : "are"} ${count}`);
  if (validation + test >= 1)
    throw new Error("nothing would be left to train with: validation and test must be less than 100 % together");
  const places = order(count);
  const grouped = new Map<number, number[]>();
  for (const place of places) {
    const group = classes[place] ?? 0;
    const own = grouped.get(group);
    if (own === undefined) grouped.set(group, [place]);
    else own.push(place);
  }
  const parts: Record<keyof Division, number[]> = { train: [], validation: [], test: [] };
  // Class by class, so that what one class had too little of the next makes up for.
  let [seen, validated, tested] = [0, 0, 0];
  for (const [, group] of [...grouped].sort(([a], [b]) => a - b)) {
    seen += group.length;
    const toTest = Math.min(Math.max(Math.round(seen * test) - tested, 0), group.length - 1);
    const toValidate = Math.min(Math.max(Math.round(seen * validation) - validated, 0), group.length - 1 - toTest);
    for (const [rank, place] of group.entries())
      parts[rank < toTest ? "test" : rank < toTest + toValidate ? "validation" : "train"].push(place);
    tested += toTest;
    validated += toValidate;
  }
  if (test > 0 && parts.test.length === 0)
    throw new Error("no item is left to test with: every class needs two items or more, or a larger share to test");
  return { train: mixed(parts.train), validation: mixed(parts.validation), test: mixed(parts.test) };
}

/** Not class by class: a part of the items is a fair sample of all. */
const mixed = (places: readonly number[]) => Uint32Array.from(order(places.length), (place) => places[place] ?? 0);
