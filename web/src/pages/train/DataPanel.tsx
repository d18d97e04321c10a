/** Which pictures: MNIST, or files of one's own. */

import { useState } from "react";
import { FileDrop, NumberField, Notice, Panel, Progress, Select, write } from "../../ui/index.js";
import { written } from "../../work/layers.js";
import { FASHION, own } from "../../work/own.js";
import { PRESETS, type DataName, type TrainSettings } from "../../work/settings.js";
import { useChanges } from "../../work/store.js";

const NAMES: readonly (readonly [DataName, string])[] = [
  ["mnist", "MNIST (included)"],
  ["fashion", "Fashion-MNIST (your idx files)"],
  ["idx", "idx files of your own"],
  ["csv", "A CSV table of your own"],
  ["folder", "A folder of pictures"],
];
const HINTS: Record<DataName, string> = {
  mnist: "70,000 handwritten digits of 28 × 28 pixels",
  fashion: "Drop the four files (train and t10k, images and labels), plain or gzipped",
  idx: "Images and labels; two files are divided, or four with “train” and “test” or “t10k” in their names",
  csv: "A column “label” (or the last one), numbers in the others; 784 columns are pictures of 28 × 28",
  folder: "One folder per class, with its pictures inside",
};

interface Props {
  settings: TrainSettings;
  change: (change: Partial<TrainSettings>) => void;
}

function OwnFiles({ kind }: { kind: Exclude<DataName, "mnist"> }) {
  useChanges(own.changes);
  const [size, setSize] = useState<"28" | "32" | "64">("28");
  const [colour, setColour] = useState<"1" | "3">("1");
  const take = (files: File[]) => {
    const [first] = files;
    if (kind === "csv" && first !== undefined) void own.read(kind, "csv", first);
    else if (kind === "folder") void own.read(kind, "folder", { files, size: Number(size), channels: colour === "3" ? 3 : 1 });
    else void own.read(kind, "idx", { files, ...(kind === "fashion" && { names: FASHION }) });
  };
  const set = own.kind === kind ? own.set : undefined;
  return (
    <div className="stack">
      {kind === "folder" && (
        <div className="fields">
          <Select
            label="Size"
            value={size}
            options={[
              ["28", "28 × 28"],
              ["32", "32 × 32"],
              ["64", "64 × 64"],
            ]}
            onChange={setSize}
          />
          <Select
            label="Colours"
            value={colour}
            options={[
              ["1", "Grey"],
              ["3", "Red, green, blue"],
            ]}
            onChange={setColour}
          />
        </div>
      )}
      <FileDrop
        label={kind === "folder" ? "Choose a folder" : "Choose files"}
        multiple={kind !== "csv"}
        folder={kind === "folder"}
        onFiles={take}
      >
        or drop {kind === "folder" ? "it" : "them"} here
      </FileDrop>
      {own.reading !== undefined && <Progress {...own.reading} />}
      {own.error !== undefined && (
        <Notice kind="error" title="The files cannot be used">
          {own.error}
        </Notice>
      )}
      {set !== undefined && (
        <p className="panel-note">
          {set.name}: {write.count(set.train.labels.length)} to train, {write.count(set.test.labels.length)} to test, each{" "}
          {written(set.shape)}, {write.counted(set.classes.length, "class", "classes")}.
        </p>
      )}
    </div>
  );
}

export function DataPanel({ settings, change }: Props) {
  return (
    <Panel title="Data" note={<PresetPicker change={change} />}>
      <div className="stack">
        <Select
          label="Data set"
          value={settings.data}
          options={NAMES}
          onChange={(data) => change({ data })}
          hint={HINTS[settings.data]}
        />
        {settings.data !== "mnist" && <OwnFiles kind={settings.data} />}
        <NumberField
          label="Items to train with"
          whole
          min={0}
          value={settings.items}
          onChange={(items) => change({ items })}
          hint="0 takes all"
        />
      </div>
    </Panel>
  );
}

function PresetPicker({ change }: Pick<Props, "change">) {
  return (
    <select
      className="input preset"
      aria-label="Preset"
      value=""
      onChange={({ target }) => {
        const preset = PRESETS.find(({ name }) => name === target.value);
        if (preset !== undefined) change(preset.settings);
      }}
    >
      <option value="">Presets</option>
      {PRESETS.map(({ name, about }) => (
        <option key={name} value={name}>
          {name}: {about}
        </option>
      ))}
    </select>
  );
}
