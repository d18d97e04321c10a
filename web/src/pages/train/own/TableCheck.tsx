/** What was understood of a table, to be checked and corrected: cells, columns, the one to learn, gaps. */

import { Check, Field, Select } from "../../../ui/index.js";
import { counted } from "../../../ui/write.js";
import type { TableAnswer } from "../../../work/messages.js";
import { own } from "../../../work/own.js";
import type { Delimiter } from "../../../work/table.js";
import { guessTask, type Missing, type TableChoices } from "../../../work/tableSet.js";

const DELIMITERS: readonly (readonly [Delimiter, string])[] = [
  [",", "Comma"],
  [";", "Semicolon"],
  ["\t", "Tabulator"],
  ["|", "Bar |"],
];
const MISSING: readonly (readonly [Missing, string])[] = [
  ["refuse", "Refuse the table"],
  ["drop", "Leave the row out"],
  ["fill", "Fill with the mean"],
];
/** More columns than these are chosen by a list that is folded. */
const MANY = 12;
const MOST_SHOWN = 40;

export function TableCheck({ table }: { table: TableAnswer }) {
  const { delimiter, header, columns, choices, rows } = table;
  const choose = (change: Partial<TableChoices>) =>
    void own.chooseTable({ delimiter, header, choices: { ...choices, ...change } });
  const inputs = columns.filter(({ name }) => name !== choices.target);
  const used = inputs.filter(({ name }) => !choices.leftOut.includes(name));
  const gaps = columns.reduce((sum, { name, missing }) => (choices.leftOut.includes(name) ? sum : sum + missing), 0);
  const learn = (target: string) => {
    const about = columns.find(({ name }) => name === target);
    const words = columns.filter(({ kind, name }) => kind === "words" && name !== target).map(({ name }) => name);
    const kept = choices.leftOut.filter((name) => name !== target);
    const task = about === undefined ? choices.task : guessTask(about, rows);
    choose({ target, task, leftOut: [...new Set([...kept, ...words])] });
  };
  return (
    <>
      <FirstRows table={table} />
      <div className="fields">
        <Select
          label="Cells are divided by"
          hint="The delimiter"
          value={delimiter}
          options={DELIMITERS}
          onChange={(delimiter) => void own.chooseTable({ delimiter })}
        />
        <Select
          label="First row"
          hint="The header"
          value={header ? "names" : "data"}
          options={[
            ["names", "Names the columns"],
            ["data", "Is data already"],
          ]}
          onChange={(first) => void own.chooseTable({ delimiter, header: first === "names" })}
        />
        <Select
          label="Column to learn"
          hint="The label, or target"
          value={choices.target}
          options={columns.map(({ name }) => [name, name] as const)}
          onChange={learn}
        />
        <Select
          label="It holds"
          hint={choices.task === "classes" ? "Classification" : "Regression"}
          value={choices.task}
          options={[
            ["classes", "Classes"],
            ["number", "A number"],
          ]}
          onChange={(task) => choose({ task })}
        />
        <Select
          label="Missing cells"
          hint={gaps === 0 ? "There are none" : `${counted(gaps, "cell")} empty, NA, NaN, null or ?`}
          value={choices.missing}
          options={MISSING}
          onChange={(missing) => choose({ missing })}
        />
      </div>
      <details open={inputs.length <= MANY || undefined}>
        <summary>
          Learn from {used.length} of {counted(inputs.length, "column")}
        </summary>
        <div className="own-columns">
          {inputs.slice(0, MOST_SHOWN).map(({ name, kind }) => (
            <Check
              key={name}
              label={kind === "words" ? `${name} (words: cannot be computed with)` : name}
              value={!choices.leftOut.includes(name)}
              disabled={kind === "words"}
              onChange={(learnt) =>
                choose({ leftOut: learnt ? choices.leftOut.filter((each) => each !== name) : [...choices.leftOut, name] })
              }
            />
          ))}
          {inputs.length > MOST_SHOWN && (
            <p className="panel-note">and {counted(inputs.length - MOST_SHOWN, "more column", "more columns")}</p>
          )}
        </div>
      </details>
    </>
  );
}

/** The first rows as they were read. */
function FirstRows({ table: { columns, first, rows, choices } }: { table: TableAnswer }) {
  const shown = columns.slice(0, MANY);
  return (
    <Field label="The first rows" value={counted(rows, "row")}>
      {(id) => (
        <div id={id} className="table-frame own-rows" tabIndex={0} role="region" aria-label="The first rows of the table">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Row</th>
                {shown.map(({ name }) => (
                  <th key={name} scope="col" className={name === choices.target ? "learnt" : undefined}>
                    {name}
                  </th>
                ))}
                {columns.length > MANY && <th scope="col">…</th>}
              </tr>
            </thead>
            <tbody>
              {first.map(({ place, cells }) => (
                <tr key={place}>
                  <th scope="row">{place}</th>
                  {shown.map(({ name }, column) => (
                    <td key={name} className={name === choices.target ? "learnt" : undefined}>
                      {cells[column]}
                    </td>
                  ))}
                  {columns.length > MANY && <td>…</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Field>
  );
}
