/** A federated run as it is: the server's model on this tab's test pictures, this tab's loss, and what has left it. */

import { useMemo } from "react";
import { Check, Figures, NumberField, Panel, type Series, write } from "../../../ui/index.js";
import { AccuracyChart, Events, LossChart } from "../Layout.js";
import type { Protect } from "./messages.js";
import type { FlowerRecord } from "./record.js";

/** How updates are protected, as it is chosen. */
export function ProtectPanel({ protect, change }: { protect: Protect | undefined; change: (to: Protect | undefined) => void }) {
  const { clip, noise } = protect ?? { clip: 1, noise: 1 };
  return (
    <Panel title="Before an update leaves">
      <Check
        label="Clip it and add noise"
        value={protect !== undefined}
        onChange={(on) => change(on ? { clip, noise } : undefined)}
      />
      {protect !== undefined && (
        <div className="fields">
          <NumberField label="Longest update" value={clip} min={1e-6} max={1e6} onChange={(clip) => change({ clip, noise })} />
          <NumberField
            label="Noise"
            value={noise}
            min={0}
            max={1000}
            hint="in longest updates"
            onChange={(noise) => change({ clip, noise })}
          />
        </div>
      )}
      <p className="panel-note">
        The page counts ε after each round: the smaller it is, the better all pictures of this tab together are hidden. Noise
        costs accuracy, the more so the fewer take part.
      </p>
    </Panel>
  );
}

/** Curves of the run. */
export function Run({ record }: { record: FlowerRecord }) {
  const { tests, losses } = record;
  const accuracy = useMemo(
    (): readonly Series[] => [{ name: "the server's model", colour: 1, x: tests.round, y: tests.accuracy, points: true }],
    [tests],
  );
  const loss = useMemo(
    (): readonly Series[] => [{ name: "this tab", colour: 2, x: losses.round, y: losses.loss, points: true }],
    [losses],
  );
  const last = tests.accuracy.at(-1);
  return (
    <>
      <Panel
        title="The server's model"
        note={last === undefined ? "not tested yet" : `${write.percent(last)} of this tab's test pictures`}
      >
        <AccuracyChart label="Accuracy of the server's model by round" series={accuracy} />
      </Panel>
      <Panel title="This tab's loss" note={write.counted(record.rounds, "round")}>
        <LossChart label="This tab's loss by round" series={loss} />
      </Panel>
    </>
  );
}

/** What leaves the tab, and how well it is hidden. */
export function Told({ record, isProtected }: { record: FlowerRecord; isProtected: boolean }) {
  const { about, spent, events } = record;
  const privacy: [string, string][] =
    spent === undefined
      ? []
      : [
          [
            `ε at δ = ${spent.delta}`,
            Number.isFinite(spent.epsilon) ? spent.epsilon.toPrecision(3) : "no limit: there is no noise",
          ],
          ["Last update's length", spent.norm.toPrecision(3)],
        ];
  return (
    <Panel title="What leaves this tab">
      <Figures
        figures={[
          ["Numbers in an update", write.count(about?.parameters ?? 0)],
          ["Pictures here", write.count(about?.items ?? 0)],
          ["This tab for the server", about === undefined ? "–" : `…${about.node.slice(-6)}`],
          ...privacy,
        ]}
      />
      <p className="panel-note">
        To the Flower server, in each round: the model as this tab has trained it
        {isProtected ? ", its change clipped and with noise" : ""}, how many pictures, how long it took, and how the server's
        model does on test pictures{isProtected ? "" : "; and the mean loss"}. Pictures never leave this tab.
      </p>
      <Events events={events} />
    </Panel>
  );
}
