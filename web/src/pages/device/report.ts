/** What the self-test's cases come to, op by op and group by group. */

import type { CaseReport } from "./messages.js";

/** How the cases of one name went: those of an op, or of a group of ops. */
export interface Sum {
  name: string;
  group: string;
  cases: number;
  /** Cases of dtypes that the device does not take. */
  skipped: number;
  checks: number;
  failures: string[];
}

/** The op that a case is of: the first word of its name. */
export const opOf = ({ name }: CaseReport) => name.split(" ", 1)[0] ?? name;

/** Sums up the cases by name, in the order in which the names come first. */
export function sumUp(reports: readonly CaseReport[], nameOf: (report: CaseReport) => string): Sum[] {
  const sums = new Map<string, Sum>();
  for (const report of reports) {
    const name = nameOf(report);
    const sum = sums.get(name) ?? { name, group: report.group, cases: 0, skipped: 0, checks: 0, failures: [] };
    sum.cases += report.skipped ? 0 : 1;
    sum.skipped += report.skipped ? 1 : 0;
    sum.checks += report.checks;
    sum.failures.push(...report.failures.map((failure) => `${report.name}: ${failure}`));
    sums.set(name, sum);
  }
  return [...sums.values()];
}
