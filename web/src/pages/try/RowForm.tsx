/** A row of a table, typed in fields that are named as its columns. */

import { useEffect, useMemo, useState } from "react";
import { Button, Field, Panel } from "../../ui/index.js";
import { faultOf, isMissing, preparedRow, type Preparation, type TableColumn } from "../../work/prepare.js";

type TablePreparation = Extract<Preparation, { kind: "table" }>;

interface Props {
  preparation: TablePreparation;
  onItem: (item: Float32Array | undefined) => void;
}

/** A usual value, as one would type it. */
const usual = ({ mean }: TableColumn) => String(Number(mean.toPrecision(4)));

export function RowForm({ preparation, onItem }: Props) {
  const { columns, fill, decimalComma } = preparation;
  const [cells, setCells] = useState(() => columns.map(usual));
  const faults = cells.map((cell) => (fill && isMissing(cell) ? undefined : faultOf(cell, decimalComma)));
  const isWhole = faults.every((fault) => fault === undefined);
  const item = useMemo(() => (isWhole ? preparedRow(cells, preparation) : undefined), [isWhole, cells, preparation]);
  useEffect(() => onItem(item), [item, onItem]);
  return (
    <Panel
      title="A row"
      note={
        <Button small onClick={() => setCells(columns.map(usual))} title="Every field gets the mean of its column">
          Usual values
        </Button>
      }
    >
      <p className="panel-note">
        The answer follows as you type. The fields begin with the means of the training rows.
        {fill && " An empty field counts as missing, and is filled with the mean."}
      </p>
      <div className="fields try-fields">
        {columns.map(({ name, mean, deviation }, place) => (
          <Field
            key={name}
            label={name}
            problem={faults[place]}
            hint={`mostly ${Number((mean - deviation).toPrecision(3))} to ${Number((mean + deviation).toPrecision(3))}`}
          >
            {(id) => (
              <input
                id={id}
                className="input"
                inputMode="decimal"
                autoComplete="off"
                value={cells[place] ?? ""}
                aria-invalid={faults[place] !== undefined}
                onChange={({ target }) => setCells(cells.map((cell, other) => (other === place ? target.value : cell)))}
              />
            )}
          </Field>
        ))}
      </div>
    </Panel>
  );
}
