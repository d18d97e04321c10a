/** Which data: one of the app's sets, or files of one's own. */

import { Loaded } from "../../app/Loaded.js";
import { NumberField, Panel, Select } from "../../ui/index.js";
import { isIncluded } from "../../work/included.js";
import { PRESETS, type DataName, type TrainSettings } from "../../work/settings.js";

const hasFashion = isIncluded("fashion");
const NAMES: readonly (readonly [DataName, string])[] = [
  ["mnist", "MNIST (included)"],
  ["fashion", `Fashion-MNIST (${hasFashion ? "included" : "your idx files"})`],
  ["csv", "A table of your own (CSV)"],
  ["folder", "A folder of pictures"],
  ["idx", "idx files of your own"],
];
const HINTS: Record<DataName, string> = {
  mnist: "70,000 handwritten digits of 28 × 28 pixels",
  fashion: hasFashion
    ? "70,000 pictures of clothes of 28 × 28 pixels: shirts, shoes, bags. Harder than digits"
    : "This server does not have it. Drop the four files (train and t10k, images and labels), plain or gzipped; Debian's package dataset-fashion-mnist has them",
  idx: "Images and labels; two files are divided, or four with “train” and “test” or “t10k” in their names",
  csv: "A column to learn, numbers to learn it from; 784 columns of pixels are pictures of 28 × 28",
  folder: "One folder per class, with its pictures inside",
};

const loadOwn = () => import("./own/index.js");

interface Props {
  settings: TrainSettings;
  change: (change: Partial<TrainSettings>) => void;
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
        {!isIncluded(settings.data) && <Loaded name="own data" load={loadOwn} props={{}} />}
        <NumberField
          label="Items to train with"
          whole
          min={0}
          value={settings.items}
          onChange={(items) => change({ items })}
          hint="Fewer show overfitting; 0 takes all"
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
      title="Settings to begin with"
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
