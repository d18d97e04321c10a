/** Start, pause, step, stop, the learning rate while it runs, and how it goes. */

import { useEffect, useId, useState } from "react";
import { useDevice } from "../../app/device.js";
import { useSettings } from "../../app/route.js";
import { Button, Field, Figures, Notice, Panel, Progress, write } from "../../ui/index.js";
import type { DataSource } from "../../work/messages.js";
import { seedsFrom, seedsSchema } from "../../work/groups.js";
import { canContinue, newId } from "../../work/run.js";
import { runs, type Run, type StartRequest } from "../../work/runs.js";
import type { TrainSettings } from "../../work/settings.js";
import { useChanges } from "../../work/store.js";
import { measureOf, testMeasure } from "./measures.js";
import { Shared, useShare } from "./Share.js";
import { useContinue, type GoingOn } from "./useContinue.js";

interface Props {
  going: GoingOn;
  settings: TrainSettings;
  source: DataSource | undefined;
  /** Why it cannot be started. */
  problem: string | undefined;
  weights: StartRequest["weights"];
  /** The weights could not be taken up. */
  onMisfit: () => void;
}

const STATES: Record<Run["state"], string> = {
  loading: "Getting ready",
  running: "Training",
  paused: "Paused",
  ending: "Finishing",
  done: "Done",
  stopped: "Stopped",
  failed: "Failed",
  interrupted: "Cut off",
};

export function Controls({ going, settings, source, problem, weights, onMisfit }: Props) {
  useChanges(runs.changes);
  const { used, offer, why } = useDevice();
  const { shareRun, shareSettings, ...shared } = useShare();
  const { hindrance, goOn } = useContinue(going);
  const [{ seeds }] = useSettings(seedsSchema);
  const reasonId = useId();
  const run = runs.active;
  const busy = runs.isBusy;
  const paused = run?.state === "paused";
  const reason = problem ?? (offer.state === "looking" ? "Looking for a GPU" : undefined);
  const ready = source !== undefined && reason === undefined;
  const start = (devices: readonly (typeof used)[], begunPaused = false) => {
    if (source !== undefined)
      runs.start(...devices.map((device) => ({ settings, device, source, weights, onMisfit, paused: begunPaused })));
  };
  const startSeeds = () => {
    if (source === undefined) return;
    const group = { kind: "seeds", id: newId(), seeds: seedsFrom(settings.seed, seeds) } as const;
    runs.start(
      ...group.seeds.map((seed) => ({ settings: { ...settings, seed }, device: used, source, weights, onMisfit, group })),
    );
  };
  const canCompare = offer.state === "gpu" || offer.state === "software";
  return (
    <Panel className="controls">
      <div className="stack">
        <div className="buttons">
          {/* One button for all three, so that the keyboard's focus stays on it. */}
          <Button
            ref={going.next}
            kind="primary"
            disabled={!busy && !ready}
            resting={busy && !paused && run?.state !== "running"}
            aria-describedby={!busy && reason !== undefined ? reasonId : undefined}
            onClick={() => (paused ? runs.resume() : busy ? runs.pause() : seeds > 1 ? startSeeds() : start([used]))}
          >
            {paused ? "Resume" : busy ? "Pause" : "Start"}
          </Button>
          <Button
            disabled={!busy && !ready}
            resting={busy && !paused}
            onClick={() => (paused ? runs.step() : start([used], true))}
            title={paused ? "Take one step" : "Begin paused"}
          >
            Step
          </Button>
          <Button resting={!busy} onClick={() => runs.stop()}>
            Stop
          </Button>
          {run !== undefined && canContinue(run) && (
            <Button
              disabled={hindrance(run) !== undefined}
              onClick={() => goOn(run)}
              title={hindrance(run) ?? `From step ${run.checkpoint} on`}
            >
              Continue
            </Button>
          )}
          <span className="spacer" />
          <Button kind="quiet" onClick={() => (run === undefined ? shareSettings(settings, seeds) : shareRun(run))}>
            Share link
          </Button>
          <Button
            kind="quiet"
            disabled={busy || !ready || !canCompare}
            onClick={() => start([offer.state === "gpu" ? "gpu" : "software", "cpu"])}
            title="The same run on both, one after the other"
          >
            CPU against GPU
          </Button>
        </div>
        {!busy && reason !== undefined && (
          <p className={problem === undefined ? "panel-note" : "field-problem"} id={reasonId}>
            {reason}
          </p>
        )}
        <Shared {...shared} />
        {run !== undefined ? (
          <Going run={run} busy={busy} />
        ) : (
          reason === undefined && (
            <p className="panel-note">
              It will run on {used === "cpu" ? "the CPU" : "the GPU"}: {why}.
            </p>
          )
        )}
      </div>
    </Panel>
  );
}

/** Which of several runs it is. */
function amongOthers({ group, settings }: Run): string {
  if (group === undefined) return "";
  if (group.kind === "seeds") return `, run ${group.seeds.indexOf(settings.seed) + 1} of ${group.seeds.length}`;
  return `, ${group.down.setting} ${settings[group.down.setting]}, ${group.across.setting} ${settings[group.across.setting]}`;
}

function Going({ run, busy }: { run: Run; busy: boolean }) {
  const { stats, step, steps, curve } = run;
  const left = stats === undefined ? Number.NaN : ((steps - step) * stats.stepMs) / 1000;
  const on = run.info === undefined ? "" : ` on ${run.info.type === "cpu" ? "the CPU" : "the GPU"}`;
  const trained = curve.accuracy.at(-1);
  return (
    <>
      {run.loading !== undefined ? (
        <Progress label={run.loading.label} part={run.loading.part} />
      ) : (
        <Progress
          label={`${STATES[run.state]}${on}: step ${write.count(step)} of ${write.count(steps)}${amongOthers(run)}`}
          part={step / Math.max(steps, 1)}
        />
      )}
      {run.error !== undefined && (
        <Notice kind="error" title="Training failed">
          {run.error}
        </Notice>
      )}
      {run.events.slice(-3).map((event, index) => (
        <p key={index} className="panel-note event" role="status">
          {event}
        </p>
      ))}
      {busy && run.state !== "ending" && <Rate run={run} />}
      <Figures
        figures={[
          [testMeasure(run), run.assessment === undefined ? "–" : write.percent(run.assessment.accuracy)],
          [`Training ${measureOf(run)}`, trained === undefined ? "–" : write.percent(trained)],
          ["Loss", curve.loss.at(-1)?.toFixed(4) ?? "–"],
          ["Samples / s", stats === undefined ? "–" : write.count(stats.samplesPerSecond)],
          ["Step time", stats === undefined ? "–" : `${stats.stepMs.toFixed(stats.stepMs < 10 ? 2 : 1)} ms`],
          ["Kernels / step", stats === undefined ? "–" : stats.kernels.toFixed(0)],
          [run.device === "cpu" ? "Memory" : "GPU memory", stats === undefined ? "–" : write.bytes(stats.memory)],
          [busy ? "Time left" : "Time", busy ? write.seconds(left) : write.seconds(run.seconds)],
        ]}
      />
    </>
  );
}

/** The rate while it runs, on a logarithmic scale. */
function Rate({ run }: { run: Run }) {
  const [rate, setRate] = useState(run.lr);
  useEffect(() => setRate(run.lr), [run.lr]);
  const slide = Math.log10(Math.max(rate, 1e-6));
  const set = (value: number) => {
    const next = Number((10 ** value).toPrecision(2));
    setRate(next);
    void runs.setLearningRate(next);
  };
  return (
    <div className="rate">
      <Field label="Learning rate now" value={rate.toPrecision(2)}>
        {(id) => (
          <input
            id={id}
            className="slider"
            type="range"
            min={-5}
            max={0.5}
            step={0.05}
            value={slide}
            aria-valuetext={rate.toPrecision(2)}
            onChange={({ target }) => set(Number(target.value))}
          />
        )}
      </Field>
      {run.device !== "cpu" && (
        <Button
          kind="quiet"
          small
          onClick={() => runs.loseDevice()}
          title="Ends the GPU device as if the driver had lost it; training goes on from the last checkpoint"
        >
          Lose the GPU
        </Button>
      )}
    </div>
  );
}
