/** Before a room: what its members agree on, and what this tab brings along. */

import { Button, Check, Field, NumberField, Panel, Select, write } from "../../ui/index.js";
import { INCLUDED, isIncluded } from "../../work/included.js";
import type { OwnSettings, RoomSettings } from "./settings.js";
import { MOST_LETTERS } from "./settings.js";

const MODELS = [
  ["mlp", "Perceptron, 784 → 128 → 10"],
  ["cnn", "Convolutions"],
] as const;

/** Sets of classes that one presses for. */
const CHOICES: readonly [string, readonly number[]][] = [
  ["All", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
  ["First five", [0, 1, 2, 3, 4]],
  ["Last five", [5, 6, 7, 8, 9]],
];

interface SetupProps {
  settings: RoomSettings & OwnSettings;
  change: (change: Partial<RoomSettings & OwnSettings>) => void;
}

/** What all members have alike; who was sent a link takes it as it is. */
export function RoomPanel({ settings, change }: SetupProps) {
  const invited = settings.room !== "";
  const sets = (["mnist", "fashion"] as const).filter(isIncluded);
  return (
    <Panel title="What all agree on" note={invited ? "as the link says" : undefined}>
      <div className="fields">
        <Select
          label="Pictures"
          value={settings.set}
          options={sets.map((name) => [name, INCLUDED[name].title] as const)}
          disabled={invited}
          onChange={(set) => change({ set })}
        />
        <Select
          label="Network"
          value={settings.model}
          options={MODELS}
          disabled={invited}
          onChange={(model) => change({ model })}
        />
        <NumberField
          label="Steps between rounds"
          value={settings.inner}
          min={1}
          max={1000}
          whole
          disabled={invited}
          onChange={(inner) => change({ inner })}
        />
        <NumberField
          label="Learning rate"
          value={settings.lr}
          min={1e-6}
          max={1}
          disabled={invited}
          onChange={(lr) => change({ lr })}
        />
        <NumberField
          label="Batch"
          value={settings.batch}
          min={1}
          max={1024}
          whole
          disabled={invited}
          onChange={(batch) => change({ batch })}
        />
      </div>
      {invited && (
        <p className="together-other">
          <Button small onClick={() => change({ room: "" })}>
            Make another room instead
          </Button>
        </p>
      )}
    </Panel>
  );
}

/** This tab's own share of the data. */
export function OwnPanel({ settings, change, isNamed = false }: SetupProps & { isNamed?: boolean }) {
  const { classes } = INCLUDED[settings.set];
  const toggled = (one: number, on: boolean) =>
    classes.flatMap((_, at) => ((at === one ? on : settings.classes.includes(at)) ? at : []));
  return (
    <Panel title="What this tab has" note="it stays here">
      <div className="fields">
        {isNamed && (
          <Field label="Your name" hint="the others see it">
            {(id) => (
              <input
                id={id}
                className="input"
                value={settings.name}
                maxLength={MOST_LETTERS}
                autoComplete="off"
                onChange={({ target }) => change({ name: target.value })}
              />
            )}
          </Field>
        )}
        <NumberField
          label="Pictures, at most"
          value={settings.items}
          min={1}
          max={60_000}
          whole
          hint="drawn by chance"
          onChange={(items) => change({ items })}
        />
      </div>
      <fieldset className="together-classes">
        <legend>Of these classes only</legend>
        <div className="buttons">
          {CHOICES.map(([name, chosen]) => (
            <Button key={name} small onClick={() => change({ classes: chosen })}>
              {name}
            </Button>
          ))}
        </div>
        <div className="together-checks">
          {classes.map((name, at) => (
            <Check
              key={name}
              label={name}
              value={settings.classes.includes(at)}
              disabled={settings.classes.length === 1 && settings.classes.includes(at)}
              onChange={(on) => change({ classes: toggled(at, on) })}
            />
          ))}
        </div>
      </fieldset>
      <p className="panel-note">
        Take other classes in each tab: no member has seen all of them, and the common model reads them all. At most{" "}
        {write.count(settings.items)} pictures are taken; the test pictures are the same for everybody, and nobody trains on them.
      </p>
    </Panel>
  );
}
