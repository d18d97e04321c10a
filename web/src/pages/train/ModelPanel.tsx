/** The network: one of three, or a list of layers of one's own, checked as one types. */

import { Button, Panel, Segments, write } from "../../ui/index.js";
import {
  LAYER_KINDS,
  modelFor,
  nameOf,
  newLayer,
  ruleOf,
  writeLayers,
  written,
  type ItemShape,
  type LayerKind,
  type LayerSpec,
  type ModelName,
  type ModelReport,
} from "../../work/layers.js";

const MODELS: readonly (readonly [ModelName, string])[] = [
  ["mlp", "MLP"],
  ["cnn", "CNN"],
  ["resnet", "ResNet"],
];

const ABOUT: Record<ModelName | "own", string> = {
  mlp: "A perceptron: every output looks at every input",
  cnn: "Convolutions: small filters that look everywhere in the picture",
  resnet: "Convolutions with shortcuts, so that deep networks learn",
  own: "A list of layers of your own",
};

interface Props {
  layers: readonly LayerSpec[];
  report: ModelReport;
  input: ItemShape;
  classes: number;
  onChange: (layers: string) => void;
}

export function ModelPanel({ layers, report, input, classes, onChange }: Props) {
  const set = (next: readonly LayerSpec[]) => onChange(writeLayers(next));
  const name = nameOf(writeLayers(layers));
  return (
    <Panel title="Model" note={<span aria-live="polite">{write.counted(report.parameters, "parameter")}</span>}>
      <div className="stack">
        <Segments<ModelName | "own">
          label="Model"
          value={name ?? "own"}
          options={MODELS}
          onChange={(model) => model !== "own" && onChange(modelFor(model, classes))}
        />
        <p className="panel-note">{ABOUT[name ?? "own"]}</p>
        <ol className="layers">
          <li className="layer-input">
            <span>Input</span>
            <span className="number">{written(input)}</span>
          </li>
          {layers.map((layer, index) => (
            <LayerRow
              key={index}
              layer={layer}
              place={index}
              count={layers.length}
              report={report.layers[index]}
              onChange={(next) => set(layers.map((each, place) => (place === index ? next : each)))}
              onMove={(by) => set(moved(layers, index, index + by))}
              onRemove={() => set(layers.filter((_, place) => place !== index))}
            />
          ))}
        </ol>
        <label className="add-layer">
          <span className="visually-hidden">Add a layer before the last</span>
          <select
            className="input"
            value=""
            onChange={({ target }) => {
              const place = Math.max(layers.length - 1, 0);
              set([...layers.slice(0, place), newLayer(target.value as LayerKind), ...layers.slice(place)]);
            }}
          >
            <option value="" disabled>
              Add a layer …
            </option>
            {LAYER_KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {ruleOf(kind).name}
              </option>
            ))}
          </select>
        </label>
        {report.problem !== undefined && (
          <p className="field-problem" role="alert">
            {report.problem}
          </p>
        )}
      </div>
    </Panel>
  );
}

function moved(layers: readonly LayerSpec[], from: number, to: number): LayerSpec[] {
  const next = [...layers];
  const [layer] = next.splice(from, 1);
  if (layer !== undefined) next.splice(to, 0, layer);
  return next;
}

interface RowProps {
  layer: LayerSpec;
  place: number;
  count: number;
  report: ModelReport["layers"][number] | undefined;
  onChange: (layer: LayerSpec) => void;
  onMove: (by: number) => void;
  onRemove: () => void;
}

function LayerRow({ layer, place, count, report, onChange, onMove, onRemove }: RowProps) {
  const { name, fields } = ruleOf(layer.kind);
  const where = `layer ${place + 1}, ${name}`;
  return (
    <li className={report?.problem === undefined ? "layer" : "layer wrong"}>
      <span className="layer-name">{name}</span>
      <span className="layer-shape number" title={report?.problem}>
        {report?.problem !== undefined ? "does not fit" : report?.shape === undefined ? "–" : written(report.shape)}
      </span>
      <span className="layer-buttons">
        <Button kind="quiet" small aria-label={`Move ${where} up`} disabled={place === 0} onClick={() => onMove(-1)}>
          ↑
        </Button>
        <Button kind="quiet" small aria-label={`Move ${where} down`} disabled={place === count - 1} onClick={() => onMove(1)}>
          ↓
        </Button>
        <Button kind="quiet" small aria-label={`Remove ${where}`} onClick={onRemove}>
          ×
        </Button>
      </span>
      {fields.length > 0 && (
        <span className="layer-values">
          {fields.map(({ label, min, max, whole }, index) => (
            <label key={label}>
              <span>{label}</span>
              <input
                className="input"
                type="number"
                aria-label={`${label} of ${where}`}
                value={layer.values[index] ?? 0}
                min={min}
                max={max}
                step={whole ? 1 : 0.05}
                onChange={({ target }) => {
                  const value = Number(target.value);
                  if (target.value === "" || value < min || value > max || (whole && !Number.isInteger(value))) return;
                  onChange({ ...layer, values: layer.values.map((each, other) => (other === index ? value : each)) });
                }}
              />
            </label>
          ))}
        </span>
      )}
    </li>
  );
}
