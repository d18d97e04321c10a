/** The settings of the set and of the training. */

import { Button, Check, NumberField, Segments, Select, Slider } from "../../ui/index.js";
import { OPTIMIZER_NAMES, titleOf } from "../../work/optimizers.js";
import {
  activations,
  batches,
  classesOf,
  features,
  MOST_CLASSES,
  penalties,
  presets,
  defaults,
  rates,
  sets,
  speeds,
  type Activation,
  type Config,
  type Feature,
  type SetName,
} from "./config.js";

interface ControlsProps {
  config: Config;
  onChange: (change: Partial<Config>) => void;
}

const SETS: Record<SetName, string> = {
  spirals: "Spirals",
  moons: "Moons",
  circles: "Circles",
  xor: "XOR",
  blobs: "Blobs",
  own: "Your own",
};
const FEATURES: Record<Feature, string> = { x: "x", y: "y", x2: "x²", y2: "y²", xy: "x y", sinx: "sin x", siny: "sin y" };
const ACTIVATIONS: Record<Activation, string> = {
  tanh: "tanh",
  relu: "ReLU",
  sigmoid: "sigmoid",
  gelu: "GELU",
  silu: "SiLU",
  linear: "none (linear)",
};

const named = <T extends string>(values: readonly T[], names: Record<T, string>) =>
  values.map((value) => [value, names[value]] as const);

/** Numbers to choose from; one of a link's own is offered too. */
const numbers = (values: readonly number[], own: number, write: (value: number) => string = String) =>
  (values.includes(own) ? [...values] : [...values, own].sort((a, b) => a - b)).map(
    (value) => [String(value), write(value)] as const,
  );

/** The set of points. */
export function SetControls({ config, onChange }: ControlsProps) {
  const own = config.set === "own";
  const several = config.set === "spirals" || config.set === "circles" || config.set === "blobs";
  return (
    <div className="stacked">
      <Segments label="Set" value={config.set} options={named(sets, SETS)} onChange={(set) => onChange({ set })} />
      <div className="fields">
        {several && (
          <Slider
            label="Classes"
            value={config.classes}
            min={2}
            max={MOST_CLASSES}
            onChange={(classes) => onChange({ classes })}
          />
        )}
        {!own && (
          <>
            <Slider
              label="Points"
              value={config.points}
              min={50}
              max={1000}
              step={50}
              onChange={(points) => onChange({ points })}
            />
            <Slider
              label="Noise"
              value={config.noise}
              min={0}
              max={60}
              step={5}
              write={(value) => `${value} %`}
              onChange={(noise) => onChange({ noise })}
            />
          </>
        )}
        <Slider
          label="Train share"
          value={config.share}
          min={10}
          max={90}
          step={10}
          write={(value) => `${value} %`}
          onChange={(share) => onChange({ share })}
        />
      </div>
    </div>
  );
}

/** Which class a click adds, and taking points back. */
export function OwnControls({
  config,
  label,
  onLabel,
  onChange,
}: ControlsProps & { label: number; onLabel: (label: number) => void }) {
  const { own } = config;
  const choices = Array.from(
    { length: Math.min(MOST_CLASSES, classesOf(config) + 1) },
    (_, index) => [String(index), `Class ${index + 1}`] as const,
  );
  return (
    <div className="buttons">
      <Segments
        label="Class of the next point"
        value={String(label)}
        options={choices}
        onChange={(value) => onLabel(Number(value))}
      />
      <Button small disabled={own.length === 0} onClick={() => onChange({ own: own.slice(0, -1) })}>
        Undo
      </Button>
      <Button small disabled={own.length === 0} onClick={() => onChange({ own: [] })}>
        Clear
      </Button>
    </div>
  );
}

/** What the network sees. */
export function FeatureControls({ config, onChange }: ControlsProps) {
  const toggle = (feature: Feature, on: boolean) =>
    onChange({ features: features.filter((each) => (each === feature ? on : config.features.includes(each))) });
  return (
    <div className="features" role="group" aria-label="Features">
      {features.map((feature) => {
        const on = config.features.includes(feature);
        return (
          <Check
            key={feature}
            label={FEATURES[feature]}
            value={on}
            disabled={on && config.features.length === 1}
            onChange={(value) => toggle(feature, value)}
          />
        );
      })}
    </div>
  );
}

/** How it is trained. Rate, batch, penalties and speed may change while it runs. */
export function TrainingControls({ config, onChange }: ControlsProps) {
  const rate = (value: number) => (value === 0 ? "none" : String(value));
  return (
    <div className="fields">
      <Select
        label="Activation"
        value={config.activation}
        options={named(activations, ACTIVATIONS)}
        onChange={(activation) => onChange({ activation })}
      />
      <Select
        label="Optimizer"
        value={config.optimizer}
        options={OPTIMIZER_NAMES.map((name) => [name, titleOf(name)] as const)}
        onChange={(optimizer) => onChange({ optimizer })}
      />
      <Select
        label="Learning rate"
        value={String(config.lr)}
        options={numbers(rates, config.lr)}
        onChange={(lr) => onChange({ lr: Number(lr) })}
      />
      <Select
        label="Batch size"
        value={String(config.batch)}
        options={numbers(batches, config.batch)}
        onChange={(batch) => onChange({ batch: Number(batch) })}
      />
      <Select
        label="L1 penalty"
        value={String(config.l1)}
        options={numbers(penalties, config.l1, rate)}
        onChange={(l1) => onChange({ l1: Number(l1) })}
      />
      <Select
        label="L2 penalty"
        value={String(config.l2)}
        options={numbers(penalties, config.l2, rate)}
        onChange={(l2) => onChange({ l2: Number(l2) })}
      />
      <NumberField label="Seed" value={config.seed} min={0} max={2 ** 31 - 1} whole onChange={(seed) => onChange({ seed })} />
      <Select
        label="Speed"
        value={String(config.speed)}
        options={numbers(speeds, config.speed, (value) => (value === 0 ? "unlimited" : `${value} steps/s`))}
        onChange={(speed) => onChange({ speed: Number(speed) })}
      />
    </div>
  );
}

/** Settings worth a look. */
export function Presets({ config, onChange }: ControlsProps) {
  const { own } = config;
  const wanted = (preset: Partial<Config>): Config => ({ ...defaults, own, seed: config.seed, ...preset });
  const current =
    Object.keys(presets).find((name) => JSON.stringify(wanted(presets[name] ?? {})) === JSON.stringify(config)) ?? "";
  const options = [["", "Choose …"] as const, ...Object.keys(presets).map((name) => [name, name] as const)];
  return (
    <Select
      label="Preset"
      value={current}
      options={options}
      onChange={(name) => {
        const preset = presets[name];
        if (preset !== undefined) onChange(wanted(preset));
      }}
    />
  );
}
