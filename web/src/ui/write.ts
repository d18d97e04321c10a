/** Numbers as people read them. */

/** Bytes, such as 12.3 MB. */
export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  const [value, unit] = count < 999.5e3 ? [count / 1e3, "KB"] : count < 999.5e6 ? [count / 1e6, "MB"] : [count / 1e9, "GB"];
  return `${short(value)} ${unit}`;
}

/** With a digit after the point below 10, also once it is rounded. */
const short = (value: number) => value.toFixed(value < 9.95 ? 1 : 0);

/** A share of 1, such as 97.3 %. */
export function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}

/** A length of time, such as 1:05 or 3.2 s. */
export function seconds(count: number): string {
  if (!Number.isFinite(count)) return "–";
  if (count < 59.5) return `${short(count)} s`;
  const whole = Math.max(Math.floor(count), 60);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")} min`;
}

/** A count with thin spaces, such as 101 770. */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
}

/** A count of things, such as 1 class or 10 classes. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
