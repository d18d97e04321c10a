/** The configuration of a page in the address: `#/train?lr=0.003&seed=7`, typed both ways. */

/** How one setting is written in an address, and what it is when the address does not say. */
export interface Param<T> {
  initial: T;
  /** The value of this text; undefined if it makes no sense. */
  read(text: string): T | undefined;
  write(value: T): string;
}

/** The settings of a page. */
export type Schema<S> = { readonly [K in keyof S]: Param<S[K]> };

/** A number within bounds. */
export function number(initial: number, min = -Infinity, max = Infinity): Param<number> {
  return {
    initial,
    read: (text) => {
      const value = Number(text);
      return text.trim() !== "" && value >= min && value <= max ? value : undefined;
    },
    write: String,
  };
}

/** A whole number within bounds. */
export function integer(initial: number, min = 0, max = Number.MAX_SAFE_INTEGER): Param<number> {
  const any = number(initial, min, max);
  return { ...any, read: (text) => (Number.isInteger(Number(text)) ? any.read(text) : undefined) };
}

/** One of several words. */
export function choice<const T extends string>(words: readonly T[], initial: NoInfer<T>): Param<T> {
  return { initial, read: (text) => words.find((word) => word === text), write: (value) => value };
}

/** Yes or no. */
export function flag(initial: boolean): Param<boolean> {
  const words = new Map([
    ["1", true],
    ["0", false],
  ]);
  return { initial, read: (text) => words.get(text), write: (value) => (value ? "1" : "0") };
}

/** Any text. */
export function text(initial = ""): Param<string> {
  return { initial, read: (value) => value, write: (value) => value };
}

/** The settings that a query says; what it does not say, or says wrongly, is as at the beginning. */
export function readQuery<S extends object>(schema: Schema<S>, query: URLSearchParams): S {
  const entries = (Object.keys(schema) as (keyof S & string)[]).map((name) => {
    const found = query.get(name);
    return [name, (found === null ? undefined : schema[name].read(found)) ?? schema[name].initial];
  });
  return Object.fromEntries(entries) as S;
}

/** The names of the settings that a query says wrongly. */
export function misread<S extends object>(schema: Schema<S>, query: URLSearchParams): (keyof S & string)[] {
  return (Object.keys(schema) as (keyof S & string)[]).filter((name) => {
    const found = query.get(name);
    return found !== null && schema[name].read(found) === undefined;
  });
}

/** The query that says these settings; those that are as at the beginning only with `all`. */
export function writeQuery<S extends object>(schema: Schema<S>, settings: S, all = false): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of Object.keys(schema) as (keyof S & string)[]) {
    const { initial, write } = schema[name];
    const value = write(settings[name]);
    if (all || value !== write(initial)) query.set(name, value);
  }
  return query;
}

/** Where the app is: a page's name and its settings. */
export interface Place {
  page: string;
  query: URLSearchParams;
}

/** The place that a hash names. */
export function readHash(hash: string): Place {
  const [path = "", ...query] = hash.replace(/^#\/?/, "").split("?");
  return { page: path.replace(/\/+$/, ""), query: new URLSearchParams(query.join("?")) };
}

/** The hash that names a place. */
export function writeHash({ page, query }: Place): string {
  const said = query.toString();
  return `#/${page}${said === "" ? "" : `?${said}`}`;
}
