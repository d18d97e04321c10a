/** How it is trained: optimizer, rate, batch, epochs, seed, augmentation. */

import { Button, Check, NumberField, Panel, Select, Slider } from "../../ui/index.js";
import { useDevice } from "../../app/device.js";
import { useSettings } from "../../app/route.js";
import { SEED_COUNTS, seedsSchema } from "../../work/groups.js";
import { OPTIMIZER_NAMES, titleOf } from "../../work/optimizers.js";
import { ampProblem } from "../../work/precision.js";
import type { TrainSettings } from "../../work/settings.js";

const SEEDS = SEED_COUNTS.map((count) => [String(count), String(count)] as const);
const OPTIMIZERS = OPTIMIZER_NAMES.map((name) => [name, titleOf(name)] as const);

interface Props {
  settings: TrainSettings;
  change: (change: Partial<TrainSettings>) => void;
}

export function TrainingPanel({ settings, change }: Props) {
  const [{ seeds }, changeSeeds] = useSettings(seedsSchema);
  const { used, offer } = useDevice();
  const problem = ampProblem(used, offer, settings.optimizer);
  const pixels = (value: number) => (value === 0 ? "off" : `± ${value} px`);
  const share = (value: number) => (value === 0 ? "off" : `± ${Math.round(100 * value)} %`);
  return (
    <Panel title="Training">
      <div className="stack">
        <div className="fields">
          <Select
            label="Optimizer"
            value={settings.optimizer}
            options={OPTIMIZERS}
            onChange={(optimizer) => change({ optimizer })}
            hint="How weights follow the gradient"
          />
          <NumberField
            label="Learning rate"
            value={settings.lr}
            min={0}
            max={100}
            onChange={(lr) => change({ lr })}
            hint="How far each step goes"
          />
          <NumberField
            label="Batch size"
            whole
            value={settings.batch}
            min={1}
            max={4096}
            onChange={(batch) => change({ batch })}
            hint="Items in each step"
          />
          <NumberField
            label="Epochs"
            whole
            value={settings.epochs}
            min={1}
            max={1000}
            onChange={(epochs) => change({ epochs })}
            hint="Passes over the data"
          />
          <NumberField
            label="Most steps"
            whole
            value={settings.steps}
            min={0}
            onChange={(steps) => change({ steps })}
            hint="0: all epochs"
          />
          <NumberField
            label="Seed"
            whole
            value={settings.seed}
            min={0}
            max={4294967295}
            onChange={(seed) => change({ seed })}
            hint="The same one repeats the run"
          />
          <Select
            label="Seeds"
            value={String(seeds)}
            options={SEEDS}
            onChange={(count) => changeSeeds({ seeds: Number(count) })}
            hint="Runs one after the other: what is chance?"
          />
          <NumberField
            label="Weight decay"
            value={settings.decay}
            min={0}
            max={10}
            onChange={(decay) => change({ decay })}
            hint="Pulls weights towards 0"
          />
        </div>
        <Check
          label="Mixed precision"
          value={settings.amp}
          // What a link has turned on can always be turned off.
          disabled={problem !== undefined && !settings.amp}
          onChange={(amp) => change({ amp })}
          hint={problem ?? "Products in 16 bits, sums and weights in 32; the loss is scaled (autocast and GradScaler)"}
        />
        {settings.rates.length > 0 && (
          <p className="panel-note">
            The rate changes on the way: {settings.rates.map(({ step, lr }) => `${lr} from step ${step}`).join(", ")}.{" "}
            <Button kind="quiet" small onClick={() => change({ rates: [] })}>
              Keep one rate
            </Button>
          </p>
        )}
        <details open={settings.shift > 0 || settings.zoom > 0 || settings.noise > 0 || settings.mirror || undefined}>
          <summary>Augmentation: every picture a little different each time</summary>
          <div className="fields">
            <Slider
              label="Shift"
              value={settings.shift}
              min={0}
              max={8}
              onChange={(shift) => change({ shift })}
              write={pixels}
              hint="To any side"
            />
            <Slider
              label="Zoom"
              value={settings.zoom}
              min={0}
              max={0.5}
              step={0.05}
              onChange={(zoom) => change({ zoom })}
              write={share}
              hint="Larger or smaller"
            />
            <Slider
              label="Noise"
              value={settings.noise}
              min={0}
              max={1}
              step={0.05}
              onChange={(noise) => change({ noise })}
              write={(value) => (value === 0 ? "off" : String(value))}
              hint="Deviation of each pixel"
            />
            <Check label="Mirror left and right" value={settings.mirror} onChange={(mirror) => change({ mirror })} />
          </div>
        </details>
      </div>
    </Panel>
  );
}
