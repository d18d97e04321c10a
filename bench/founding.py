#!/usr/bin/env python3
"""Writes docs/founding.md from what `flambeau --json bench founding` has printed on each machine.

Usage: bench/founding.py NAME=FILE.json... > docs/founding.md

A column for each file, under its name, in the order given: bench/founding.py "2 CPU cores=cpu.json" "H200=gpu.json". A file may hold a date
as `date`, which is put beside the device; without one it is today's.
"""

import datetime
import json
import sys

HEAD = """# The founding documents' number targets

Every number that the project was founded on (`docs/requirements.md`, section X and the lines it repeats), beside what was measured.
Written by `bench/founding.py` from what this command printed on each machine:

```sh
flambeau --json bench founding > FILE.json
```

Each result was checked before it was timed: ops and products against the same in F64, fused patterns against unfused ones, three loops
against the product. *One after the other* means that evaluations are submitted without waiting for each, with one wait at the end; *with
a wait* includes reading a number back. ✓ is met, ✗ is not; targets of other places say where they are held.
"""


def cell(row):
    if row is None:
        return "–"
    mark = {True: " ✓", False: " **✗**", None: ""}[row["met"]]
    return row["measured"] + mark


def keyed(results):
    """Rows by requirements and their number among those of the same: the order is that of the program everywhere."""
    counts, rows = {}, {}
    for row in results:
        numbers = tuple(row["requirements"])
        counts[numbers] = counts.get(numbers, -1) + 1
        rows[numbers, counts[numbers]] = row
    return rows


def main():
    columns = []
    for argument in sys.argv[1:]:
        name, _, path = argument.partition("=")
        with open(path) as file:
            columns.append((name, json.load(file)))
    if not columns:
        sys.exit(__doc__)
    print(HEAD)
    for name, data in columns:
        date = data.get("date", datetime.date.today().isoformat())
        print(f"- {name}: {data['device']}, version {data['version']}, {date}")
    print("\n| | what | target | " + " | ".join(name for name, _ in columns) + " |")
    print("|---|---|---|" + "---|" * len(columns))
    found = [keyed(data["results"]) for _, data in columns]
    for entry in sorted(set().union(*found), key=lambda entry: (entry[0][0], entry)):
        first = next(rows[entry] for rows in found if entry in rows)
        numbers = ", ".join(map(str, first["requirements"]))
        cells = " | ".join(cell(rows.get(entry)) for rows in found)
        print(f"| {numbers} | {first['what']} | {first['target']} | {cells} |")


if __name__ == "__main__":
    main()
