/** The Benchmark: this machine's CPU against its GPU, Flambeau beside its peers, and every number checked. */

import { useDevice } from "../../app/device.js";
import { useSettings } from "../../app/route.js";
import { Button, Check, Notice, PageHead, Panel, Progress, saveFile, Segments, Slider } from "../../ui/index.js";
import { contenderNames, type ContenderName } from "./messages.js";
import { asCsv, asJson, NAMES } from "./report.js";
import { Results } from "./Results.js";
import { LEAST, MOST, schema, sizes, tasksOf } from "./settings.js";
import { kinds, type Kind } from "./tasks.js";
import { useBenchmark } from "./useBenchmark.js";
import "./benchmark.css";

const KINDS: Record<Kind, string> = {
  matmul: "Matrix product",
  elementwise: "Elementwise",
  convolution: "Convolution",
  mlp: "Training step, MLP",
  cnn: "Training step, CNN",
};

export default function BenchmarkPage() {
  const [settings, change] = useSettings(schema);
  const { offer, wanted } = useDevice();
  const { rows, running, progress, error, start, stop, clear } = useBenchmark();
  const gpu = offer.state === "gpu" || (offer.state === "software" && wanted === "software");
  const available = (name: ContenderName) => name === "cpu" || gpu;
  const contenders = settings.contenders.filter(available);
  const toggled = <T extends string>(all: readonly T[], chosen: readonly T[], one: T, on: boolean) =>
    all.filter((each) => (each === one ? on : chosen.includes(each)));
  const run = () => start({ tasks: tasksOf(settings), contenders, gpu: wanted === "software" ? "software" : "gpu" });
  const circumstances = () => ({
    device: gpu ? offer.about : "CPU",
    date: new Date().toISOString(),
    browser: navigator.userAgent,
  });
  const sized = settings.tasks.includes("matmul") || settings.tasks.includes("elementwise");

  return (
    <>
      <PageHead title="Benchmark">
        The median time of one run, after a warm-up, in rounds that end with a wait for the device; the data lie there already.
        Every number of every result is compared with the CPU’s.
      </PageHead>
      {error !== undefined && (
        <Notice kind="error" title="The benchmark failed">
          <p>{error}</p>
        </Notice>
      )}
      {offer.state !== "looking" && !gpu && (
        <Notice kind="note" title="Only the CPU can be measured">
          <p>
            {offer.state === "software"
              ? `WebGPU offers only a software adapter (${offer.about}). Choose “Software GPU” above to measure it.`
              : offer.about}
          </p>
        </Notice>
      )}
      <Panel title="What to run">
        <div className="benchmark-choice">
          <fieldset>
            <legend>Tasks</legend>
            {kinds.map((kind) => (
              <Check
                key={kind}
                label={KINDS[kind]}
                value={settings.tasks.includes(kind)}
                disabled={running}
                onChange={(on) => change({ tasks: toggled(kinds, settings.tasks, kind, on) })}
              />
            ))}
          </fieldset>
          <fieldset>
            <legend>By</legend>
            {contenderNames.map((name) => (
              <Check
                key={name}
                label={NAMES[name]}
                value={settings.contenders.includes(name) && available(name)}
                disabled={running || !available(name)}
                onChange={(on) => change({ contenders: toggled(contenderNames, settings.contenders, name, on) })}
              />
            ))}
            <p className="panel-note">The peers are part of this page and loaded when they are run.</p>
          </fieldset>
          <fieldset disabled={!sized}>
            <legend>Size</legend>
            <Segments
              label="Size presets"
              value={String(settings.size)}
              options={sizes.map((size) => [String(size), String(size)] as const)}
              disabled={running || !sized}
              onChange={(size) => change({ size: Number(size) })}
            />
            <Slider
              label="Side of the matrices"
              value={settings.size}
              min={LEAST}
              max={MOST}
              step={128}
              disabled={running || !sized}
              onChange={(size) => change({ size })}
            />
            <Check
              label="matrix product at every preset up to it"
              value={settings.sweep}
              disabled={running || !settings.tasks.includes("matmul")}
              onChange={(sweep) => change({ sweep })}
            />
          </fieldset>
        </div>
        <div className="buttons">
          {running ? (
            <Button onClick={stop}>Stop</Button>
          ) : (
            <Button
              kind="primary"
              disabled={settings.tasks.length === 0 || contenders.length === 0 || offer.state === "looking"}
              onClick={run}
            >
              Run
            </Button>
          )}
          <Button
            disabled={rows.length === 0}
            onClick={() => saveFile("flambeau-benchmark.json", asJson(rows, circumstances()), "application/json")}
          >
            Export JSON
          </Button>
          <Button disabled={rows.length === 0} onClick={() => saveFile("flambeau-benchmark.csv", asCsv(rows), "text/csv")}>
            Export CSV
          </Button>
          <Button kind="quiet" disabled={rows.length === 0 || running} onClick={clear}>
            Clear
          </Button>
        </div>
        {running && (
          <Progress
            label={progress?.label ?? "Starting"}
            part={progress === undefined ? undefined : progress.done / progress.total}
          />
        )}
      </Panel>
      <Results rows={rows} />
    </>
  );
}
