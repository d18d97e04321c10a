/** What one reads: panels, notices, progress, tables, figures, bars. */

import { Fragment, type ReactNode } from "react";
import { Button } from "./controls.js";

/** A page's title and one line on it. */
export function PageHead({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="page-head">
      <h1>{title}</h1>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

/** A card with a title; `note` stands at its end. */
export function Panel({
  title,
  note,
  children,
  className = "",
}: {
  title?: string;
  note?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section className={`panel ${className}`}>
      {(title !== undefined || note !== undefined) && (
        <div className="panel-head">
          {title !== undefined && <h2>{title}</h2>}
          {note !== undefined && <div className="panel-note">{note}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

interface NoticeProps {
  kind: "note" | "good" | "error";
  title: string;
  children?: ReactNode;
  onClose?: () => void;
}

/** Something the reader should know. Errors are read out at once. */
export function Notice({ kind, title, children, onClose }: NoticeProps) {
  return (
    <div className={`notice ${kind}`} role={kind === "error" ? "alert" : "status"}>
      <div className="notice-head">
        <span>{title}</span>
        {onClose !== undefined && (
          <Button kind="quiet" small onClick={onClose} aria-label={`Close: ${title}`}>
            Close
          </Button>
        )}
      </div>
      {children}
    </div>
  );
}

/** How far something has come: `part` of 1, or unknown. */
export function Progress({ label, part }: { label: string; part?: number | undefined }) {
  const percent = part === undefined ? undefined : Math.round(100 * Math.min(Math.max(part, 0), 1));
  return (
    <div className="progress">
      <span>{label}</span>
      <div
        className="progress-track"
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
      >
        <div
          className={`progress-fill ${percent === undefined ? "unknown" : ""}`}
          style={percent === undefined ? undefined : { width: `${percent}%` }}
        />
      </div>
    </div>
  );
}

/** A column of a table. */
export interface Column<Row> {
  name: string;
  cell: (row: Row) => ReactNode;
  /** Numbers stand at the end of their cell. */
  end?: boolean;
}

interface TableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
}

export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  return (
    <div className="table-frame" tabIndex={0} role="region" aria-label={caption}>
      <table className="table">
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, end }) => (
              <th key={name} scope="col" className={end === true ? "end" : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, cell, end }) => (
                <td key={name} className={end === true ? "end" : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Named numbers. */
export function Figures({ figures }: { figures: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface BarsProps {
  bars: readonly { name: string; value: number }[];
  /** What a full bar is worth. */
  full?: number;
  write?: (value: number) => string;
  /** Shows the longest bar in full colour. */
  showTop?: boolean;
}

/** Bars with names, side by side or one below the other. */
export function Bars({ bars, full = 1, write = (value) => `${(100 * value).toFixed(1)} %`, showTop = true }: BarsProps) {
  const top = Math.max(...bars.map(({ value }) => value));
  return (
    <dl className="bars">
      {bars.map(({ name, value }) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd className={`bar ${showTop && value === top && value > 0 ? "top" : ""}`} aria-hidden="true">
            <span style={{ width: `${100 * Math.min(value / full, 1)}%` }} />
          </dd>
          <dd className="number">{write(value)}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
