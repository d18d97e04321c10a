/** Data of one's own, step by step: choose the files, check what was understood, divide the items. */

import type { ReactNode } from "react";
import { useSettings } from "../../../app/route.js";
import { FileDrop, Notice, NumberField, Progress, Select, write } from "../../../ui/index.js";
import { written } from "../../../work/layers.js";
import type { DataSet } from "../../../work/messages.js";
import { own } from "../../../work/own.js";
import { trainSchema, type DataName } from "../../../work/settings.js";
import { useChanges } from "../../../work/store.js";
import { Classes } from "./Classes.js";
import { TableCheck } from "./TableCheck.js";
import "./own.css";

const ACCEPT: Partial<Record<DataName, string>> = { csv: ".csv,.tsv,.txt,text/csv,text/plain,text/tab-separated-values" };

function Step({ title, children }: { title: string; children: ReactNode }) {
  return (
    <li>
      <h3>{title}</h3>
      <div className="stack">{children}</div>
    </li>
  );
}

/** What became of the files, in one sentence. */
function Summary({ set }: { set: DataSet }) {
  const { train, validation, test, shape, classes, number, notes = [] } = set;
  const parts = [
    `${write.count(train.labels.length)} to train`,
    ...(validation === undefined ? [] : [`${write.count(validation.labels.length)} for validation`]),
    `${write.count(test.labels.length)} to test`,
    `each ${written(shape)}`,
    number === undefined ? write.counted(classes.length, "class", "classes") : `“${number.name}” is predicted`,
  ];
  return (
    <p className="panel-note" role="status">
      {set.name}: {parts.join(", ")}.{notes.map((note) => ` ${note.charAt(0).toUpperCase()}${note.slice(1)}.`)}
    </p>
  );
}

function Pictures({ kind }: { kind: DataName }) {
  const { size, channels } = own.pictures;
  return (
    <div className="fields">
      <Select
        label="Size"
        hint="Pixels the network sees"
        value={String(size) as "28" | "32" | "64"}
        options={[
          ["28", "28 × 28"],
          ["32", "32 × 32"],
          ["64", "64 × 64"],
        ]}
        onChange={(size) => void own.choosePictures(kind, { size: Number(size) as 28 | 32 | 64 })}
      />
      <Select
        label="Colours"
        hint="Channels of a picture"
        value={String(channels) as "1" | "3"}
        options={[
          ["1", "Grey"],
          ["3", "Red, green, blue"],
        ]}
        onChange={(channels) => void own.choosePictures(kind, { channels: channels === "3" ? 3 : 1 })}
      />
    </div>
  );
}

function Divide({ kind, isGiven }: { kind: DataName; isGiven: boolean }) {
  const { shares, table } = own;
  const set = (change: Partial<typeof shares>) => {
    if (kind === "csv" && table !== undefined)
      void own.chooseTable({ delimiter: table.delimiter, header: table.header, choices: { ...table.choices, ...change } });
    else void own.choosePictures(kind, {}, change);
  };
  if (isGiven) return <p className="panel-note">The files say themselves what is for tests.</p>;
  return (
    <div className="fields">
      <NumberField
        label="Validation, %"
        hint="Looked at while it learns"
        whole
        min={0}
        max={50}
        value={Math.round(100 * shares.validation)}
        onChange={(value) => set({ validation: value / 100 })}
      />
      <NumberField
        label="Test, %"
        hint="Looked at once, at the end"
        whole
        min={1}
        max={50}
        value={Math.round(100 * shares.test)}
        onChange={(value) => set({ test: value / 100 })}
      />
    </div>
  );
}

export default function OwnData() {
  const [{ data: kind }] = useSettings(trainSchema);
  useChanges(own.changes);
  const set = own.kind === kind ? own.set : undefined;
  const isTable = kind === "csv" && own.table !== undefined;
  const isFolder = kind === "folder";
  return (
    <ol className="own-steps">
      <Step title={isFolder ? "Choose a folder" : "Choose files"}>
        {isFolder && <Pictures kind={kind} />}
        <FileDrop
          label={isFolder ? "Choose a folder" : "Choose files"}
          multiple={kind !== "csv"}
          folder={isFolder}
          {...(ACCEPT[kind] !== undefined && { accept: ACCEPT[kind] })}
          onFiles={(files) => void own.take(kind, files)}
        >
          or drop {isFolder ? "it" : "them"} here
        </FileDrop>
        {own.reading !== undefined && <Progress {...own.reading} />}
        {own.error !== undefined && (
          <Notice kind="error" title="The files cannot be used">
            {own.error}
          </Notice>
        )}
      </Step>
      {(isTable || set !== undefined) && (
        <>
          <Step title="Check what was understood">
            {isTable && own.table !== undefined && <TableCheck table={own.table} />}
            {set !== undefined && <Classes set={set} />}
          </Step>
          <Step title="Divide">
            <Divide kind={kind} isGiven={set?.isDivided === true} />
            {set !== undefined && <Summary set={set} />}
          </Step>
        </>
      )}
    </ol>
  );
}
